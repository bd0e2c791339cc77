//! A store in memory that can be crashed, opened again, looked through and changed behind its back.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::model::{Memory, Rules};
use super::ops::{PlannedFault, Setup};
use crate::session::{Open, Session, SessionOptions, StoreError, fuzz};
use crate::tool::{MemoryTool, ToolResult};
use crate::vfs::{EntryKind, FileError};
use inmost_engines::faulty::{Faults, FaultyStorage};
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::record::node::{Entries, Entry, Node, Totals, What};
use inmost_format::record::{NodeSource, ObjectId, RecordError, RecordId, Tag, load_folder};
use inmost_storage::Storage;

/// A place, and what is open on it.
pub(super) struct Store {
    pub(super) place: MemoryStorage,
    rules: Rules,
    open: Option<Handles>,
}

struct Handles {
    session: Session,
    tool: MemoryTool,
    faults: Faults,
    /// The write at which the fault is due, counted from the opening.
    planned: Option<(u64, PlannedFault)>,
}

impl Store {
    /// A new store, unlocked.
    pub(super) fn create(setup: &Setup) -> Self {
        let place = MemoryStorage::default();
        fuzz::create(&place, &passphrase()).unwrap();
        let mut store = Self { place, rules: setup.rules.clone(), open: None };
        store.reopen(setup.cache_bytes, None).unwrap();
        store
    }

    /// Drops whatever is open and unlocks the store again.
    pub(super) fn reopen(
        &mut self,
        cache_bytes: usize,
        fault: Option<PlannedFault>,
    ) -> Result<(), StoreError> {
        self.open = None;
        let storage = FaultyStorage::new(self.place.clone());
        let faults = storage.faults();
        if let Some(planned) = fault {
            faults.set(planned.writes, planned.fault);
        }
        let number = |limit: usize| u64::try_from(limit).unwrap();
        let options = SessionOptions::new()
            .cache_bytes(cache_bytes)
            .file_bytes(number(self.rules.file_bytes))
            .store_files(number(self.rules.store_files))
            .store_bytes(number(self.rules.store_bytes));
        let session = fuzz::unlock(Box::new(storage), options, &passphrase())?;
        let tool = MemoryTool::builder(session.clone())
            .read_only(self.rules.read_only)
            .create_overwrites(self.rules.create_overwrites)
            .view_characters(self.rules.view_characters)
            .ranged_view_characters(self.rules.ranged_view_characters)
            .listing_entries(self.rules.listing_entries)
            .build();
        let planned = fault.map(|planned| (planned.writes, planned));
        self.open = Some(Handles { session, tool, faults, planned });
        Ok(())
    }

    /// Ends the process that holds the store; without power, what is not synced is gone.
    pub(super) fn crash(&mut self, power: bool) {
        if power {
            self.place.crash();
        }
        self.open = None;
    }

    pub(super) fn session(&self) -> &Session {
        &self.handles().session
    }

    pub(super) fn call(&self, json: &str) -> Result<ToolResult, StoreError> {
        self.handles().tool.call(json)
    }

    pub(super) fn fail(&mut self, planned: PlannedFault) {
        let handles = self.open.as_mut().unwrap();
        let at = handles.faults.operations() + planned.writes;
        handles.faults.set(at, planned.fault);
        handles.planned = Some((at, planned));
    }

    /// The fault that has struck since the store was opened.
    pub(super) fn struck(&self) -> Option<PlannedFault> {
        let handles = self.handles();
        let (at, planned) = handles.planned?;
        (handles.faults.operations() >= at).then_some(planned)
    }

    /// Whether a fault is planned.
    pub(super) fn may_fail(&self) -> bool {
        self.handles().planned.is_some()
    }

    fn handles(&self) -> &Handles {
        self.open.as_ref().unwrap()
    }

    /// Every file with its text.
    pub(super) fn contents(&self) -> Result<BTreeMap<String, Arc<str>>, StoreError> {
        let mut contents = BTreeMap::new();
        let mut folders = vec!["/memories".to_owned()];
        let files = self.session().files();
        while let Some(folder) = folders.pop() {
            for entry in files.list(&folder).map_err(store_error)? {
                let path = format!("{folder}/{}", entry.name);
                match entry.kind {
                    EntryKind::Folder => folders.push(path),
                    EntryKind::File { lines, .. } => {
                        let text = files.read(&path).map_err(store_error)?;
                        let text: Arc<str> = text.as_str().into();
                        assert_eq!(entry.bytes, u64::try_from(text.len()).unwrap(), "{path}");
                        let count = super::model::lines(&text).len();
                        assert_eq!(lines, u64::try_from(count).unwrap(), "lines of {path}");
                        contents.insert(path, text);
                    }
                }
            }
        }
        Ok(contents)
    }

