//! See `inmost::fuzzing::render`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost::fuzzing::render(data));
