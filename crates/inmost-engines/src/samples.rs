//! Addresses and batches for tests of engines.

use inmost_storage::{Address, Batch};

/// An address. Those of higher numbers come later.
#[must_use]
pub fn address(number: u32) -> Address {
    let [first, second, third, fourth] = number.to_be_bytes();
    let mut bytes = [0x5A; 32];
    [bytes[0], bytes[1], bytes[2], bytes[3]] = [first, second, third, fourth];
    Address(bytes)
}

/// A batch that writes these values.
pub fn puts(records: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Batch {
    let puts = records.into_iter().map(|(number, value)| (address(number), value)).collect();
    Batch { puts, ..Batch::default() }
}
