//! What a device knows and shows: the state of synchronisation.

use std::collections::{BTreeMap, BTreeSet};

use inmost::StoreError;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::crypto::rng;
use inmost_format::record::codec;
use inmost_format::secret::{SecretBytes, Wiped};
use serde::{Deserialize, Serialize};

use crate::chains::{Chains, Dot, LogId, Tag, Vector};
use crate::error::SyncError;
use crate::object::{Change, Changes, Circle, Peer, Sealed};
use crate::pool::{Pool, PooledBase, PooledFile};
use crate::rules::{Rule, holds};
use crate::tree::{Base, FileId, Heads, PathHead, Text, TextHead};

/// A member of a circle. All of it is saved in one step.
pub(crate) struct Device {
    pub(crate) circle: Circle,
    pub(crate) label: String,
    /// Where the place is, for the program.
    pub(crate) place: String,
    /// The log that it writes, and the object that it wrote last.
    pub(crate) log: LogId,
    pub(crate) number: u64,
    pub(crate) previous: Option<Tag>,
    /// The logs that it has written, and those of devices that it has removed.
    pub(crate) own: BTreeSet<LogId>,
    pub(crate) lamport: u64,
    /// What it has read or written.
    pub(crate) vector: Vector,
    pub(crate) chains: Chains,
    /// Files without heads stay: their ids are not used again.
    pub(crate) heads: Heads,
    pub(crate) shown: BTreeMap<FileId, Shown>,
    /// The numbers that files had in the store before they were deleted there or replaced.
    pub(crate) former: BTreeMap<u64, FileId>,
    /// What is being shown; `None` for what is being deleted. A crash in between is recognised by it.
    pub(crate) plan: BTreeMap<FileId, Option<Shown>>,
    /// Sealed objects that the place or the other devices may not have.
    pub(crate) outbox: Vec<Sealed>,
    pub(crate) peers: BTreeMap<LogId, Peer>,
    /// The snapshot that its log begins with, and what is in it.
    pub(crate) snapshot: Option<(Dot, Vector)>,
    /// Snapshots that it has read since it published last, so that nobody knows of it.
    pub(crate) unacknowledged: BTreeSet<Dot>,
    /// What was known when texts were forgotten last, here or on another device.
    pub(crate) forgot: Vector,
    /// Whether it has learned of that since its last snapshot.
    pub(crate) must_renew: bool,
    /// Files of which other devices have forgotten texts that the history of the store may still have.
    pub(crate) remembered: BTreeSet<FileId>,
    /// The commits of the store when this was saved. A store with fewer was put back.
    pub(crate) commit: u64,
    /// Whether the freshness of the store was unknown, so that what it lacks was shown again instead of being deleted everywhere.
    pub(crate) was_doubtful: bool,
}

/// Tells states of a device apart, at less cost than their encodings: with 10,000 files, encoding takes half of a round.
#[derive(PartialEq)]
pub(crate) struct Mark {
    log: LogId,
    vector: Vector,
    shown: Vec<(FileId, u64, u64)>,
    plan: Vec<FileId>,
    former: usize,
    outbox: usize,
    remembered: usize,
    commit: u64,
    was_doubtful: bool,
}

/// A file of the store as it was shown last.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Shown<T = Text, B = Base> {
    /// The numbers of the file and of its last change in the store.
    pub(crate) number: u64,
    pub(crate) version: u64,
    pub(crate) path: String,
    pub(crate) wanted: String,
    pub(crate) text: T,
    /// The states of the text and of the path that are shown.
    pub(crate) texts: Vector,
    pub(crate) paths: Vector,
    /// The states that are merged in the text.
    pub(crate) merged: Vector,
    pub(crate) bases: Vec<B>,
    /// For a conflict copy, the file that it is a copy of.
    pub(crate) copy_of: Option<FileId>,
    /// The last texts that were shown or published, oldest first: the number of the change that brought them, and what was merged.
    pub(crate) steps: Vec<(u64, Vector)>,
}

impl Shown {
    /// Takes note of the text, which this change brought. Of a text that stays while more is merged in it, the first and the last
    /// step are kept.
    pub(crate) fn step(&mut self, version: u64) {
        if let [.., (before, _), (last, _)] = self.steps[..]
            && (before, last) == (version, version)
        {
            self.steps.pop();
        }
        if self.steps.len() == STEPS {
            self.steps.remove(0);
        }
        self.steps.push((version, self.merged.clone()));
    }
}

impl Device {
    /// # Errors
    /// [`StoreError::RandomnessFailed`]
    pub(crate) fn new(circle: Circle, label: String, place: String) -> Result<Self, SyncError> {
        let log = LogId(random()?);
        Ok(Self {
            circle,
            label,
            place,
            log,
            number: 0,
            previous: None,
            own: BTreeSet::from([log]),
            lamport: 0,
            vector: Vector::default(),
            chains: Chains::default(),
            heads: Heads::new(),
            shown: BTreeMap::new(),
            former: BTreeMap::new(),
            plan: BTreeMap::new(),
            outbox: Vec::new(),
            peers: BTreeMap::new(),
            snapshot: None,
            unacknowledged: BTreeSet::new(),
            forgot: Vector::default(),
            must_renew: false,
            remembered: BTreeSet::new(),
            commit: 0,
            was_doubtful: false,
        })
    }

