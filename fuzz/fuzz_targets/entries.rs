//! See `inmost::fuzzing::entries`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::entries(data));
