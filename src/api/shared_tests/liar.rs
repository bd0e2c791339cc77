//! A connection to a server that lies in single replies: whether a batch was applied, which rows there are, what has changed,
//! and which of two histories is the store's. Every reply is one that the server could make up without the keys.

use std::sync::{Arc, Mutex};

use inmost_engines::memory::shared::{SharedHost, SharedMemory};
use inmost_storage::{
    Access, Address, BareFiles, Batch, Delta, Engine, EngineKind, HeaderCopy, Known, Limit, Pull,
    SharedBatch, SharedEngine, SharedStorage, Storage, StorageError,
};
use inmost_testing::Random;

/// What the server lies about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lie {
    /// A batch counts as applied that was not.
    Applied,
    /// A batch counts as refused that was applied.
    Refused,
    /// As `Refused`, and nothing has changed.
    RefusedUnchanged,
    /// Rows are missing.
    Hidden,
    /// Rows are exchanged for each other.
    Exchanged,
    /// Rows are those of another vault.
    Foreign,
    /// What has changed is what had changed at an earlier time.
    OldDelta,
    /// Nothing has changed.
    Unchanged,
    /// The host works on a copy of the server for a while.
    Forked,
}

pub(super) const LIES: [Lie; 9] = [
    Lie::Applied,
    Lie::Refused,
    Lie::RefusedUnchanged,
    Lie::Hidden,
    Lie::Exchanged,
    Lie::Foreign,
    Lie::OldDelta,
    Lie::Unchanged,
    Lie::Forked,
];

/// The connection of a host to a server that lies to it.
pub(super) struct Liar {
    host: Mutex<SharedHost>,
    random: Mutex<Random>,
    /// The lie to tell, and how many more times.
    lie: Mutex<Option<(Lie, usize)>>,
    deltas: Mutex<Vec<Delta>>,
    foreign: Vec<Vec<u8>>,
}

impl Liar {
    pub(super) fn new(server: &SharedMemory, seed: u64, foreign: Vec<Vec<u8>>) -> Arc<Self> {
        Arc::new(Self {
            host: Mutex::new(server.host()),
            random: Mutex::new(Random(seed)),
            lie: Mutex::default(),
            deltas: Mutex::default(),
            foreign,
        })
    }

    /// From now on the host is connected to this server.
    pub(super) fn connect(&self, server: &SharedMemory) {
        *self.host.lock().unwrap() = server.host();
    }

    /// Tells a lie from now on, a few times or always, or the truth.
    pub(super) fn tell(&self, lie: Option<Lie>) {
        let times = [1, 2, 3, usize::MAX][self.below(4)];
        *self.lie.lock().unwrap() = lie.map(|lie| (lie, times));
    }

    fn host(&self) -> SharedHost {
        self.host.lock().unwrap().clone()
    }

    fn tells(&self, lie: Lie) -> bool {
        match &mut *self.lie.lock().unwrap() {
            Some((told, left)) if *told == lie && *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    fn below(&self, bound: usize) -> usize {
        self.random.lock().unwrap().below(bound)
    }
}

fn copy(delta: &Delta) -> Delta {
    let Delta { generation, root, rows, is_complete } = delta;
    let (root, rows) = (root.clone(), rows.clone());
    Delta { generation: *generation, root, rows, is_complete: *is_complete }
}

/// The storage of the host.
pub(super) struct LyingStorage(pub(super) Arc<Liar>);

impl LyingStorage {
    fn engine(&self, number: u64) -> Box<dyn Engine> {
        Box::new(LyingEngine { liar: Arc::clone(&self.0), number, transaction: None })
    }
}

impl Storage for LyingStorage {
    fn shared(&self) -> Option<&dyn SharedStorage> {
        Some(self)
    }

    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        self.0.host().read_header(copy)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.host().write_header(copy, bytes)
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        self.0.host().generations()
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.0.host().create_generation(number, engine).map(|_| self.engine(number))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        self.0.host().open_generation(number, engine).map(|_| self.engine(number))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        self.0.host().bare_files(number)
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        self.0.host().remove_generation(number)
    }

    fn size(&self) -> Result<u64, StorageError> {
        self.0.host().size()
    }
}

impl SharedStorage for LyingStorage {
    fn renew_lease(&self, generation: u64) -> Result<(), StorageError> {
        self.0.host().renew_lease(generation)
    }