    /// Goes on with a log of its own: another copy of this device may write to the one it had.
    pub(crate) fn begin_log(&mut self) -> Result<(), SyncError> {
        self.log = LogId(random()?);
        self.own.insert(self.log);
        (self.number, self.previous) = (0, None);
        Ok(())
    }

    /// Takes in an object that was read or written.
    pub(crate) fn learn(&mut self, dot: Dot, previous: Option<Tag>, mut changes: Changes) {
        if let Some(snapshot) = changes.snapshot.take() {
            self.learn_snapshot(dot, &changes, snapshot);
        }
        self.chains.insert(dot, previous);
        let own = Vector::from_iter([dot]);
        self.vector = self.chains.join([&self.vector, &own]);
        self.lamport = self.lamport.max(changes.lamport);
        if !self.own.contains(&dot.log) {
            let vector = self.chains.join([&changes.seen, &own]);
            let before = self.peers.remove(&dot.log).map(|peer| peer.before).unwrap_or_default();
            let peer = Peer { label: changes.label.clone(), time: changes.time, vector, before };
            self.peers.insert(dot.log, peer);
        }
        let Changes { label, lamport, time, pool, states, .. } = changes;
        for state in states {
            match state {
                Change::Delete { file, over, paths } => {
                    let heads = self.heads.entry(file).or_default();
                    heads.texts.retain(|head| !self.chains.covers(&over, &head.dot));
                    heads.paths.retain(|head| !self.chains.covers(&paths, &head.dot));
                }
                Change::Text { file, over, text, path, bases } => {
                    let (Some(text), Some(bases)) = (pool.get(text), pool.bases(bases)) else {
                        continue; // an object is checked when it is opened
                    };
                    let label = label.clone();
                    let head = TextHead { dot, over, lamport, text, path, label, time, bases };
                    let heads = self.heads.entry(file).or_default();
                    add_head(&self.chains, &mut heads.texts, head, |head| (&head.dot, &head.over));
                    if holds(Rule::DropForgotten) {
                        heads.drop_forgotten(&self.chains);
                    }
                }
                Change::Path { file, over, path } => {
                    let head = PathHead { dot, over, lamport, path };
                    let heads = &mut self.heads.entry(file).or_default().paths;
                    add_head(&self.chains, heads, head, |head| (&head.dot, &head.over));
                }
            }
        }
    }

    /// What differs whenever a step of a run has changed something, but for [`forget`](Self::forget) and two plans for the same files.
    pub(crate) fn mark(&self) -> Mark {
        let shown = |(id, shown): (&FileId, &Shown)| (*id, shown.number, shown.version);
        Mark {
            log: self.log,
            vector: self.vector.clone(),
            shown: self.shown.iter().map(shown).collect(),
            plan: self.plan.keys().copied().collect(),
            former: self.former.len(),
            outbox: self.outbox.len(),
            remembered: self.remembered.len(),
            commit: self.commit,
            was_doubtful: self.was_doubtful,
        }
    }

    pub(crate) fn encode(&self) -> Result<Wiped<Vec<u8>>, SyncError> {
        let stored = Stored::of(self);
        let length = codec::encoded_len(&stored).map_err(|_| SyncError::ChangeTooLarge)?;
        let mut bytes = Wiped::new(vec![0; length]);
        codec::encode(&stored, bytes.as_mut_slice()).map_err(|_| SyncError::ChangeTooLarge)?;
        Ok(bytes)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, SyncError> {
        let stored = codec::decode_own::<Stored>(bytes).ok().and_then(Stored::into_device);
        stored.ok_or(SyncError::StateUnreadable)
    }
}

/// Adds a head, unless another one replaces it, and removes those that it replaces.
fn add_head<H>(
    chains: &Chains,
    heads: &mut Vec<H>,
    head: H,
    parts: impl Fn(&H) -> (&Dot, &Vector),
) {
    let (dot, over) = parts(&head);
    let is_known = |other: &H| parts(other).0 == dot || chains.covers(parts(other).1, dot);
    if heads.iter().any(is_known) {
        return;
    }
    heads.retain(|other| !chains.covers(over, parts(other).0));
    heads.push(head);
}

/// 16 random bytes.
pub(crate) fn random() -> Result<[u8; 16], SyncError> {
    rng::array().map_err(|_| StoreError::RandomnessFailed.into())
}

/// A device as it is stored: texts are in a pool.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u8,
    circle: [u8; 16],
    key: Wiping,
    label: String,
    place: String,
    log: LogId,
    number: u64,
    previous: Option<Tag>,
    own: BTreeSet<LogId>,
    lamport: u64,
    vector: Vector,
    chains: Chains,
    pool: Pool,
    heads: Vec<PooledFile>,
    shown: Vec<(FileId, StoredShown)>,
    former: BTreeMap<u64, FileId>,
    plan: Vec<(FileId, Option<StoredShown>)>,
    outbox: Vec<Sealed>,
    peers: BTreeMap<LogId, Peer>,
    snapshot: Option<(Dot, Vector)>,
    unacknowledged: BTreeSet<Dot>,
    forgot: Vector,
    must_renew: bool,
    remembered: BTreeSet<FileId>,
    commit: u64,
    was_doubtful: bool,
}

