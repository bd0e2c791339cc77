//! Catching up with what other hosts have committed.

use crate::session::error::StoreError;
use crate::session::open::state::State;
use crate::session::open::{Open, open_root};
use crate::session::sync::{RwLock, read, write};
use inmost_format::crypto::ids::StoreId;
use inmost_format::header::{Header, HeaderError};
use inmost_format::record::node::{Root, Trail};
use inmost_format::record::{RecordId, Sealer, Tag, tag_of};
use inmost_storage::limits::{PULL_BYTES, PULL_RECORDS, TRAIL_REACH};
use inmost_storage::{
    Address, Delta, Engine, HeaderCopy, Known, Limit, Pull, SharedEngine, StorageError,
};

/// The newest state that a session had seen when it began to pull.
pub(crate) struct Seen {
    pub(crate) commit: u64,
    pub(crate) tag: Option<Tag>,
}

/// What came of a pull.
#[derive(PartialEq, Eq)]
pub(crate) enum Caught {
    /// The session is at the pulled state, or at a later one.
    Up,
    /// Header and root did not belong together, because they changed in between.
    Moving,
}

impl Open {
    /// What has changed since the state of this session; `None` if nothing has. Nobody but this session changes a local store.
    fn pull(&self) -> Result<Option<Delta>, StoreError> {
        let Some(engine) = self.engine.shared() else { return Ok(None) };
        let known = Known {
            root: self.root_address(),
            root_value: Some(&self.root_value),
            revision: self.root.commit,
        };
        match engine.pull(&known, LIMIT)? {
            Pull::Unchanged => Ok(None),
            Pull::Changed(delta) => Ok(Some(delta)),
        }
    }

    /// The engine, as one that other hosts use too.
    pub(super) fn shared_engine(&self) -> Result<&dyn SharedEngine, StorageError> {
        shared(&*self.engine)
    }

    fn seen(&self) -> Seen {
        Seen { commit: self.root.commit, tag: self.root_tag() }
    }

    /// Takes over the state of a pull that began when the session had seen `seen`.
    ///
    /// # Errors
    /// [`StoreError::RolledBack`] if the pulled state cannot come after what was seen; [`StoreError::Locked`] if the keys
    /// were rotated; [`StoreError::Tampered`], [`StoreError::Unavailable`]. The session stays as it was.
    fn catch_up(&mut self, delta: Delta, seen: &Seen) -> Result<Caught, StoreError> {
        match self.catch_up_same_header(delta, seen)? {
            Caught::Up => Ok(Caught::Up),
            Caught::Moving => self.follow_header(),
        }
    }

    /// Takes over the newest state that the engine, or a transaction in its place, sees. Changes nothing and returns `Moving` if
    /// the store has another header.
    pub(super) fn catch_up_here(&mut self) -> Result<Caught, StoreError> {
        let seen = self.seen();
        let Some(delta) = self.pull()? else { return Ok(Caught::Up) };
        self.catch_up_same_header(delta, &seen)
    }

    fn catch_up_same_header(&mut self, delta: Delta, seen: &Seen) -> Result<Caught, StoreError> {
        let generation = self.keys().map(|keys| keys.header().generation());
        let Some(value) = delta.root.filter(|_| Some(delta.generation) == generation) else {
            return Ok(Caught::Moving);
        };
        let root = open_root(&self.sealer, &value)?;
        check_order(&*self.engine, self.sealer.store(), seen, &root, &value)?;
        if root.commit <= self.root.commit {
            // Another thread has caught up further, after this pull.
            return Ok(Caught::Up);
        }
        if self.root.commit > seen.commit {
            // Another thread has caught up or committed since. What it saw must not be left for another branch.
            check_order(&*self.engine, self.sealer.store(), &self.seen(), &root, &value)?;
        }
        if self.keys().is_some_and(|keys| keys.header().id() != root.header) {
            return Ok(Caught::Moving);
        }
        self.keep_sealed(&delta.rows);
        self.adopt_root(root, value);
        Ok(Caught::Up)
    }

