//! The records of a generation, read from its bare files without the engine.
//!
//! An engine that meets damage may refuse all of its files, or cut off what it does not understand. A record needs no engine:
//! it says what it is, and authenticates. This index finds every version of every record that is left in the files.
//! Reading it writes nothing.
//!
//! The index takes 16 bytes for each version of a record, however long the record is, and 4 more while older versions are
//! looked for.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::session::{StoreError, Vault, sealer};
use inmost_format::header::{Credential, Unlocked};
use inmost_format::record::find::FoundRecord;
use inmost_format::record::history::{self, History, VersionRange, Versions};
use inmost_format::record::node::{Child, Entry, Root, What};
use inmost_format::record::tree::{Body, Inner};
use inmost_format::record::{
    Depth, Flaw, Kind, Node, NodeSource, ObjectId, Reached, RecordError, RecordId, Sealer, Tag,
    load_history, tag_of,
};
use inmost_storage::limits::RECORD_VALUE_BYTES;
use inmost_storage::{BareFiles, Extent, StorageError};

/// An index of the records in bare files.
pub(crate) struct BareRecords {
    files: Box<dyn BareFiles>,
    /// The number of bytes in the extents before each one.
    starts: Vec<u64>,
    sealer: Sealer,
    /// Ordered by `tag`.
    places: Vec<Place>,
    /// The places ordered by object; made when an older version is needed.
    by_object: OnceCell<Vec<u32>>,
    /// The newest commit that the anchors name; 0 if they cannot be read.
    expected_commit: u64,
}

/// Where a version of a record is. Holds only the first 4 bytes of the tag and of the object id: few wrong candidates remain to
/// be read.
#[derive(Clone, Copy)]
struct Place {
    tag: u32,
    object: u32,
    /// From the highest bit: the position in all extents, one after the other, then the length in bytes, then the kind.
    packed: u64,
}

/// Entries of a history, or the numbers between which some are that cannot be read, and how many they are.
pub(super) type HistoryPart<'a> = Result<&'a Versions, (Range<u64>, u64)>;

/// A version of a record.
pub(crate) struct Version {
    pub(crate) id: RecordId,
    pub(crate) tag: Tag,
    pub(crate) node: Node,
    /// The time of its extent, and its offset there; 0 for what is not known.
    written: (u64, u64),
}

impl Version {
    /// Whether it was written before another record; `None` if the files do not say so.
    pub(super) fn is_before(&self, other: &Self) -> Option<bool> {
        (self.written.0 > 0 && other.written.0 > 0).then(|| self.written < other.written)
    }

    /// What only falls where a name was taken out: the number of the next record of its object, then the number of the latest
    /// change that it names.
    fn progress(&self) -> (u64, u64) {
        (next_index(&self.node), latest_change(self.node.entries()))
    }
}

impl BareRecords {
    /// Unlocks the header of a store, and searches its files. The engine is not opened.
    pub(crate) fn of(
        vault: &Vault,
        credential: &Credential<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Self, Unlocked), StoreError> {
        let keys = vault.unlock_header(credential)?;
        let header = keys.header();
        let storage = vault.storage()?;
        let files = match storage.bare_files(header.generation()) {
            Err(StorageError::Missing) => {
                return Err(StoreError::tampered(Kind::Root, Flaw::Absent));
            }
            files => files?,
        };
        let mut records = Self::search(files, sealer(&keys), progress)?;
        records.expected_commit = vault.anchor(&keys)?.newest_commit().unwrap_or_default();
        Ok((records, keys))
    }

