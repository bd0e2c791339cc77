//! Copies the live tree to an engine under other keys, and reads it back.
//!
//! Each record is read once, so a crafted tree costs no more than a genuine one with as many records.

use std::collections::{HashMap, HashSet};

use super::backups::records::Records;
use super::new_nodes::NewNodes;
use super::recovery::KeptHistory;
use crate::session::ledger::{new_ledger, readings};
use crate::session::{ReadAhead, StoreError, now};
use inmost_format::record::history::{Before, History};
use inmost_format::record::node::{Child, Entry, Folder, Root, Totals, What};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{
    Depth, Flaw, HeaderId, Kind, Node, NodeSource, ObjectId, Reached, RecordError, RecordId,
    Sealed, Sealer, Tag,
};
use inmost_storage::limits::BATCH_RECORDS;
use inmost_storage::{Address, Engine, StorageError};

/// Copies the tree below the root folder. Returns the new tag of that folder and the root's new totals.
pub(super) type CopyTree<'f> =
    &'f mut dyn FnMut(&mut Copy<'_>, &Root) -> Result<(Tag, u64, u64), StoreError>;

/// Where the records of a copy go, a part at a time.
pub(super) type TakeRecords<'t> =
    &'t mut dyn FnMut(Vec<(Address, Vec<u8>)>) -> Result<(), StorageError>;

/// Copies the whole tree. Damage anywhere in it is an error.
pub(super) fn strict(copy: &mut Copy<'_>, root: &Root) -> Result<(Tag, u64, u64), StoreError> {
    let tag = copy.node(Depth::TOP, RecordId::folder(root.tree.id), &root.tree.tag)?;
    Ok((tag, root.files, root.bytes))
}

/// The records to copy.
struct Source<'a>(&'a dyn NodeSource);

impl NodeSource for Source<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.0.load(id, tag)
    }
}

/// What a copy does with the history.
enum Past {
    AsItIs,
    /// It keeps this part of it.
    Rest(Box<KeptHistory>),
    Dropped,
}

/// Seals a tree under other keys.
pub(super) struct Copy<'a> {
    from: &'a dyn NodeSource,
    pub(super) sealer: &'a Sealer,
    into: TakeRecords<'a>,
    puts: Vec<(Address, Vec<u8>)>,
    records: u64,
    /// An earlier copy under the same keys. What is in it is not written again.
    earlier: Option<&'a Records>,
    /// The records that are in the earlier copy as they should be.
    kept: Vec<Address>,
    progress: Option<&'a mut dyn FnMut(u64)>,
    reached: Reached,
    /// The records of files, with their old and new tags, if the history is copied: its entries refer to them too.
    shared: Option<HashMap<RecordId, (Tag, Tag)>>,
    in_history: bool,
    past: Past,
    /// The numbers of the files in the tree, if the ledger is copied: it keeps only their readings.
    files: Option<HashSet<u64>>,
}

impl<'a> Copy<'a> {
    /// Prepares a copy.
    pub(super) fn new(from: &'a dyn NodeSource, sealer: &'a Sealer, into: TakeRecords<'a>) -> Self {
        Self {
            from,
            sealer,
            into,
            puts: Vec::new(),
            records: 0,
            earlier: None,
            kept: Vec::new(),
            progress: None,
            reached: Reached::default(),
            shared: None,
            in_history: false,
            past: Past::AsItIs,
            files: None,
        }
    }

    /// Keeps so much of the history, in place of the whole.
    pub(super) fn keep_of_history(&mut self, kept: Option<KeptHistory>) {
        self.past = kept.map_or(Past::Dropped, |kept| Past::Rest(Box::new(kept)));
    }

    /// Writes only what an earlier copy under the same keys does not have, and reports its progress.
    pub(super) fn after(&mut self, earlier: &'a Records, progress: &'a mut dyn FnMut(u64)) {
        self.earlier = Some(earlier);
        self.progress = Some(progress);
    }

    /// Records of the copy so far, those of the earlier copy included.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// The addresses of the records that the earlier copy has already.
    pub(super) fn into_kept(self) -> Vec<Address> {
        self.kept
    }

