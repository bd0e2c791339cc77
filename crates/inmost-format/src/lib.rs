//! Internal crate of `inmost`, for this workspace only. It promises no semantic versioning.
//!
//! The bytes of a store, and the keys that open them: [`secret`] holds keys, [`crypto`] derives and seals, [`record`]
//! gives records their shape, [`header`] holds the keyslots. Nothing here touches a disk.

#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "for users there is the crate inmost, whose documentation names every error"
)]

pub mod crypto;
pub mod header;
pub mod limits;
pub mod record;
pub mod secret;
#[cfg(test)]
mod vectors;
