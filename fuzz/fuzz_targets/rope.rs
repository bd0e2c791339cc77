//! See `inmost::fuzzing::rope`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::rope(data));
