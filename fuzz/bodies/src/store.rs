//! A store in memory that can crash, be reopened, be searched for lost records, and be modified without its
//! knowledge.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::model::{Memory, Rules};
use crate::naive;
use crate::ops::{PlannedFault, Setup};
use inmost::internals::{self, Committed};
use inmost::{
    EntryKind, FileError, MemoryTool, Session, SessionOptions, StoreError, ToolOptions, ToolResult,
    VaultOptions,
};
use inmost_engines::faulty::{Faults, FaultyStorage};
use inmost_engines::memory::MemoryStorage;
use inmost_format::crypto::cost::{KdfCost, KdfLimits};
use inmost_format::crypto::passphrase::Passphrase;
use inmost_format::record::node::{Entries, Entry, Node, Totals, What};
use inmost_format::record::{Kind, NodeSource, ObjectId, RecordError, RecordId, Tag, load_folder};
use inmost_storage::Storage;

/// A storage with an open session and tool.
pub(crate) struct Store {
    pub(crate) place: MemoryStorage,
    rules: Rules,
    open: Option<Handles>,
    openings: usize,
}

struct Handles {
    session: Session,
    tool: MemoryTool,
    faults: Faults,
    /// The write at which the fault strikes, counted from the opening.
    planned: Option<(u64, PlannedFault)>,
}

impl Store {
    /// A new store, unlocked.
    pub(crate) fn create(setup: &Setup) -> Self {
        let place = MemoryStorage::default();
        internals::create(&options(), &place, &passphrase()).unwrap();
        let mut store = Self { place, rules: setup.rules.clone(), open: None, openings: 0 };
        store.reopen(setup.cache_bytes, None).unwrap();
        store
    }

    /// Drops the session and unlocks the store again.
    pub(crate) fn reopen(
        &mut self,
        cache_bytes: usize,
        fault: Option<PlannedFault>,
    ) -> Result<(), StoreError> {
        self.open = None;
        self.openings += 1;
        let storage = FaultyStorage::new(self.place.clone());
        let faults = storage.faults();
        if let Some(planned) = fault {
            faults.set(planned.writes, planned.fault);
        }
        let number = |limit: usize| u64::try_from(limit).unwrap();
        let session = SessionOptions::new()
            .max_cache_bytes(cache_bytes)
            .max_file_bytes(number(self.rules.file_bytes))
            .max_files(number(self.rules.store_files))
            .max_store_bytes(number(self.rules.store_bytes));
        let mut vault = internals::open(&options().session(session), Arc::new(storage))?;
        let session = vault.unlock(&passphrase())?;
        let tool = MemoryTool::with_options(
            session.clone(),
            ToolOptions::new()
                .read_only(self.rules.read_only)
                .create_overwrites(self.rules.create_overwrites)
                .max_view_characters(self.rules.view_characters)
                .max_range_characters(self.rules.range_characters)
                .max_listing_entries(self.rules.listing_entries),
        );
        let planned = fault.map(|planned| (planned.writes, planned));
        self.open = Some(Handles { session, tool, faults, planned });
        Ok(())
    }

    /// Simulates the end of the process. If the power fails too, unsynced writes are lost.
    pub(crate) fn crash(&mut self, power: bool) {
        if power {
            self.place.crash();
        }
        self.open = None;
    }

    pub(crate) fn session(&self) -> &Session {
        &self.handles().session
    }

    pub(crate) fn call(&self, json: &str) -> Result<ToolResult, StoreError> {
        self.handles().tool.try_run_json(json)
    }

    pub(crate) fn fail(&mut self, planned: PlannedFault) {
        let handles = self.open.as_mut().unwrap();
        let at = handles.faults.operations() + planned.writes;
        handles.faults.set(at, planned.fault);
        handles.planned = Some((at, planned));
    }

    /// The fault that has struck since the store was opened.
    pub(crate) fn struck(&self) -> Option<PlannedFault> {
        let handles = self.handles();
        let (at, planned) = handles.planned?;
        (handles.faults.operations() >= at).then_some(planned)
    }

    /// A number that grows with each write and each opening.
    pub(crate) fn writes(&self) -> (usize, u64) {
        (self.openings, self.handles().faults.operations())
    }

    /// Whether a fault is planned.
    pub(crate) fn may_fail(&self) -> bool {
        self.handles().planned.is_some()
    }

    fn handles(&self) -> &Handles {
        self.open.as_ref().unwrap()
    }

    /// The number of the generation that is in use.
    pub(crate) fn generation(&self) -> u64 {
        let generations = self.place.generations().unwrap();
        let [generation] = generations[..] else { panic!("generations {generations:?}") };
        generation
    }