    /// Searches the files. `progress` gets the number of bytes searched so far.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(super) fn search(
        files: Box<dyn BareFiles>,
        sealer: Sealer,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, StoreError> {
        let mut places = Vec::new();
        let (mut starts, mut done) = (Vec::new(), 0_u64);
        let mut buffer = vec![0; PIECE + RECORD_VALUE_BYTES];
        for (index, extent) in files.extents().iter().enumerate() {
            starts.push(done);
            // A record may end in a later part of its file: parts are of different age where the files do not tell it of some blocks.
            let own_end = extent.offset.saturating_add(extent.length);
            let later = files.extents().iter().skip(index.saturating_add(1)).take(2);
            let end = later.fold(own_end, |end, next| {
                let is_next = next.file == extent.file && next.offset == end;
                if is_next { end.saturating_add(next.length) } else { end }
            });
            let mut at = 0;
            while at < extent.length {
                let left = end.saturating_sub(extent.offset.saturating_add(at));
                let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                let piece = buffer.get_mut(..bytes).unwrap_or_default();
                files.read(extent.file, extent.offset.saturating_add(at), piece)?;
                // A record that begins in this piece may end in the next one.
                let end = usize::try_from(extent.length - at).unwrap_or(usize::MAX).min(PIECE);
                let next = sealer.find_all(piece, end, &mut |offset, found| {
                    places.extend(Place::new(done.saturating_add(at), offset, &found));
                });
                at = at.saturating_add(u64::try_from(next).unwrap_or(u64::MAX));
                progress(done.saturating_add(at.min(extent.length)));
            }
            done = done.saturating_add(extent.length);
        }
        places.sort_unstable_by_key(|place: &Place| place.tag);
        Ok(Self { files, starts, sealer, places, by_object: OnceCell::new(), expected_commit: 0 })
    }

    /// The highest number of a commit in an anchor, or 0.
    pub(super) fn expected_commit(&self) -> u64 {
        self.expected_commit
    }

    /// The number of heads of files, of every version.
    pub(super) fn heads(&self) -> u64 {
        let heads = self.places.iter().filter(|place| place.kind() == Kind::File.code());
        u64::try_from(heads.count()).unwrap_or(u64::MAX)
    }