    /// Takes over the header of the store and the root that names it, as they are now.
    fn follow_header(&mut self) -> Result<Caught, StoreError> {
        let seen = &self.seen();
        let Some(keys) = self.keys() else { return Err(StoreError::InMemory) };
        let bytes = self.storage().read_header(HeaderCopy::A)?.ok_or(StoreError::HeaderDamaged)?;
        let header = Header::parse(&bytes, keys.header().limits())?;
        let next = match keys.succeeded_by(header) {
            Ok(next) => next,
            // Authentic under other keys, or forged. Either way the keys in hand end here.
            Err(HeaderError::Tampered(_)) => return Err(StoreError::Locked),
            Err(error) => return Err(error.into()),
        };
        let (revision, known) = (next.id().revision, keys.header().revision());
        if revision < known {
            return Err(StoreError::HeaderRolledBack { expected: known, found: revision });
        }
        let (generation, kind) = (next.header().generation(), next.header().engine());
        let rewritten = if generation == keys.header().generation() {
            None
        } else {
            let engine = match self.storage().open_generation(generation, kind) {
                // Another rewrite has replaced it since the header was read.
                Err(StorageError::Missing) => return Ok(Caught::Moving),
                engine => engine?,
            };
            let keys = keys.record_keys_of(&next);
            Some((engine, Sealer::new(keys, next.header().store(), generation)))
        };
        let (engine, sealer) = match &rewritten {
            Some((engine, sealer)) => (&**engine, sealer),
            None => (&*self.engine, &self.sealer),
        };
        let Some(delta) = pull_all(engine, sealer.address(RecordId::ROOT))? else {
            return Ok(Caught::Moving);
        };
        let Some(value) = delta.root else { return Ok(Caught::Moving) };
        let root = open_root(sealer, &value)?;
        check_order(engine, sealer.store(), seen, &root, &value)?;
        if root.header != next.id() {
            return Ok(Caught::Moving);
        }
        self.adopt_header(next);
        match rewritten {
            Some((engine, sealer)) => {
                self.sealer = sealer;
                self.engine = engine;
                self.cache.clear();
                self.notes.clear();
                self.forget_sealed();
            }
            None if root.commit <= self.root.commit => return Ok(Caught::Up),
            None => {}
        }
        self.keep_sealed(&delta.rows);
        self.adopt_root(root, value);
        Ok(Caught::Up)
    }

    /// Makes a root that another host has committed the state of this session.
    fn adopt_root(&mut self, root: Root, value: Vec<u8>) {
        self.set_root(root, value);
        if let Some(pulled) = &mut self.pulled {
            pulled.adopted = pulled.adopted.saturating_add(1);
        }
    }

    pub(crate) fn keep_sealed(&self, rows: &[(Address, Vec<u8>)]) {
        self.pulled.iter().for_each(|pulled| pulled.keep(rows));
    }

    /// Forgets what pulls have brought, for a generation that is used no more.
    pub(super) fn forget_sealed(&self) {
        self.pulled.iter().for_each(|pulled| pulled.clear());
    }
}

/// Learns what other hosts have committed. From here on the session is at least at the state that the store had when this was
/// called. Returns its version.
///
/// # Errors
/// [`StoreError::Unavailable`]; [`StoreError::RolledBack`] if the store went back behind what this session saw;
/// [`StoreError::Locked`] if the keys of the store were rotated.
pub(crate) fn refresh(state: &RwLock<State>) -> Result<u64, StoreError> {
    for _ in 0..CATCHES {
        let (pull, seen) = {
            let state = read(state);
            let open = state.open()?;
            let Some(pull) = open.pull()? else { return Ok(open.version()) };
            (pull, open.seen())
        };
        let mut state = write(state);
        match state.open_mut()?.catch_up(pull, &seen) {
            Ok(Caught::Up) => return Ok(state.open()?.version()),
            Ok(Caught::Moving) => {}
            Err(StoreError::Locked) => {
                // The keys in hand open nothing any more.
                *state = State::Locked;
                return Err(StoreError::Locked);
            }
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Unavailable(MOVING.to_owned()))
}

/// Plans on the state of this version. `None` if it is not the present one any more, also if something could not be read for that
/// reason.
pub(crate) fn on_version<T>(
    state: &RwLock<State>,
    version: u64,
    plan: impl FnOnce(&Open) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let planned = {
        let state = read(state);
        let open = state.open()?;
        if open.version() != version {
            return Ok(None);
        }
        plan(open)
    };
    match planned {
        Err(StoreError::Tampered { .. }) if refresh(state)? != version => Ok(None),
        planned => planned.map(Some),
    }
}

/// A state that a call has run on.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) version: u64,
    /// Commits of other hosts that the session had taken over by then; `None` if there are no other hosts.
    adopted: Option<u64>,
}

