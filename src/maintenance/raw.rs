//! Reads the records of a store without trusting its tree: by id, or all of them in sequence.

use std::sync::Arc;

use crate::session::{StoreError, Vault, open, open_records, sealer};
use inmost_format::header::Credential;
use inmost_format::record::node::Root;
use inmost_format::record::{Node, NodeSource, RecordError, RecordId, Sealer, Tag, sealed};
use inmost_storage::{Address, Engine, Storage};

/// An unlocked store without a session. It caches and changes nothing.
pub(crate) struct RawStore {
    engine: Box<dyn Engine>,
    sealer: Sealer,
    _storage: Arc<dyn Storage>,
}

impl Vault {
    /// Unlocks the header and opens the engine. Nothing else needs to be intact.
    pub(crate) fn open_raw(&self, credential: &Credential<'_>) -> Result<RawStore, StoreError> {
        let (_, keys) = self.unlock_header(credential)?;
        let storage = Arc::clone(self.storage()?);
        let engine = open_records(&*storage, keys.header())?;
        Ok(RawStore { engine, sealer: sealer(&keys), _storage: storage })
    }
}

impl RawStore {
    /// The root, if it can be read.
    pub(crate) fn root(&self) -> Result<Root, RawError> {
        open::read_root(&*self.engine, &self.sealer).map(|(root, _)| root).map_err(|_| RawError)
    }

    /// Visits every record that authenticates, with its tag.
    pub(crate) fn scan(
        &self,
        visit: &mut impl FnMut(RecordId, Tag, &Node),
    ) -> Result<(), StoreError> {
        let mut after: Option<Address> = None;
        loop {
            let Ok(page) = self.engine.scan(after.as_ref(), PAGE) else {
                // An unreadable page is skipped. Addresses are evenly distributed, so a step to the next first byte
                // skips few records.
                after = next_prefix(after);
                if after.is_none() {
                    return Ok(());
                }
                continue;
            };
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(*last);
            for (address, value) in page {
                let Ok((id, body)) = self.sealer.open_any(&address, &value) else { continue };
                let Some(tag) = sealed::tag_of(&value) else { continue };
                if let Ok(node) = Node::decode(id.kind, body.as_slice()) {
                    visit(id, tag, &node);
                }
            }
        }
    }
}

impl NodeSource for RawStore {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        open::fetch(&*self.engine, &self.sealer, id, tag).map(|(node, _)| node)
    }
}

/// The root cannot be read.
pub(crate) struct RawError;

impl From<RawError> for RecordError {
    fn from(_: RawError) -> Self {
        Self::Damaged {
            kind: inmost_format::record::Kind::Root,
            flaw: inmost_format::record::Flaw::Absent,
        }
    }
}

/// The first address after `after` whose first byte is larger.
fn next_prefix(after: Option<Address>) -> Option<Address> {
    let mut bytes = [0; 32];
    let (first, _) = bytes.split_first_mut()?;
    *first = match after {
        None => 1,
        Some(Address([byte, ..])) => byte.checked_add(1)?,
    };
    Some(Address(bytes))
}

/// Records read in one page.
const PAGE: usize = 16;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::session::tests::store::{TestStore, options, passphrase};
    use crate::session::tests::watched::{Watch, WatchedStorage};
    use inmost_format::record::node::Text;
    use inmost_format::record::{Kind, ObjectId};

    /// A store with a thousand chunks, evenly distributed: about four for each first byte of an address.
    fn store() -> (TestStore, HashSet<RecordId>) {
        let store = TestStore::create();
        let sealer = store.sealer();
        let mut ids = HashSet::new();
        for index in 0..1_000 {
            let id = RecordId { kind: Kind::Chunk, object: ObjectId([0xdd; 16]), index };
            let record = sealer.seal(id, &Node::Chunk(Text::new("x").into())).unwrap();
            store.tamper(|records| records.insert(record.address, record.value));
            ids.insert(id);
        }
        (store, ids)
    }

    #[test]
    fn a_scan_continues_after_records_that_the_engine_cannot_read() {
        let (store, ids) = store();
        for (from, to) in [(0, 0x0f), (0x40, 0x4f), (0xf0, 0xff)] {
            let watch = Watch::default();
            let storage = WatchedStorage { inner: store.memory.clone(), watch: watch.clone() };
            let vault = options().open_storage(Arc::new(storage)).unwrap();
            let raw = vault.open_raw(&Credential::Passphrase(&passphrase())).unwrap();
            watch.make_unreadable(move |address| (from..=to).contains(&address.0[0]));
            let mut seen = HashSet::new();
            raw.scan(&mut |id, _, _| assert!(seen.insert(id), "visited twice")).unwrap();
            // The page before the bad records is lost with them, because a page is read as a whole.
            let lost = from.saturating_sub(0x20)..=to;
            for id in &ids {
                let first = store.address(*id).0[0];
                assert!(seen.contains(id) || lost.contains(&first), "{first:#x} for {from:#x}");
            }
            assert!(!ids.is_subset(&seen), "some records cannot be read");
        }
    }

    #[test]
    fn the_next_prefix_is_that_of_the_next_first_byte() {
        let first_of = |after: Option<[u8; 32]>| next_prefix(after.map(Address));
        let prefix = |byte| {
            let mut bytes = [0; 32];
            bytes[0] = byte;
            Some(Address(bytes))
        };
        assert_eq!(first_of(None), prefix(1));
        assert_eq!(first_of(Some([7; 32])), prefix(8));
        assert_eq!(first_of(Some([0xff; 32])), None);
    }
}
