//! A transaction on a generation: one state to read, or the root's row locked until one batch is applied.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use inmost_storage::{
    Access, Address, Batch, Engine, Known, Limit, Pull, SharedBatch, SharedEngine, StorageError,
};

use super::connection::Connection;
use super::failure::Failure;
use super::generation::Generation;
use super::pool::Lease;

/// A transaction, on a connection of its own.
pub(super) struct Transaction {
    generation: Generation,
    access: Access,
    /// `None` once it has ended.
    lease: Mutex<Option<Lease>>,
}

impl Transaction {
    pub(super) fn begin(
        generation: &Generation,
        access: Access,
        root: &Address,
    ) -> Result<Self, StorageError> {
        let server = &generation.place.server;
        let text = match access {
            Access::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            // In one round trip, so the bytes stand in the text. A failed lock ends the transaction before the socket does.
            Access::Locked => format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {}; \
                 SET LOCAL idle_in_transaction_session_timeout = {}; SELECT 1 FROM inmost.record WHERE vault = {} AND generation = {} AND address = {} FOR NO KEY UPDATE",
                (server.call_timeout() * 2 / 3).as_millis(),
                // A host that sleeps, or was stopped, must not keep the others from writing.
                (server.call_timeout() * 2).as_millis().max(60_000),
                literal(generation.place.vault()),
                generation.number,
                literal(&root.0),
            ),
        };
        let lease = server.begin(&text).map_err(Failure::of_read)?;
        Ok(Self { generation: generation.clone(), access, lease: Mutex::new(Some(lease)) })
    }

    fn held(&self) -> MutexGuard<'_, Option<Lease>> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(
        &self,
        call: impl FnOnce(&Generation, &mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StorageError> {
        match &mut *self.held() {
            None => Err(ended()),
            Some(lease) => {
                let result = lease.with(|connection| call(&self.generation, connection));
                result.map_err(Failure::of_read)
            }
        }
    }
}

impl Engine for Transaction {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        self.read(|generation, connection| generation.get_many(connection, addresses))
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.read(|generation, connection| generation.scan(connection, after, limit))
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.commit(&batch.clone().into())
    }

    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn shared(&self) -> Option<&dyn SharedEngine> {
        Some(self)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.read(Generation::size)
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        Ok(())
    }
}

impl SharedEngine for Transaction {
    fn commit(&self, batch: &SharedBatch) -> Result<(), StorageError> {
        let commit = self.generation.prepare(batch)?;
        if self.access != Access::Locked {
            return Err(StorageError::Unavailable("the transaction only reads".into()));
        }
        // Taken, so that it has ended whatever happens.
        let mut lease = self.held().take().ok_or_else(ended)?;
        let outcome = lease.commit(|connection| commit.send(&self.generation, connection, true));
        drop(lease);
        self.generation.place.vouched(outcome)
    }

    fn pull(&self, known: &Known<'_>, limit: Limit) -> Result<Pull, StorageError> {
        self.read(|generation, connection| generation.pull(connection, known, limit))
    }

    fn trails(&self, since: u64, until: u64) -> Result<Vec<Vec<u8>>, StorageError> {
        self.read(|generation, connection| generation.trails(connection, since, until))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let lease = self.lease.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut lease) = lease.take()
            && lease.with(|connection| connection.run("ROLLBACK")).is_err()
        {
            lease.abandon();
        }
    }
}

fn ended() -> StorageError {
    StorageError::Unavailable("the transaction has ended".into())
}

/// Bytes as an expression.
fn literal(bytes: &[u8]) -> String {
    let mut text = "decode('".to_owned();
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push_str("', 'hex')");
    text
}
