//! See `inmost_fuzz_bodies::anchor`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost_fuzz_bodies::anchor(data));