/// The key of the circle while it is encoded or decoded.
#[derive(Serialize, Deserialize)]
struct Wiping([u8; 32]);

impl Drop for Wiping {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// A file as it was shown last, with its texts in a pool.
type StoredShown = Shown<u32, PooledBase>;

impl Stored {
    fn of(device: &Device) -> Self {
        let mut pool = Pool::default();
        let heads = device.heads.iter();
        let heads = heads.map(|(id, file)| PooledFile::of(*id, file, &mut pool)).collect();
        let shown = device.shown.iter();
        let shown = shown.map(|(id, shown)| (*id, StoredShown::of(shown, &mut pool))).collect();
        let mut planned = |shown: &Shown| StoredShown::of(shown, &mut pool);
        let plan = device.plan.iter();
        let plan = plan.map(|(id, shown)| (*id, shown.as_ref().map(&mut planned))).collect();
        Self {
            format: FORMAT,
            circle: device.circle.id.0,
            key: Wiping(*device.circle.key.expose()),
            label: device.label.clone(),
            place: device.place.clone(),
            log: device.log,
            number: device.number,
            previous: device.previous,
            own: device.own.clone(),
            lamport: device.lamport,
            vector: device.vector.clone(),
            chains: device.chains.clone(),
            pool,
            heads,
            shown,
            former: device.former.clone(),
            plan,
            outbox: device.outbox.clone(),
            peers: device.peers.clone(),
            snapshot: device.snapshot.clone(),
            unacknowledged: device.unacknowledged.clone(),
            forgot: device.forgot.clone(),
            must_renew: device.must_renew,
            remembered: device.remembered.clone(),
            commit: device.commit,
            was_doubtful: device.was_doubtful,
        }
    }

    /// `None` if a text is missing.
    fn into_device(self) -> Option<Device> {
        if self.format != FORMAT {
            return None;
        }
        let pool = self.pool;
        let key = CircleKey::new(SecretBytes::init_with(|key| key.copy_from_slice(&self.key.0)));
        let heads = self.heads.into_iter();
        let shown = self.shown.into_iter();
        let plan = self.plan.into_iter();
        Some(Device {
            circle: Circle { id: StoreId(self.circle), key },
            label: self.label,
            place: self.place,
            log: self.log,
            number: self.number,
            previous: self.previous,
            own: self.own,
            lamport: self.lamport,
            vector: self.vector,
            chains: self.chains,
            heads: heads.map(|file| Some((file.id, file.heads(&pool)?))).collect::<Option<_>>()?,
            shown: shown
                .map(|(id, shown)| Some((id, shown.shown(&pool)?)))
                .collect::<Option<_>>()?,
            former: self.former,
            plan: plan
                .map(|(id, planned)| match planned {
                    Some(planned) => Some((id, Some(planned.shown(&pool)?))),
                    None => Some((id, None)),
                })
                .collect::<Option<_>>()?,
            outbox: self.outbox,
            peers: self.peers,
            snapshot: self.snapshot,
            unacknowledged: self.unacknowledged,
            forgot: self.forgot,
            must_renew: self.must_renew,
            remembered: self.remembered,
            commit: self.commit,
            was_doubtful: self.was_doubtful,
        })
    }
}

impl StoredShown {
    fn of(shown: &Shown, pool: &mut Pool) -> Self {
        Self {
            number: shown.number,
            version: shown.version,
            path: shown.path.clone(),
            wanted: shown.wanted.clone(),
            text: pool.put(&shown.text),
            texts: shown.texts.clone(),
            paths: shown.paths.clone(),
            merged: shown.merged.clone(),
            bases: pool.put_bases(&shown.bases),
            copy_of: shown.copy_of,
            steps: shown.steps.clone(),
        }
    }

    fn shown(self, pool: &Pool) -> Option<Shown> {
        Some(Shown {
            number: self.number,
            version: self.version,
            path: self.path,
            wanted: self.wanted,
            text: pool.get(self.text)?,
            texts: self.texts,
            paths: self.paths,
            merged: self.merged,
            bases: pool.bases(self.bases)?,
            copy_of: self.copy_of,
            steps: self.steps,
        })
    }
}

/// The only format of a stored device.
const FORMAT: u8 = 3;
/// The texts of a file of which is known what they are in the history of the store.
pub(crate) const STEPS: usize = if cfg!(test) { 4 } else { 32 };
