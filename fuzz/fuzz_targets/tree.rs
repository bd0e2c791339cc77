//! See `inmost::fuzzing::tree`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::tree(data));