    /// Every file with its text.
    pub(crate) fn contents(&self) -> Result<BTreeMap<String, Arc<str>>, StoreError> {
        let mut contents = BTreeMap::new();
        let mut folders = vec!["/memories".to_owned()];
        let files = self.session().files();
        while let Some(folder) = folders.pop() {
            for entry in files.list(&folder).map_err(store_error)? {
                let path = format!("{folder}/{}", entry.name);
                match entry.metadata.kind {
                    EntryKind::Folder => folders.push(path),
                    EntryKind::File { lines, .. } => {
                        let text = files.read(&path).map_err(store_error)?;
                        let text: Arc<str> = text.as_str().into();
                        assert_eq!(
                            entry.metadata.bytes,
                            u64::try_from(text.len()).unwrap(),
                            "{path}"
                        );
                        let count = naive::lines(&text).len();
                        assert_eq!(
                            lines,
                            u64::try_from(count).unwrap(),
                            "the line count of {path} differs"
                        );
                        contents.insert(path, text);
                    }
                    other => panic!("{path} is neither a file nor a folder: {other:?}"),
                }
            }
        }
        Ok(contents)
    }

    /// Compares counts, texts and structure with the model. Returns whether records are still waiting to be
    /// reaped.
    pub(crate) fn check(&self, memory: &Memory) -> bool {
        let status = self.session().status().unwrap();
        assert_eq!(status.files, u64::try_from(memory.files.len()).unwrap());
        assert_eq!(status.bytes, u64::try_from(memory.bytes()).unwrap());
        assert!(
            self.contents().unwrap() == memory.files,
            "the files or their texts differ from the model"
        );
        self.check_records()
    }

    /// Checks the totals of every folder and, once no record waits to be reaped, that every stored record is
    /// reachable.
    fn check_records(&self) -> bool {
        let (reached, reaping) =
            internals::read(self.session(), |state| reached_records(state).unwrap()).unwrap();
        let stored = self.place.with_records(self.generation(), |records| records.len());
        if !reaping {
            assert_eq!(stored, Some(reached), "a stored record is unreachable");
        }
        reaping
    }
}

/// Options that make unlocking very cheap. No public function returns such limits.
fn options() -> VaultOptions {
    VaultOptions::new().kdf_cost(COST).kdf_limits(KdfLimits::of_fuzzing())
}

/// The passphrase of every store here.
fn passphrase() -> Passphrase {
    Passphrase::new("open").unwrap()
}

pub(crate) fn store_error(error: FileError) -> StoreError {
    match error {
        FileError::Store(error) => error,
        other => panic!("a listed file cannot be read: {other}"),
    }
}

/// Returns the number of records reachable from the root, and whether some wait to be reaped. Checks the
/// totals.
fn reached_records(state: &Committed<'_>) -> Result<(usize, bool), RecordError> {
    let root = state.root();
    let mut reached = HashSet::from([RecordId::ROOT]);
    totals(state, (root.tree.id, root.tree.tag))?;
    for (object, tag) in [(root.tree.id, root.tree.tag), (root.system.id, root.system.tag)] {
        reach(state, RecordId::folder(object), &tag, &mut reached, false)?;
    }
    if !root.history.is_none() {
        let id = RecordId::history(root.history.id);
        reach(state, id, &root.history.tag, &mut reached, true)?;
    }
    let system = load_folder(state, root.system.id, &root.system.tag)?;
    Ok((reached.len(), system.body.count() > 0))
}

fn reach(
    state: &Committed<'_>,
    id: RecordId,
    tag: &Tag,
    reached: &mut HashSet<RecordId>,
    is_history: bool,
) -> Result<(), RecordError> {
    let is_shared = matches!(id.kind, Kind::File | Kind::FileInner | Kind::Chunk);
    if !reached.insert(id) {
        assert!(is_history && is_shared, "two references to one record");
        return Ok(());
    }
    let node = state.load(id, tag)?;
    for (child, tag) in children(node, id.object) {
        reach(state, child, &tag, reached, is_history)?;
    }
    Ok(())
}

/// The references of a node, in their order.
pub(crate) fn children(mut node: Node, object: ObjectId) -> Vec<(RecordId, Tag)> {
    let mut children = Vec::new();
    let noted: Result<(), RecordError> = node.children_mut(object, |id, tag| {
        children.push((id, *tag));
        Ok(())
    });
    noted.unwrap();
    children
}

/// The totals of a folder, added up from its entries. They must equal the totals in its head.
fn totals(state: &Committed<'_>, (object, tag): (ObjectId, Tag)) -> Result<Totals, RecordError> {
    let head = load_folder(state, object, &tag)?;
    let mut entries: Vec<Entry> = Vec::new();
    head.body.visit::<RecordError>(state, object, 0, &mut |_, leaf: &Entries| {
        entries.extend(leaf.0.iter().cloned());
        Ok(true)
    })?;
    let mut sum = Totals::default();
    for entry in &entries {
        let (below, own) = match entry.what {
            What::Folder => (totals(state, (entry.id, entry.tag))?, 0),
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

/// The cheapest possible key derivation.
pub(crate) const COST: KdfCost = KdfCost::new(8, 1, 1);
