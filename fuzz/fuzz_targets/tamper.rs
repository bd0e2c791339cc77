//! See `inmost::fuzzing::tamper`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::tamper(data));
