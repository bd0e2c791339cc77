//! The first records of a store, and stores that exist only in memory.

use std::sync::Arc;

use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::expiry_settings::ExpirySettings;
use crate::session::history_settings::HistorySettings;
use crate::session::open::Open;
use crate::session::open::generation::FIRST_GENERATION;
use crate::session::options::SessionOptions;
use crate::session::transaction::sealing;
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::DataKey;
use inmost_format::crypto::record_keys::RecordKeys;
use inmost_format::crypto::rng;
use inmost_format::record::node::{Child, Root};
use inmost_format::record::{HeaderId, ObjectId, Sealer, Tag};
use inmost_storage::{Engine, EngineKind, Storage};

impl Session {
    /// Creates an unlocked store that lives in memory and disappears with its last handle. It is for tests, and for
    /// agents that must leave nothing on disk.
    ///
    /// # Errors
    /// [`StoreError::RandomnessFailed`].
    pub fn in_memory() -> Result<Self, StoreError> {
        SessionOptions::new().in_memory()
    }
}

impl SessionOptions {
    /// As [`Session::in_memory`], with these options.
    ///
    /// # Errors
    /// [`StoreError::RandomnessFailed`].
    pub fn in_memory(&self) -> Result<Session, StoreError> {
        let storage = MemoryStorage::default();
        let engine = storage.create_generation(FIRST_GENERATION, EngineKind::Memory)?;
        let store = StoreId(rng::array()?);
        let keys = RecordKeys::derive(&DataKey::generate()?, &store, FIRST_GENERATION);
        let sealer = Sealer::new(keys, store, FIRST_GENERATION);
        begin(&*engine, &sealer, HeaderId::NONE, HistorySettings::off(), ExpirySettings::off())?;
        Session::with(Open::new(Arc::new(storage), engine, sealer, None, self)?, self)
    }
}

/// Writes the first records of a store: a root, an empty tree and an empty system folder. Returns the root and its value.
pub(crate) fn begin(
    engine: &dyn Engine,
    sealer: &Sealer,
    header: HeaderId,
    history: HistorySettings,
    expiry: ExpirySettings,
) -> Result<(Root, Vec<u8>), StoreError> {
    let child = |id| Child { id, tag: Tag::default() };
    let (tree, system) = (child(ObjectId::TREE), child(ObjectId::SYSTEM));
    let mut root = Root { commit: FIRST_COMMIT, header, ..Root::new(tree, system) };
    history.set(&mut root);
    expiry.set(&mut root);
    let mut batch = sealing::first_batch(sealer, root.clone())?;
    match engine.shared() {
        Some(engine) => engine.commit(&batch)?,
        None => engine.apply(&batch.records)?,
    }
    engine.sync()?;
    // The root is the last record of every batch.
    Ok((root, batch.records.puts.pop().map(|(_, value)| value).unwrap_or_default()))
}

/// The number of a store's first commit.
const FIRST_COMMIT: u64 = 1;
