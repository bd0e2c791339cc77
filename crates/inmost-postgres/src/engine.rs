//! One generation of a vault as an engine that several hosts share.

use inmost_storage::{
    Access, Address, Batch, Engine, Known, Limit, Pull, SharedBatch, SharedEngine, StorageError,
};

use super::failure::Failure;
use super::generation::Generation;
use super::transaction::Transaction;

/// A generation, open at any number of hosts. It holds no connection between calls.
pub(super) struct PostgresEngine(pub(super) Generation);

impl Engine for PostgresEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        if addresses.is_empty() {
            return Ok(Vec::new());
        }
        self.0.place.keep_lease(self.0.number)?;
        self.0.place.server.read(|connection| self.0.get_many(connection, addresses))
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.0.place.keep_lease(self.0.number)?;
        self.0.place.server.read(|connection| self.0.scan(connection, after, limit))
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.commit(&batch.clone().into())
    }

    /// Does nothing: a batch is durable once it is applied.
    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn shared(&self) -> Option<&dyn SharedEngine> {
        Some(self)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.0.place.server.read(|connection| self.0.size(connection))
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        Ok(())
    }
}

impl SharedEngine for PostgresEngine {
    fn commit(&self, batch: &SharedBatch) -> Result<(), StorageError> {
        self.0.place.keep_lease(self.0.number)?;
        let commit = self.0.prepare(batch)?;
        let mut lease = self.0.place.server.connection().map_err(Failure::of_commit)?;
        let outcome = lease.commit(|connection| commit.send(&self.0, connection, false));
        drop(lease);
        self.0.place.vouched(outcome)
    }

    fn pull(&self, known: &Known<'_>, limit: Limit) -> Result<Pull, StorageError> {
        self.0.place.note_root(self.0.number, &known.root);
        self.0.place.server.read(|connection| self.0.pull(connection, known, limit))
    }

    fn trails(&self, since: u64, until: u64) -> Result<Vec<Vec<u8>>, StorageError> {
        self.0.place.server.read(|connection| self.0.trails(connection, since, until))
    }

    fn begin(&self, access: Access, root: &Address) -> Result<Box<dyn SharedEngine>, StorageError> {
        Ok(Box::new(Transaction::begin(&self.0, access, root)?))
    }
}