    /// Copies everything, the root last.
    pub(super) fn root(
        &mut self,
        root: &Root,
        header: HeaderId,
        copy_tree: CopyTree<'_>,
    ) -> Result<(), StoreError> {
        let mut root = Root { header, ..root.clone() };
        self.shared = (!root.history.is_none()).then(HashMap::new);
        self.files = (!root.readings.is_none()).then(HashSet::new);
        let (tag, files, bytes) = copy_tree(self, &root)?;
        root = Root { files, bytes, ..root };
        root.tree.tag = tag;
        // Everything in the system folder was deleted or never finished.
        let empty = Folder { next_index: 0, totals: Totals::default(), body: Body::empty() };
        root.system.tag = self.seal(RecordId::folder(root.system.id), &empty.into())?;
        if !root.history.is_none() {
            self.in_history = true;
            self.history(&mut root)?;
        }
        self.ledger(&mut root)?;
        self.seal(RecordId::ROOT, &root.into())?;
        self.flush()
    }

    fn history(&mut self, root: &mut Root) -> Result<(), StoreError> {
        let child = root.history;
        let id = RecordId::history(child.id);
        match std::mem::replace(&mut self.past, Past::AsItIs) {
            Past::AsItIs => {
                root.history.tag = self.node(Depth::TOP, id, &child.tag)?;
            }
            Past::Rest(kept) => root.history.tag = self.kept_history(id, *kept, root.commit)?,
            Past::Dropped => root.history = Child::NONE,
        }
        Ok(())
    }

    /// Writes a history anew from its entries, with what they hold.
    fn kept_history(
        &mut self,
        id: RecordId,
        kept: KeptHistory,
        commit: u64,
    ) -> Result<Tag, StoreError> {
        let KeptHistory { entries, mut folders, texts_from, seen } = kept;
        let mut history = History { texts_from, commit, seen, ..History::empty() };
        let mut nodes = NewNodes::default();
        for mut version in entries {
            match &mut version.before {
                Before::Head(old) => old.tag = self.node(Depth::TOP, old.id(), &old.tag)?,
                Before::Object(entry) => entry.tag = self.held(Depth::TOP, entry, &mut folders)?,
                Before::Nothing | Before::Restored(_) => {}
            }
            history.append(&mut nodes, id.object, version)?;
        }
        self.seal_new(&mut nodes, id, history.into())
    }

    /// Copies an object that an entry of the history holds. `folders` has what is left of those of which a part is lost.
    fn held(
        &mut self,
        depth: Depth,
        entry: &Entry,
        folders: &mut HashMap<ObjectId, (Vec<Entry>, Totals)>,
    ) -> Result<Tag, StoreError> {
        let Some((mut entries, totals)) = folders.remove(&entry.id) else {
            return self.node(depth, entry.head(), &entry.tag);
        };
        self.reached.mark(entry.head())?;
        for entry in &mut entries {
            entry.tag = self.held(depth, entry, folders)?;
        }
        let mut nodes = NewNodes::default();
        let mut next_index = 0;
        let mut owner = Owner { sink: &mut nodes, object: entry.id, next_index: &mut next_index };
        let body = Body::of_entries(&mut owner, entries)?;
        let folder = Folder { next_index, totals, body };
        self.seal_new(&mut nodes, entry.head(), folder.into())
    }

