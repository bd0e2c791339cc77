//! Objects: what a device publishes, sealed and padded.

use std::collections::{BTreeMap, BTreeSet};

use inmost::StoreError;
use inmost_format::crypto::aead::{Nonce, Tag as AeadTag};
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::crypto::registry::CircleObjectAad;
use inmost_format::record::codec;
use inmost_format::secret::Wiped;
use serde::{Deserialize, Serialize};

use crate::chains::{Chains, Dot, LogId, Tag, Vector};
use crate::error::SyncError;
use crate::pool::{Pool, PooledBase, PooledFile};
use crate::tree::FileId;

/// A group of devices: an id and a key, which every member has.
pub(crate) struct Circle {
    pub(crate) id: StoreId,
    pub(crate) key: CircleKey,
}

/// What one object says.
#[derive(Serialize, Deserialize)]
pub(crate) struct Changes {
    /// The name of the device.
    pub(crate) label: String,
    /// Lamport time of the states.
    pub(crate) lamport: u64,
    /// The clock of the device, in milliseconds since 1970.
    pub(crate) time: u64,
    /// What the device knew before.
    pub(crate) seen: Vector,
    pub(crate) pool: Pool,
    pub(crate) states: Vec<Change>,
    pub(crate) snapshot: Option<Snapshot>,
}

/// All that a device knew, for others that have not read what it follows from. It is the first object of a log, which goes on from the
/// other logs of its device.
#[derive(Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// The objects that are in it.
    pub(crate) chains: Chains,
    pub(crate) files: Vec<PooledFile>,
    /// The logs that its device wrote before.
    pub(crate) before: BTreeSet<LogId>,
    pub(crate) peers: BTreeMap<LogId, Peer>,
    /// What was known when texts were forgotten last. All devices write it anew, so that it can be removed.
    pub(crate) forgot: Vector,
}

/// Another log.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) label: String,
    /// The clock of its device at its last object, in milliseconds since 1970.
    pub(crate) time: u64,
    /// What its device knew then.
    pub(crate) vector: Vector,
    /// The logs that its device wrote before, and writes no more.
    pub(crate) before: BTreeSet<LogId>,
}

/// A value of one register of a file. `over` names the states that it replaces; a deletion has `paths` for those of the path.
#[derive(Serialize, Deserialize)]
pub(crate) enum Change {
    Text { file: FileId, over: Vector, text: u32, path: String, bases: Vec<PooledBase> },
    Path { file: FileId, over: Vector, path: String },
    Delete { file: FileId, over: Vector, paths: Vector },
}

/// A sealed object and its name in a place.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(crate) dot: Dot,
    #[serde(with = "serde_bytes")]
    pub(crate) bytes: Vec<u8>,
}

/// Seals the next object of a log.
///
/// # Errors
/// [`StoreError::RandomnessFailed`]; [`SyncError::ChangeTooLarge`].
pub(crate) fn seal(
    circle: &Circle,
    (log, number, previous): (LogId, u64, Option<Tag>),
    changes: &Changes,
) -> Result<Sealed, SyncError> {
    let length = codec::encoded_len(changes).map_err(|_| SyncError::ChangeTooLarge)?;
    let padded = padded_len(length + LENGTH);
    if padded > MOST {
        return Err(SyncError::ChangeTooLarge);
    }
    let mut body = Wiped::new(vec![0; padded]);
    let (head, rest) = body.split_at_mut(LENGTH);
    head.copy_from_slice(
        &u32::try_from(length).map_err(|_| SyncError::ChangeTooLarge)?.to_le_bytes(),
    );
    codec::encode(changes, rest).map_err(|_| SyncError::ChangeTooLarge)?;
    seal_body(circle, (log, number, previous), body)
}

/// Seals a padded body.
pub(crate) fn seal_body(
    circle: &Circle,
    (log, number, previous): (LogId, u64, Option<Tag>),
    mut body: Wiped<Vec<u8>>,
) -> Result<Sealed, SyncError> {
    let aad = aad(circle, log, number, previous);
    let (nonce, tag) =
        circle.key.seal(&aad, body.as_mut_slice()).map_err(|_| StoreError::RandomnessFailed)?;
    let bytes = [&[VERSION][..], &nonce.0, body.as_slice(), &tag.0].concat();
    Ok(Sealed { dot: Dot { log, number, tag: Tag(tag.0) }, bytes })
}

