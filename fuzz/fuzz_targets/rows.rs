//! See `inmost_fuzz_bodies::rows`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost_fuzz_bodies::rows(data));
