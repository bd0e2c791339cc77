//! See `inmost::fuzzing::call`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::call(data));
