//! The header: the credentials that open the store, and the generation that holds its records.
//!
//! 4,096 bytes outside the engine, numbers little-endian:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic: `89 49 4e 4d 4f 53 54 0a`, that is 0x89, `INMOST`, line feed |
//! | 8 | 2 | format version, 1 |
//! | 10 | 1 | engine: 1 sled, 2 redb, 3 PostgreSQL, 255 memory |
//! | 11 | 1 | zero |
//! | 12 | 4 | flags, all reserved |
//! | 16 | 16 | store id |
//! | 32 | 8 | header revision |
//! | 40 | 8 | data generation |
//! | 48 | 72 | sealed data key: nonce 24, ciphertext 32, tag 16 |
//! | 120 | 8 | zero |
//! | 128 | 2,048 | eight keyslots of 256 bytes (`slots`) |
//! | 2,176 | 16 | the first half of the previous header's MAC |
//! | 2,192 | 1,840 | zero |
//! | 4,032 | 32 | MAC of all bytes before it |
//! | 4,064 | 32 | checksum of all bytes before it |
//!
//! [`Header::parse`] trusts nothing: until [`Header::unlock`] has verified the MAC, every byte may come from an
//! attacker. It never panics, and computes one hash of 4 KiB.

mod credential;
mod error;
mod fields;
#[cfg(any(test, feature = "testing"))]
pub mod fixtures;
#[cfg(test)]
mod format_example;
mod keyfile;
mod label;
mod layout;
mod new_header;
mod parsed;
mod recovery;
mod slots;
mod tried;
mod unlock;
mod unlocked;

pub use credential::{Credential, Enrolment, NewSlot, SlotKind};
pub use error::HeaderError;
pub use fields::HEADER_BYTES;
pub use keyfile::{KeyfileBytes, KeyfileError};
pub use label::{LabelError, SlotLabel};
pub use new_header::NewHeader;
pub use parsed::Header;
pub use recovery::{RecoveryKeyError, RecoveryKeyText};
pub use slots::SlotInfo;
pub use unlock::unlock_first;
pub use unlocked::{NextHeader, Unlocked};
