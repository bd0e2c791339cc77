//! The ledger of readings: for each file that was read, the day of its last reading.
//!
//! A file is named by its number, which a rename does not change. It occurs once, so a later reading replaces the earlier
//! one, and a second reading on the same day changes nothing.

mod tree;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::codec;
use super::tree::Body;

/// The head of a ledger.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ledger {
    /// The last index that a tree node of this ledger got.
    #[serde(with = "codec::fixed")]
    pub next_index: u64,
    /// The readings.
    pub body: Body<Readings>,
}

/// Readings in the order of the numbers of their files.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Readings(pub Vec<Reading>);

/// The last reading of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// The number of the file.
    pub file: u64,
    /// The day, in days since 1970.
    pub day: u64,
}

/// A summary of the readings below a child of an inner node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadingRange {
    /// Their number.
    pub count: u64,
    /// The number of the first file.
    pub first: u64,
}

impl Drop for Readings {
    fn drop(&mut self) {
        // Which files were read, and when, is plaintext too.
        for reading in &mut self.0 {
            reading.file.zeroize();
            reading.day.zeroize();
        }
    }
}
