//! See `inmost::fuzzing::model`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::model(data));