    fn remove_leftovers(&self) -> Result<(), StorageError> {
        self.0.host().remove_leftovers()
    }
}

/// A generation, or a transaction on it.
struct LyingEngine {
    liar: Arc<Liar>,
    number: u64,
    transaction: Option<Box<dyn SharedEngine>>,
}

impl LyingEngine {
    fn ask<T>(
        &self,
        work: impl FnOnce(&dyn SharedEngine) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        if let Some(transaction) = &self.transaction {
            return work(&**transaction);
        }
        let engine = self.liar.host().open_generation(self.number, EngineKind::Memory)?;
        work(engine.shared().unwrap())
    }
}

impl Engine for LyingEngine {
    fn get_many(&self, addresses: &[Address]) -> Result<Vec<Option<Vec<u8>>>, StorageError> {
        let mut values = self.ask(|engine| engine.get_many(addresses))?;
        let liar = &self.liar;
        for value in &mut values {
            let lies = liar.below(2) == 0;
            if lies && liar.tells(Lie::Hidden) {
                *value = None;
            } else if lies && liar.tells(Lie::Foreign) {
                *value = Some(liar.foreign[liar.below(liar.foreign.len())].clone());
            } else if lies && liar.tells(Lie::Exchanged) {
                let rows = self.ask(|engine| engine.scan(None, 1_000))?;
                *value = Some(rows[liar.below(rows.len())].1.clone());
            }
        }
        Ok(values)
    }

    fn scan(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Vec<(Address, Vec<u8>)>, StorageError> {
        self.ask(|engine| engine.scan(after, limit))
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
        self.ask(|engine| engine.size())
    }

    fn close(self: Box<Self>) -> Result<(), StorageError> {
        Ok(())
    }

    fn discard(self: Box<Self>) {}
}

impl SharedEngine for LyingEngine {
    fn commit(&self, batch: &SharedBatch) -> Result<(), StorageError> {
        if self.liar.tells(Lie::Applied) {
            return Ok(());
        }
        let applied = self.ask(|engine| engine.commit(batch));
        let refuses = self.liar.tells(Lie::Refused) || self.liar.tells(Lie::RefusedUnchanged);
        if refuses { Err(StorageError::Conflict) } else { applied }
    }

    fn pull(&self, known: &Known<'_>, limit: Limit) -> Result<Pull, StorageError> {
        let liar = &self.liar;
        if liar.tells(Lie::Unchanged) || liar.tells(Lie::RefusedUnchanged) {
            return Ok(Pull::Unchanged);
        }
        let mut deltas = liar.deltas.lock().unwrap();
        if liar.tells(Lie::OldDelta) && !deltas.is_empty() {
            return Ok(Pull::Changed(copy(&deltas[liar.below(deltas.len())])));
        }
        let Pull::Changed(mut delta) = self.ask(|engine| engine.pull(known, limit))? else {
            return Ok(Pull::Unchanged);
        };
        deltas.push(copy(&delta));
        if liar.tells(Lie::Hidden) {
            delta.rows.retain(|_| liar.below(2) == 0);
        }
        for index in 0..delta.rows.len() {
            let (other, lies) = (liar.below(delta.rows.len()), liar.below(2) == 0);
            if lies && liar.tells(Lie::Exchanged) {
                delta.rows[index].1 = delta.rows[other].1.clone();
            } else if lies && liar.tells(Lie::Foreign) {
                delta.rows[index].1 = liar.foreign[liar.below(liar.foreign.len())].clone();
            }
        }
        if liar.tells(Lie::Foreign) && liar.below(4) == 0 {
            delta.root = Some(liar.foreign[liar.below(liar.foreign.len())].clone());
        }
        Ok(Pull::Changed(delta))
    }

    fn trails(&self, since: u64, until: u64) -> Result<Vec<Vec<u8>>, StorageError> {
        let mut trails = self.ask(|engine| engine.trails(since, until))?;
        if self.liar.tells(Lie::Hidden) {
            trails.retain(|_| self.liar.below(2) == 0);
        }
        if self.liar.tells(Lie::Exchanged) {
            trails.reverse();
        }
        Ok(trails)
    }

    fn begin(&self, access: Access, root: &Address) -> Result<Box<dyn SharedEngine>, StorageError> {
        let transaction = Some(self.ask(|engine| engine.begin(access, root))?);
        Ok(Box::new(Self { liar: Arc::clone(&self.liar), number: self.number, transaction }))
    }
}
