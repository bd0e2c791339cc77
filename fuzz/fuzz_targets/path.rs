//! See `inmost::fuzzing::path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::path(data));
