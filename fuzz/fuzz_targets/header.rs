//! See `inmost::fuzzing::header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::header(data));
