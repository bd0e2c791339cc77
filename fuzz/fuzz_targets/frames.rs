//! See `inmost_fuzz_bodies::frames`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| inmost_fuzz_bodies::frames(data));