    /// Every version of every record, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = Version> {
        self.places.iter().filter_map(|place| self.read(place))
    }

    /// The versions of the records of this kind and object, the newest first. Where the files do not say when a version was
    /// written, it is newer than another one of the same record only if it names a later change; then the version that an older
    /// list names comes first.
    pub(super) fn versions(
        &self,
        kind: Kind,
        object: ObjectId,
        named: Option<Tag>,
    ) -> Vec<Version> {
        let wanted = (kind.code(), beginning(&object.0));
        let order = self.by_object.get_or_init(|| self.order_by_object());
        let start = order.partition_point(|index| self.key(*index) < wanted);
        let same = order.iter().skip(start).take_while(|index| self.key(**index) == wanted);
        let places = same.filter_map(|index| self.places.get(usize::try_from(*index).ok()?));
        let mut versions: Vec<Version> = places
            .filter_map(|place| self.read(place))
            .filter(|version| version.id.object == object)
            .collect();
        versions.sort_by_key(|version| {
            Reverse((version.written, version.progress(), Some(version.tag) == named))
        });
        let undated = versions.partition_point(|version| version.written.0 > 0);
        for version in versions.split_off(undated) {
            let is_older = |other: &Version| {
                other.id.index == version.id.index && other.progress() < version.progress()
            };
            let at = versions.iter().position(is_older).unwrap_or(versions.len());
            versions.insert(at, version);
        }
        // An engine may hold a version in several places.
        let mut seen = HashSet::new();
        versions.retain(|version| seen.insert(version.tag.0));
        versions
    }

    /// The entries of a history that can be read, in order. If its head cannot be read, those of the latest head that can: it knows
    /// most of what the tree no longer has.
    pub(super) fn history(&self, child: &Child) -> Vec<history::Version> {
        self.history_of(child).0
    }

    /// The entries of the state before, where some of a history cannot be read. A power cut can tear the commit that moves entries into
    /// a new part of it.
    pub(super) fn history_before(&self, child: &Child) -> Vec<history::Version> {
        let before = self.history_of(child).1.and_then(|commit| self.latest_history_before(commit));
        before.map_or_else(Vec::new, |(object, head)| self.entries_of(object, &head).0)
    }

    /// The entries of a history that can be read, and its commit if there are others.
    fn history_of(&self, child: &Child) -> (Vec<history::Version>, Option<u64>) {
        if child.is_none() {
            return (Vec::new(), None);
        }
        let named = load_history(self, child.id, &child.tag).ok().map(|head| (child.id, head));
        let Some((object, history)) = named.or_else(|| self.latest_history()) else {
            return (Vec::new(), None);
        };
        let (entries, is_whole) = self.entries_of(object, &history);
        (entries, (!is_whole).then_some(history.commit))
    }

    /// The entries of a state of a history that can be read, and whether these are all.
    fn entries_of(&self, object: ObjectId, head: &Arc<History>) -> (Vec<history::Version>, bool) {
        let (mut entries, mut is_whole) = (Vec::new(), true);
        // The visitor never fails.
        let _ = self.visit_history::<RecordError>(object, head, &mut |part| {
            match part {
                Ok(versions) => entries.extend(versions.0.iter().cloned()),
                Err(_) => is_whole = false,
            }
            Ok(())
        });
        (entries, is_whole)
    }

    /// Visits a state of a history in order.
    ///
    /// # Errors
    /// Those of the visitor.
    pub(super) fn visit_history<E>(
        &self,
        object: ObjectId,
        head: &Arc<History>,
        visit: &mut impl FnMut(HistoryPart<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = head.newest.0.first().map_or(u64::MAX, |version| version.number);
        match (&head.body, Depth::TOP.below(&Node::History(Arc::clone(head)))) {
            (Body::Inline(versions), _) => visit(Ok(versions))?,
            (Body::Tree(inner), Ok(depth)) => {
                self.visit_below(object, inner, depth, end, &mut Reached::default(), visit)?;
            }
            (Body::Tree(_), Err(_)) => visit(Err((0..end, head.body.count())))?,
        }
        visit(Ok(&head.newest))
    }

    fn visit_below<E>(
        &self,
        object: ObjectId,
        inner: &Inner<VersionRange>,
        depth: Depth,
        end: u64,
        reached: &mut Reached,
        visit: &mut impl FnMut(HistoryPart<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut children = inner.children::<Versions>(object).peekable();
        while let Some((id, tag, range)) = children.next() {
            let end = children.peek().map_or(end, |(.., next)| next.first);
            // A crafted tree of few nodes could have too many paths to walk.
            let node = reached.mark(id).and_then(|()| self.load(id, tag)).ok();
            let depth = node.as_ref().and_then(|node| depth.below(node).ok());
            match (depth, node) {
                (Some(_), Some(Node::HistoryLeaf(versions))) => visit(Ok(&versions))?,
                (Some(depth), Some(Node::HistoryInner(below))) => {
                    self.visit_below(object, &below, depth, end, reached, visit)?;
                }
                _ => visit(Err((range.first..end, range.count)))?,
            }
        }
        Ok(())
    }

    /// The head of a history with the highest commit.
    pub(super) fn latest_history(&self) -> Option<(ObjectId, Arc<History>)> {
        self.latest_history_before(u64::MAX)
    }

    fn latest_history_before(&self, commit: u64) -> Option<(ObjectId, Arc<History>)> {
        let places = self.places.iter().filter(|place| place.kind() == Kind::History.code());
        let heads = places.filter_map(|place| {
            let version = self.read(place)?;
            match version.node {
                Node::History(head) => Some((version.id.object, head)),
                _ => None,
            }
        });
        heads.filter(|(_, head)| head.commit < commit).max_by_key(|(_, head)| head.commit)
    }

    /// The versions of the root record, the newest first, one of each commit.
    pub(crate) fn roots(&self) -> Vec<Root> {
        let roots = self.places.iter().filter(|place| place.kind() == Kind::Root.code());
        let mut roots: Vec<Root> = roots
            .filter_map(|place| match self.read(place)?.node {
                Node::Root(root) => Some(Root::clone(&root)),
                _ => None,
            })
            .collect();
        roots.sort_by_key(|root| Reverse(root.commit));
        // An engine may hold a version in several places.
        roots.dedup_by_key(|root| root.commit);
        roots
    }

    fn order_by_object(&self) -> Vec<u32> {
        let count = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by_key(|index| self.key(*index));
        order
    }

    fn key(&self, index: u32) -> (u8, u32) {
        let place = usize::try_from(index).ok().and_then(|index| self.places.get(index));
        place.map_or((u8::MAX, u32::MAX), |place| (place.kind(), place.object))
    }

    fn read(&self, place: &Place) -> Option<Version> {
        let (value, extent, offset) = self.value(place).ok()?;
        let (id, tag) = (self.sealer.name_of(&value)?, tag_of(&value)?);
        let node = self.sealer.open(id, &value, &tag).ok()?;
        let at = if extent.is_ordered { offset } else { 0 };
        Some(Version { id, tag, node, written: (extent.written, at) })
    }

    /// Reads the bytes at a place. Returns with them the extent, and the offset in its file.
    fn value(&self, place: &Place) -> Result<(Vec<u8>, &Extent, u64), StorageError> {
        let position = place.position();
        let index = self.starts.partition_point(|start| *start <= position).wrapping_sub(1);
        let (Some(extent), Some(start)) = (self.files.extents().get(index), self.starts.get(index))
        else {
            return Err(StorageError::Missing);
        };
        let offset = extent.offset.saturating_add(position.saturating_sub(*start));
        let mut value = vec![0; place.length()];
        self.files.read(extent.file, offset, &mut value)?;
        Ok((value, extent, offset))
    }
}

impl NodeSource for BareRecords {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        let wanted = beginning(&tag.0);
        let start = self.places.partition_point(|place| place.tag < wanted);
        let same = self.places.iter().skip(start).take_while(|place| place.tag == wanted);
        let mut flaw = Flaw::Absent;
        // Each place where the engine holds this version may be the intact one.
        for place in same {
            let (value, ..) = self.value(place)?;
            if tag_of(&value) != Some(*tag) {
                continue;
            }
            match self.sealer.open(id, &value, tag) {
                Ok(node) => return Ok(node),
                Err(RecordError::Damaged { flaw: found, .. }) => flaw = found,
                Err(error) => return Err(error),
            }
        }
        Err(RecordError::Damaged { kind: id.kind, flaw })
    }
}