    /// Compares counts, texts and structure with the model.
    /// Answers whether something is still to be reaped.
    pub(super) fn check(&self, memory: &Memory) -> bool {
        let status = self.session().status().unwrap();
        assert_eq!(status.files, u64::try_from(memory.files.len()).unwrap());
        assert_eq!(status.bytes, u64::try_from(memory.bytes()).unwrap());
        assert!(self.contents().unwrap() == memory.files, "the files and their texts");
        self.check_records()
    }

    /// Checks the totals of every folder and, once nothing waits to be reaped, that every stored record is reachable.
    fn check_records(&self) -> bool {
        let (reached, reaping) = self
            .session()
            .read(|open| {
                let root = open.root();
                let mut reached = HashSet::from([RecordId::ROOT]);
                totals(open, (root.tree.id, root.tree.tag))?;
                let folders = [(root.tree.id, root.tree.tag), (root.system.id, root.system.tag)];
                for (object, tag) in folders {
                    reach(open, RecordId::folder(object), &tag, &mut reached)?;
                }
                let system = load_folder(open, root.system.id, &root.system.tag)?;
                Ok::<_, StoreError>((reached.len(), system.body.count() > 0))
            })
            .unwrap();
        let generations = self.place.generations().unwrap();
        let [generation] = generations[..] else { panic!("generations {generations:?}") };
        let stored = self.place.with_records(generation, |records| records.len());
        if !reaping {
            assert_eq!(stored, Some(reached), "records that nothing refers to");
        }
        reaping
    }
}

/// The only passphrase of all these stores.
fn passphrase() -> Passphrase {
    Passphrase::new("open").unwrap()
}

pub(super) fn store_error(error: FileError) -> StoreError {
    match error {
        FileError::Store(error) => error,
        other => panic!("what was just listed is not there: {other}"),
    }
}

fn reach(
    open: &Open,
    id: RecordId,
    tag: &Tag,
    reached: &mut HashSet<RecordId>,
) -> Result<(), RecordError> {
    assert!(reached.insert(id), "two references to one record");
    for (child, tag) in children(open.load(id, tag)?, id.object) {
        reach(open, child, &tag, reached)?;
    }
    Ok(())
}

/// What a node refers to, in its order.
pub(super) fn children(mut node: Node, object: ObjectId) -> Vec<(RecordId, Tag)> {
    let mut children = Vec::new();
    let noted: Result<(), RecordError> = node.children_mut(object, |id, tag| {
        children.push((id, *tag));
        Ok(())
    });
    noted.unwrap();
    children
}

/// The totals of a folder from what is below it; they must be what its head says.
fn totals(open: &Open, (object, tag): (ObjectId, Tag)) -> Result<Totals, RecordError> {
    let head = load_folder(open, object, &tag)?;
    let mut entries: Vec<Entry> = Vec::new();
    head.body.visit::<RecordError>(open, object, 0, &mut |_, leaf: &Entries| {
        entries.extend(leaf.0.iter().cloned());
        Ok(true)
    })?;
    let mut sum = Totals::default();
    for entry in &entries {
        let (below, own) = match entry.what {
            What::Folder => (totals(open, (entry.id, entry.tag))?, 0),
            What::File(info) => {
                let bytes = info.bytes;
                (Totals { visible_bytes: bytes, files: 1, bytes, ..Totals::default() }, 1)
            }
        };
        assert!(own == 1 || below.files > 0, "an empty folder");
        sum.files += below.files;
        sum.bytes += below.bytes;
        let name = entry.name.as_str();
        if !name.starts_with('.') && name != "node_modules" {
            sum.visible_children += 1;
            sum.visible_grandchildren += below.visible_children;
            sum.visible_bytes += below.visible_bytes;
        }
    }
    assert_eq!(sum, head.totals);
    Ok(sum)
}
