//! See `inmost_fuzz_bodies::sled`.
#![no_main]

// sled panics on forged pages, and the engine catches that.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))),
    |data: &[u8]| inmost_fuzz_bodies::sled(data)
);