/// Opens an object. `None` if it is not whole, if it is no object of this circle, or if its predecessor is another one. Does no I/O.
pub(crate) fn open(
    circle: &Circle,
    dot: &Dot,
    previous: Option<Tag>,
    bytes: &[u8],
) -> Option<Changes> {
    let (version, rest) = bytes.split_first()?;
    let (nonce, rest) = rest.split_first_chunk::<24>()?;
    let (body, tag) = rest.split_last_chunk::<16>()?;
    if *version != VERSION || *tag != dot.tag.0 || bytes.len() > MOST_SEALED {
        return None;
    }
    let mut body = Wiped::new(body.to_vec());
    let aad = aad(circle, dot.log, dot.number, previous);
    circle.key.open(&aad, &Nonce(*nonce), body.as_mut_slice(), &AeadTag(*tag)).ok()?;
    decode(dot, &body)
}

/// The changes in the body of an authentic object. Its writer may have put anything into it.
pub(crate) fn decode(dot: &Dot, body: &[u8]) -> Option<Changes> {
    let (length, rest) = body.split_first_chunk::<LENGTH>()?;
    let changes = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    let changes: Changes = codec::decode_long(changes).ok()?;
    let may_have_snapshot = dot.number == 1 && changes.states.is_empty();
    let is_sound = changes.is_sound() && (may_have_snapshot || changes.snapshot.is_none());
    is_sound.then_some(changes)
}

impl Change {
    /// The vectors that it names.
    fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let (over, paths, bases) = match self {
            Self::Text { over, bases, .. } => (over, None, &bases[..]),
            Self::Path { over, .. } => (over, None, &[][..]),
            Self::Delete { over, paths, .. } => (over, Some(paths), &[][..]),
        };
        [over].into_iter().chain(paths).chain(bases.iter().map(|base| &base.vector))
    }
}

impl Changes {
    /// The vectors that its states name.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = &Vector> {
        self.states.iter().flat_map(Change::vectors)
    }

    /// Whether every text that is named is there, the label can be a part of a name, and paths are paths.
    fn is_sound(&self) -> bool {
        let is_there = |text: u32| self.pool.get(text).is_some();
        is_label(&self.label)
            && self.states.iter().all(|change| match change {
                Change::Text { text, bases, path, .. } => {
                    is_path(path)
                        && is_there(*text)
                        && bases.len() <= MOST_BASES
                        && bases.iter().all(|base| is_there(base.text))
                }
                Change::Path { path, .. } => is_path(path),
                Change::Delete { .. } => true,
            })
            && self.snapshot.as_ref().is_none_or(|snapshot| self.has_sound(snapshot))
    }

    /// Whether a snapshot is about what was seen, and about nothing else.
    fn has_sound(&self, snapshot: &Snapshot) -> bool {
        let Snapshot { chains, files, peers, forgot, .. } = snapshot;
        let is_seen = |vector: &Vector| chains.is_within(vector, &self.seen);
        let has_sound_bases = |bases: &[PooledBase]| {
            bases.len() <= MOST_BASES
                && bases
                    .iter()
                    .all(|base| self.pool.get(base.text).is_some() && is_seen(&base.vector))
        };
        chains.are_sound(&self.seen)
            && is_seen(forgot)
            && peers.values().all(|peer| is_label(&peer.label) && is_seen(&peer.vector))
            && files.iter().all(|file| {
                is_seen(&file.forgotten)
                    && file.texts.iter().all(|head| {
                        chains.covers(&self.seen, &head.dot)
                            && is_seen(&head.over)
                            && is_path(&head.path)
                            && is_label(&head.label)
                            && self.pool.get(head.text).is_some()
                            && has_sound_bases(&head.bases)
                    })
                    && file.paths.iter().all(|head| {
                        chains.covers(&self.seen, &head.dot)
                            && is_seen(&head.over)
                            && is_path(&head.path)
                    })
            })
    }
}

/// Whether a device may have this name: 1 to 32 letters, digits, spaces, `-`, `_` and `.` of ASCII, and no space at an end.
pub(crate) fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.".contains(&byte);
    (1..=32).contains(&label.len()) && label.bytes().all(is_allowed) && label.trim() == label
}

