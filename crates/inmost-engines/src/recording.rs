//! A storage that records every byte it is given, to test that none of them is plaintext.

use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::MemoryStorage;
use inmost_storage::{
    Address, BareFiles, Batch, Engine, EngineKind, HeaderCopy, Rewriting, SetAsideGeneration,
    Storage, StorageError,
};

/// A storage in memory that records its input. Its clones share the record.
#[derive(Clone, Default)]
pub struct RecordingStorage {
    place: MemoryStorage,
    given: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl RecordingStorage {
    /// Returns all bytes given to the headers, the anchor and the engines so far, addresses included.
    pub fn given(&self) -> Vec<Vec<u8>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn take(&self, bytes: &[u8]) {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).push(bytes.to_vec());
    }

    fn recording(&self, engine: Box<dyn Engine>) -> Box<dyn Engine> {
        Box::new(RecordingEngine { engine, storage: self.clone() })
    }
}

impl Storage for RecordingStorage {
    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        self.place.read_header(copy)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        self.take(bytes);
        self.place.write_header(copy, bytes)
    }

    fn read_anchor(&self) -> Result<Option<Vec<u8>>, StorageError> {
        self.place.read_anchor()
    }

    fn write_anchor(&self, bytes: &[u8]) -> Result<(), StorageError> {
        self.take(bytes);
        self.place.write_anchor(bytes)
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        self.place.generations()
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.place.create_generation(number, engine).map(|engine| self.recording(engine))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.place.open_generation(number, engine).map(|engine| self.recording(engine))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        self.place.bare_files(number)
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        self.place.remove_generation(number)
    }

    fn rewriting(&self) -> Result<Option<Rewriting>, StorageError> {
        self.place.rewriting()
    }

    fn begin_rewrite(&self, rewriting: &Rewriting) -> Result<(), StorageError> {
        self.take(rewriting.kept_header.as_deref().unwrap_or_default());
        self.place.begin_rewrite(rewriting)
    }

    fn finish_rewrite(&self) -> Result<(), StorageError> {
        self.place.finish_rewrite()
    }

    fn set_aside(&self, number: u64, header: Option<&[u8]>) -> Result<(), StorageError> {
        self.take(header.unwrap_or_default());
        self.place.set_aside(number, header)
    }

    fn set_aside_generations(&self) -> Result<Vec<SetAsideGeneration>, StorageError> {
        self.place.set_aside_generations()
    }

    fn discard_set_aside(&self, number: u64) -> Result<(), StorageError> {
        self.place.discard_set_aside(number)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.place.size()
    }
}

struct RecordingEngine {
    engine: Box<dyn Engine>,
    storage: RecordingStorage,
}

impl Engine for RecordingEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        for address in addresses {
            self.storage.take(&address.0);
        }
        self.engine.get_many(addresses)
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.engine.scan(after, limit)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        for (address, value) in &batch.puts {
            self.storage.take(&address.0);
            self.storage.take(value);
        }
        for address in &batch.deletes {
            self.storage.take(&address.0);
        }
        if let Some((address, value)) = &batch.expect {
            self.storage.take(&address.0);
            self.storage.take(value.as_deref().unwrap_or_default());
        }
        self.engine.apply(batch)
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.engine.sync()
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.engine.size()
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        self.engine.close()
    }

    fn verify(&self) -> Result<(), StorageError> {
        self.engine.verify()
    }

    fn discard(self: Box<Self>) {
        self.engine.discard();
    }
}