    /// Writes the readings of the files that were copied. A ledger that is damaged is left out, because no file depends on
    /// it. Then every file counts as used now.
    fn ledger(&mut self, root: &mut Root) -> Result<(), StoreError> {
        let Some(files) = self.files.take() else { return Ok(()) };
        let child = std::mem::replace(&mut root.readings, Child::NONE);
        let readings = match readings(&Source(self.from), &child) {
            Ok(readings) => readings,
            Err(RecordError::Damaged { .. }) => {
                // Another time than before, which tells the caller.
                root.reads_since = now().max(root.reads_since.saturating_add(1));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let readings = readings.filter(|reading| files.contains(&reading.file));
        if readings.is_empty() {
            return Ok(());
        }
        let mut nodes = NewNodes::default();
        let (id, ledger) = new_ledger(&mut nodes, &readings)?;
        let tag = self.seal_new(&mut nodes, id, ledger.into())?;
        root.readings = Child { id: id.object, tag };
        Ok(())
    }

    /// Notes files whose readings stay.
    pub(super) fn keep_readings(&mut self, entries: &[Entry]) {
        let Some(files) = &mut self.files else { return };
        files.extend(entries.iter().filter_map(|entry| match entry.what {
            What::File(info) => Some(info.number),
            What::Folder => None,
        }));
    }

    /// Seals a new node, and those of `nodes` below it.
    pub(super) fn seal_new(
        &mut self,
        nodes: &mut NewNodes,
        id: RecordId,
        mut node: Node,
    ) -> Result<Tag, StoreError> {
        node.children_mut(id.object, |child, tag| {
            if let Some(below) = nodes.take(child) {
                *tag = self.seal_new(nodes, child, below)?;
            }
            Ok::<(), StoreError>(())
        })?;
        self.seal(id, &node)
    }

    /// Copies the node at `depth` and everything below it.
    pub(super) fn node(
        &mut self,
        depth: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> Result<Tag, StoreError> {
        if self.in_history
            && let Some((old, new)) = self.shared.as_ref().and_then(|shared| shared.get(&id))
        {
            let stale = RecordError::Damaged { kind: id.kind, flaw: Flaw::Stale };
            return if old == tag { Ok(*new) } else { Err(stale.into()) };
        }
        self.reached.mark(id)?;
        let mut node = self.from.load(id, tag)?;
        let depth = depth.below(&node)?;
        if !self.in_history {
            self.keep_readings(node.entries());
        }
        node.children_mut(id.object, |child, tag| {
            *tag = self.node(depth, child, tag)?;
            Ok::<(), StoreError>(())
        })?;
        let new = self.seal(id, &node)?;
        if let Some(shared) = self.shared.as_mut().filter(|_| is_of_file(id.kind)) {
            shared.insert(id, (*tag, new));
        }
        Ok(new)
    }

    /// Copies the node of a file at `depth` and everything below it, as that of another object.
    pub(super) fn as_another(
        &mut self,
        depth: Depth,
        id: RecordId,
        tag: &Tag,
        object: ObjectId,
    ) -> Result<Tag, StoreError> {
        let other = RecordId { object, ..id };
        self.reached.mark(other)?;
        let mut node = self.from.load(id, tag)?;
        let depth = depth.below(&node)?;
        node.children_mut(id.object, |child, tag| {
            *tag = self.as_another(depth, child, tag, object)?;
            Ok::<(), StoreError>(())
        })?;
        self.seal(other, &node)
    }

    /// Seals a node, unless the earlier copy has it as it is. Returns its tag.
    fn seal(&mut self, id: RecordId, node: &Node) -> Result<Tag, StoreError> {
        if let Some((address, tag)) = self.earlier.and_then(|it| it.same(self.sealer, id, node)) {
            self.count();
            self.kept.push(address);
            return Ok(tag);
        }
        let sealed = self.sealer.seal(id, node)?;
        self.put(sealed)
    }

    fn count(&mut self) {
        self.records = self.records.saturating_add(1);
        if let Some(progress) = &mut self.progress
            && self.records.is_multiple_of(STEP)
        {
            progress(self.records);
        }
    }

    pub(super) fn put(&mut self, sealed: Sealed) -> Result<Tag, StoreError> {
        self.count();
        self.puts.push((sealed.address, sealed.value));
        if self.puts.len() >= BATCH_RECORDS {
            self.flush()?;
        }
        Ok(sealed.tag)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let puts = std::mem::take(&mut self.puts);
        Ok((self.into)(puts)?)
    }
}

/// Reads a tree from its root, each record once.
pub(super) struct ReadBack<'a> {
    from: ReadAhead<'a>,
    reached: Reached,
    in_history: bool,
}

impl<'a> ReadBack<'a> {
    /// Returns the number of records in the tree, the root included.
    pub(super) fn count(
        engine: &'a dyn Engine,
        sealer: &'a Sealer,
        root: &Root,
    ) -> Result<u64, StoreError> {
        let from = ReadAhead::stored(engine, sealer);
        let mut read = Self { from, reached: Reached::default(), in_history: false };
        read.reached.mark(RecordId::ROOT)?;
        read.below(Depth::TOP, RecordId::ROOT, root.clone().into())?;
        Ok(read.reached.count())
    }

    fn below(&mut self, depth: Depth, id: RecordId, mut node: Node) -> Result<(), StoreError> {
        node.children_mut(id.object, |child, tag| {
            self.in_history |= child.kind == Kind::History;
            let marked = self.reached.mark(child);
            let node = self.from.load(child, tag)?;
            if marked.is_err() && self.in_history && is_of_file(child.kind) {
                return Ok(());
            }
            marked?;
            self.below(depth.below(&node)?, child, node)
        })
    }
}

/// Records between two reports of progress.
const STEP: u64 = 128;

/// Whether several entries of a history may lead to a record of this kind.
fn is_of_file(kind: Kind) -> bool {
    matches!(kind, Kind::File | Kind::FileInner | Kind::Chunk)
}