/// Whether a path has the form of one below `/memories/`. The store checks the rest.
fn is_path(path: &str) -> bool {
    path.len() <= 1_014 && path.split('/').all(|name| !name.is_empty())
}

fn aad(circle: &Circle, log: LogId, number: u64, previous: Option<Tag>) -> CircleObjectAad {
    let previous = previous.map_or([0; 16], |tag| tag.0);
    CircleObjectAad { circle: circle.id, log: log.0, number, previous }
}

/// 4, 16, 64, 256 or 1,024 KiB, or a multiple of the last.
fn padded_len(length: usize) -> usize {
    let classes = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
    let class = classes.into_iter().find(|class| length <= *class);
    class.unwrap_or_else(|| length.next_multiple_of(1 << 20))
}

const VERSION: u8 = 1;
/// Bytes before the changes, which say how long they are.
const LENGTH: usize = 4;
/// Bytes that a sealed object adds.
const FRAME: usize = 1 + 24 + 16;
/// The most bytes of an object before sealing.
const MOST: usize = 512 << 20;
/// The most bytes of an object.
pub(crate) const MOST_SEALED: usize = MOST + FRAME;
/// The most base texts of a state.
pub(crate) const MOST_BASES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(label: &str) -> Changes {
        let mut pool = Pool::default();
        let text = pool.put(&crate::pool::text("secret"));
        let state = Change::Text {
            file: FileId([1; 16]),
            over: Vector::default(),
            text,
            path: "a".to_owned(),
            bases: Vec::new(),
        };
        let seen = Vector::default();
        Changes {
            label: label.to_owned(),
            lamport: 1,
            time: 2,
            seen,
            pool,
            states: vec![state],
            snapshot: None,
        }
    }

    fn circle() -> Circle {
        Circle { id: StoreId([1; 16]), key: CircleKey::generate().unwrap() }
    }

    #[test]
    fn an_object_opens_whole_and_unchanged_or_not_at_all() {
        let circle = circle();
        let sealed = seal(&circle, (LogId([2; 16]), 1, None), &changes("laptop")).unwrap();
        assert_eq!(sealed.bytes.len(), (4 << 10) + FRAME);
        assert!(open(&circle, &sealed.dot, None, &sealed.bytes).is_some());
        assert!(open(&circle, &sealed.dot, Some(Tag([0; 16])), &sealed.bytes).is_some());
        assert!(open(&circle, &sealed.dot, Some(Tag([1; 16])), &sealed.bytes).is_none());
        for length in (0..sealed.bytes.len()).step_by(97) {
            assert!(open(&circle, &sealed.dot, None, &sealed.bytes[..length]).is_none());
        }
        for at in (0..sealed.bytes.len()).step_by(61) {
            let mut changed = sealed.bytes.clone();
            changed[at] ^= 1;
            assert!(open(&circle, &sealed.dot, None, &changed).is_none(), "{at}");
        }
    }

    #[test]
    fn a_label_that_could_not_be_a_part_of_a_name_is_refused() {
        let circle = circle();
        for label in ["", "a/b", "a\n", "\u{e9}", " a", &"a".repeat(33)] {
            let sealed = seal(&circle, (LogId([2; 16]), 1, None), &changes(label)).unwrap();
            assert!(open(&circle, &sealed.dot, None, &sealed.bytes).is_none(), "{label:?}");
        }
    }

    #[test]
    fn a_text_with_too_many_base_texts_is_refused() {
        let circle = circle();
        let mut changes = changes("laptop");
        for count in 1..=MOST_BASES + 1 {
            let Some(Change::Text { bases, .. }) = changes.states.first_mut() else { panic!() };
            bases.push(PooledBase { vector: Vector::default(), text: 0 });
            let sealed = seal(&circle, (LogId([2; 16]), 1, None), &changes).unwrap();
            let opened = open(&circle, &sealed.dot, None, &sealed.bytes);
            assert_eq!(opened.is_some(), count <= MOST_BASES);
        }
    }

    #[test]
    fn lengths_are_hidden_in_classes() {
        for (length, expected) in
            [(1, 4), (4_096, 4), (4_097, 16), (1 << 20, 1_024), ((1 << 20) + 1, 2_048)]
        {
            assert_eq!(padded_len(length), expected << 10);
        }
    }
}
