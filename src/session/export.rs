//! Returns an engine's records, for tests that look at a store from outside.

use super::{Session, StoreError};
use inmost_storage::Address;

impl Session {
    /// Returns every stored record, sealed, in order of addresses.
    pub(crate) fn records(&self) -> Vec<(Address, Vec<u8>)> {
        let mut records: Vec<(Address, Vec<u8>)> = Vec::new();
        loop {
            let after = records.last().map(|(address, _)| *address);
            let page =
                |open: &super::Open| Ok::<_, StoreError>(open.engine().scan(after.as_ref(), PAGE)?);
            let page = self.read(page).unwrap();
            if page.is_empty() {
                return records;
            }
            records.extend(page);
        }
    }
}

const PAGE: usize = 256;