impl Place {
    /// `None` for a place beyond what a disk holds.
    fn new(piece: u64, offset: usize, found: &FoundRecord) -> Option<Self> {
        let position = piece.checked_add(u64::try_from(offset).ok()?)?;
        let length = u64::try_from(found.length).ok()?;
        let kind = u64::from(found.id.kind.code());
        let fits = position >> (u64::BITS - LENGTH_BITS - KIND_BITS) == 0
            && length >> LENGTH_BITS == 0
            && kind >> KIND_BITS == 0;
        fits.then_some(Self {
            tag: beginning(&found.tag.0),
            object: beginning(&found.id.object.0),
            packed: (position << LENGTH_BITS | length) << KIND_BITS | kind,
        })
    }

    fn position(self) -> u64 {
        self.packed >> (LENGTH_BITS + KIND_BITS)
    }

    fn length(self) -> usize {
        usize::try_from(self.packed >> KIND_BITS & ((1 << LENGTH_BITS) - 1)).unwrap_or_default()
    }

    /// The number of its kind.
    fn kind(self) -> u8 {
        u8::try_from(self.packed & ((1 << KIND_BITS) - 1)).unwrap_or_default()
    }
}

/// The number of the latest change of the files of a list; 0 if it names none.
pub(super) fn latest_change<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> u64 {
    let changes = entries.into_iter().filter_map(|entry| match entry.what {
        What::File(info) => Some(info.version),
        What::Folder => None,
    });
    changes.max().unwrap_or_default()
}

/// The number of the next record of an object. It never falls.
fn next_index(node: &Node) -> u64 {
    match node {
        Node::Folder(head) => head.next_index,
        Node::File(head) => head.next_index,
        _ => 0,
    }
}

fn beginning(bytes: &[u8; 16]) -> u32 {
    u32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default())
}

/// Bits of the length of a value, and of the number of a kind.
const LENGTH_BITS: u32 = 13;
const KIND_BITS: u32 = 4;
const _: () = assert!(RECORD_VALUE_BYTES >> LENGTH_BITS == 0, "a length fits its bits");
/// Bytes searched at a time.
const PIECE: usize = 1 << 20;
