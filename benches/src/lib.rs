//! What the benchmarks of inmost share: traces of calls, the peers that answer them, and files of results.
//!
//! `README.md` says what is measured how, and what is unfair to whom. Nothing here is part of the library.

pub mod answer;
pub mod bare_sled;
pub mod folder;
pub mod measure;
pub mod memory;
pub mod peer;
pub mod peers;
pub mod random;
pub mod results;
#[cfg(feature = "sqlcipher")]
pub mod sqlcipher;
pub mod store;
pub mod text;
pub mod trace;
