//! The next generation, and the header that names it.

use inmost_format::crypto::keys::DataKey;
use inmost_format::crypto::record_keys::RecordKeys;
use inmost_format::header::{Header, NextHeader, Unlocked};
use inmost_format::record::node::Root;
use inmost_format::record::{Flaw, HeaderId, Kind, Sealer};
use inmost_storage::{Engine, EngineKind, HeaderCopy, Storage, StorageError};

use crate::session::clock::check_clock;
use crate::session::error::StoreError;

/// The header of a new generation, and the keys of its records.
pub(crate) struct NextGeneration {
    pub(crate) keys: NextKeys,
    pub(crate) sealer: Sealer,
    pub(crate) generation: u64,
    pub(crate) engine: EngineKind,
}

/// The source of the new header.
pub(crate) enum NextKeys {
    /// The same master key and slots.
    Same(Box<NextHeader>),
    /// A new master key with one slot.
    Rotated(Box<Unlocked>),
}

/// A complete, synced generation that no header names yet.
pub(crate) struct Written {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) root: Root,
    pub(crate) root_value: Vec<u8>,
}

impl NextGeneration {
    pub(crate) fn generation(
        keys: &Unlocked,
        number: u64,
        engine: EngineKind,
    ) -> Result<Self, StoreError> {
        let data_key = DataKey::generate()?;
        let store = keys.header().store();
        let sealer = Sealer::new(RecordKeys::derive(&data_key, &store, number), store, number);
        let header = keys.next_generation(number, engine, data_key)?;
        Ok(Self { keys: NextKeys::Same(Box::new(header)), sealer, generation: number, engine })
    }

    /// The generation that a rotated header names.
    pub(crate) fn rotated(keys: Unlocked) -> Self {
        let header = keys.header();
        let (generation, engine) = (header.generation(), header.engine());
        let sealer = Sealer::new(keys.record_keys(), header.store(), generation);
        Self { keys: NextKeys::Rotated(Box::new(keys)), sealer, generation, engine }
    }

    pub(crate) fn header_id(&self) -> HeaderId {
        match &self.keys {
            NextKeys::Same(header) => header.id(),
            NextKeys::Rotated(keys) => keys.header().id(),
        }
    }

    pub(crate) fn header(&self) -> &[u8] {
        match &self.keys {
            NextKeys::Same(header) => header.bytes(),
            NextKeys::Rotated(keys) => keys.header().bytes(),
        }
    }
}

/// Writes a header to copy A and, once that is durable, to copy B. At any moment one of the two is intact.
pub(crate) fn write_headers(storage: &dyn Storage, header: &[u8]) -> Result<(), StoreError> {
    for copy in [HeaderCopy::A, HeaderCopy::B] {
        storage.write_header(copy, header)?;
    }
    Ok(())
}

/// Opens the generation that a header names, whose records this sealer opens. If it is missing, the store has lost its records.
pub(crate) fn open_records(
    storage: &dyn Storage,
    header: &Header,
    sealer: &Sealer,
) -> Result<Box<dyn Engine>, StoreError> {
    check_clock()?;
    let (generation, engine) = (header.generation(), header.engine());
    let opened = storage.open_generation_with(generation, engine, sealer.journal());
    opened.map_err(|error| match error {
        StorageError::Missing => StoreError::tampered(Kind::Root, Flaw::Absent),
        error => error.into(),
    })
}

pub(crate) fn sealer(keys: &Unlocked) -> Sealer {
    Sealer::new(keys.record_keys(), keys.header().store(), keys.header().generation())
}

/// The number of a store's first generation.
pub(crate) const FIRST_GENERATION: u64 = 1;
