//! Internal crate of `inmost`: shared code of its benchmarks. It promises no semantic versioning.
//!
//! It contains the traces of calls, the peers that run them, and the result files. `README.md` describes the
//! method and its biases.

pub mod bare_sled;
pub mod calls;
pub mod folder;
pub mod measure;
pub mod memory;
pub mod overwrite;
pub mod peer;
pub mod peers;
pub mod random;
pub mod results;
#[cfg(feature = "sqlcipher")]
pub mod sqlcipher;
pub mod store;
pub mod text;
pub mod trace;