impl At {
    pub(crate) fn of(open: &Open) -> Self {
        let adopted = open.pulled.as_ref().map(|pulled| pulled.adopted);
        Self { version: open.version(), adopted }
    }
}

/// Whether a result that changes nothing counts.
pub(crate) enum Confirmed {
    /// It rests on the newest state.
    Newest,
    /// Another thread of this session has committed since.
    PassedHere,
    /// Another host has committed since.
    Overtaken,
}

/// Finds out whether a state is still the newest one. On a local store the newest one was seen when the call ran.
pub(crate) fn confirm(state: &RwLock<State>, at: At) -> Result<Confirmed, StoreError> {
    if at.adopted.is_none() || refresh(state)? == at.version {
        return Ok(Confirmed::Newest);
    }
    let now = At::of(read(state).open()?);
    Ok(if now.adopted == at.adopted { Confirmed::PassedHere } else { Confirmed::Overtaken })
}

fn shared(engine: &dyn Engine) -> Result<&dyn SharedEngine, StorageError> {
    engine.shared().ok_or_else(|| StorageError::Unavailable("the store has one host".into()))
}

/// The newest records of a generation; `None` if the engine claims that nothing is new, which cannot be.
pub(crate) fn pull_all(engine: &dyn Engine, root: Address) -> Result<Option<Delta>, StoreError> {
    match shared(engine)?.pull(&Known::nothing(root), LIMIT)? {
        Pull::Unchanged => Ok(None),
        Pull::Changed(delta) => Ok(Some(delta)),
    }
}

/// Checks that a root comes after the newest root that was seen. Its number must not be lower. With the same number it must be the
/// same root. With a higher number, the seen root must be on its trail, or the trails that the server keeps must lead to it. So a
/// store that was put back, or a fork of it, is noticed.
/// Beyond [`TRAIL_REACH`] commits only the number counts: the server need not keep trails for ever.
pub(crate) fn check_order(
    engine: &dyn Engine,
    store: &StoreId,
    seen: &Seen,
    root: &Root,
    value: &[u8],
) -> Result<(), StoreError> {
    let rolled_back = StoreError::RolledBack { expected: seen.commit, found: root.commit };
    let ahead = root.commit.checked_sub(seen.commit);
    let Some(tag) = &seen.tag else { return Ok(()) };
    let is_later = match ahead {
        None => false,
        Some(0) => tag_of(value).as_ref() == Some(tag),
        Some(ahead) if root.trail.reaches(ahead) => root.trail.contains(tag),
        Some(ahead) if ahead > TRAIL_REACH => true,
        Some(_) => {
            let kept = kept_trails(engine, seen.commit, root.commit)?;
            root.trail.comes_after(tag, &kept, store)
        }
    };
    if is_later { Ok(()) } else { Err(rolled_back) }
}

/// The trails that the server keeps: the last one not above `since`, and those after it up to `until`.
pub(super) fn kept_trails(
    engine: &dyn Engine,
    since: u64,
    until: u64,
) -> Result<Vec<Trail>, StorageError> {
    let kept = shared(engine)?.trails(since, until)?;
    Ok(kept.iter().filter_map(|bytes| Trail::from_bytes(bytes)).collect())
}

const LIMIT: Limit = Limit { records: PULL_RECORDS, bytes: PULL_BYTES };

/// Attempts to get a header and the root that names it. Each failure needs another host that changes keyslots or keys just then.
pub(crate) const CATCHES: usize = 8;
pub(crate) const MOVING: &str =
    "header and records of the store do not belong together, or keep changing";
