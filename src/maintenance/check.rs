//! Checks a store: reads every record and compares it with the references to it.
//!
//! A check changes nothing. A bad reference affects only the records below it, so the walk continues beside it. Every
//! problem is reported with the names on the way to it.

mod history;
mod unreached;

use std::collections::HashMap;

use self::unreached::is_damage;
use super::bare_records::BareRecords;
use super::check_report::CheckReport;
use crate::session::{ReadAhead, Session, StoreError, Vault, sealer};
use inmost_format::header::Credential;
use inmost_format::record::node::{
    Entries, Entry, FileInfo, Name, Root, Text, TextCount, Totals, What,
};
use inmost_format::record::tree::{Body, Inner, Leaf, Summary};
use inmost_format::record::{
    Depth, Flaw, Kind, Node, NodeSource, ObjectId, RecordError, RecordId, Sealer, Tag,
};
use inmost_storage::{Address, Engine, StorageError};

impl Session {
    /// Checks the whole store: authenticates every record, walks the tree, compares tags, counts and totals, compares
    /// the journal with what it should hold, and counts orphaned records. Changes nothing. Writers wait meanwhile; readers
    /// do not.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], [`StoreError::Io`], [`StoreError::Storage`]. Damage is not an
    /// error here: it is listed in the report.
    ///
    /// # Security
    /// The report contains names in plain strings, which are not wiped.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        self.check_reporting(&mut |_| {})
    }

    /// As [`check`](Session::check), with a callback that gets the number of records read so far; each record is read twice.
    /// It must not use the session: a store that several hosts share is locked meanwhile, and it would wait for itself.
    ///
    /// # Errors
    /// Those of [`check`](Session::check).
    pub fn check_reporting(
        &self,
        progress: &mut dyn FnMut(u64),
    ) -> Result<CheckReport, StoreError> {
        // Runs as the exclusive writer: a writer that waited for the state's lock would block new readers.
        self.exclusive(|_| {
            self.read_everything(|open| {
                let stored = ReadAhead::stored(open.engine(), open.sealer());
                let mut check = Check::new(&stored, open.sealer(), &mut *progress);
                check.journal(open.engine())?;
                check.tree(open.root())?;
                check.records(open.engine())?;
                Ok(check.report)
            })
        })
    }
}

impl Vault {
    /// Checks a store whose engine cannot open its files: searches them for records, and walks the tree below the newest
    /// root that is found. Changes nothing, and does not open the engine. `progress` gets the number of bytes searched, then
    /// that of records read.
    ///
    /// # Errors
    /// Those of [`Vault::unlock`] that concern the header, and an error when reading the store's files.
    ///
    /// # Security
    /// The report contains names in plain strings, which are not wiped.
    pub fn check<'a>(
        &self,
        credential: impl Into<Credential<'a>>,
        mut progress: impl FnMut(u64),
    ) -> Result<CheckReport, StoreError> {
        let (records, keys) = BareRecords::of(self, &credential.into(), &mut progress)?;
        let sealer = sealer(&keys);
        let mut check = Check::new(&records, &sealer, progress);
        match records.root() {
            Some(root) => check.tree(&root)?,
            None => check.problem(&[], Kind::Root, Flaw::Absent.describe()),
        }
        check.report.records = check.seen;
        Ok(check.report)
    }
}

struct Check<'a, P> {
    stored: &'a dyn NodeSource,
    sealer: &'a Sealer,
    report: CheckReport,
    reached: HashMap<Address, Reference>,
    /// Whether the walk is through the tree and the system folder.
    is_in_tree: bool,
    seen: u64,
    progress: P,
}

/// What led to a record.
struct Reference {
    /// The beginning of the tag that it has. With seven bytes, a reference is no larger than a number.
    tag: [u8; 7],
    is_in_tree: bool,
}

impl Reference {
    fn new(tag: &Tag, is_in_tree: bool) -> Self {
        Self { tag: tag.0.first_chunk().copied().unwrap_or_default(), is_in_tree }
    }
}

/// The names on the way to a record, wiped like the records they come from.
type Names = Vec<Name>;

/// The state of the walk through one folder.
struct FolderWalk {
    keeps_totals: bool,
    entries: u64,
    last: Option<Name>,
}

/// The result of a walk below a reference; `None` if a part of it could not be read.
type Walked<T> = Option<T>;

impl<'a, P: FnMut(u64)> Check<'a, P> {
    fn new(stored: &'a dyn NodeSource, sealer: &'a Sealer, progress: P) -> Self {
        let report = CheckReport::default();
        let reached = HashMap::new();
        Self { stored, sealer, report, reached, is_in_tree: true, seen: 0, progress }
    }

    /// Checks what the engine keeps beside the records: the journal.
    fn journal(&mut self, engine: &dyn Engine) -> Result<(), StoreError> {
        match engine.verify() {
            Err(StorageError::Corrupt(_)) => self.report.add(&[], "the journal", "is damaged"),
            verified => verified?,
        }
        Ok(())
    }

    fn tree(&mut self, root: &Root) -> Result<(), StoreError> {
        self.reached.insert(
            self.sealer.address(RecordId::ROOT),
            Reference { tag: [0; 7], is_in_tree: true },
        );
        let mut names = Names::new();
        let tree = RecordId::folder(root.tree.id);
        let totals = self.folder(&mut names, Depth::TOP, tree, &root.tree.tag, true)?;
        if totals.is_some_and(|totals| (totals.files, totals.bytes) != (root.files, root.bytes)) {
            self.problem(&names, Kind::Root, "has totals that differ from its tree");
        }
        // Totals are not kept for objects that are being reaped.
        let system = RecordId::folder(root.system.id);
        self.folder(&mut names, Depth::TOP, system, &root.system.tag, false)?;
        self.is_in_tree = false;
        self.history(root)?;
        self.ledger(root)
    }

    /// Walks a folder and returns its totals as they should be.
    fn folder(
        &mut self,
        names: &mut Names,
        depth: Depth,
        id: RecordId,
        tag: &Tag,
        keeps_totals: bool,
    ) -> Result<Walked<Totals>, StoreError> {
        let Some((depth, Node::Folder(folder))) = self.load(names, depth, id, tag)? else {
            return Ok(None);
        };
        let mut run = FolderWalk { keeps_totals, entries: 0, last: None };
        let totals = match &folder.body {
            Body::Inline(entries) => self.leaf(names, depth, entries, &mut run)?,
            Body::Tree(inner) => self.inner(names, depth, id.object, inner, &mut run)?,
        };
        if keeps_totals && totals.is_some_and(|totals| totals != folder.totals) {
            self.problem(names, Kind::Folder, "has totals that differ from its content");
        }
        Ok(totals)
    }

    fn inner(
        &mut self,
        names: &mut Names,
        depth: Depth,
        object: ObjectId,
        inner: &Inner<<Entries as Leaf>::Summary>,
        run: &mut FolderWalk,
    ) -> Result<Walked<Totals>, StoreError> {
        let mut sum = Some(Totals::default());
        for (id, tag, summary) in inner.children::<Entries>(object) {
            let below = match self.load(names, depth, id, tag)? {
                Some((depth, Node::FolderLeaf(entries))) => {
                    if entries.summary() != *summary {
                        self.problem(names, Kind::FolderInner, MISCOUNT);
                    }
                    self.leaf(names, depth, &entries, run)?
                }
                Some((depth, Node::FolderInner(inner))) => {
                    let before = run.entries;
                    let below = self.inner(names, depth, object, &inner, run)?;
                    // An unreadable part below is reported already, and its entries are not in the count.
                    let count = below.map_or(summary.count, |_| run.entries - before);
                    let first = inner.children::<Entries>(object).next();
                    let is_first = first.is_some_and(|(_, _, first)| first.first == summary.first);
                    if count != summary.count || !is_first {
                        self.problem(names, Kind::FolderInner, MISCOUNT);
                    }
                    below
                }
                _ => None,
            };
            sum = sum.zip(below).map(|(sum, below)| sum.plus(&below));
        }
        Ok(sum)
    }

    fn leaf(
        &mut self,
        names: &mut Names,
        depth: Depth,
        entries: &Entries,
        run: &mut FolderWalk,
    ) -> Result<Walked<Totals>, StoreError> {
        // Names must also follow those of the previous leaf: a search descends into the leaf whose range covers the
        // name.
        let in_order = run.last.iter().chain(entries.0.iter().map(|entry| &entry.name));
        if !in_order.is_sorted_by(|left, right| left.as_str() < right.as_str()) {
            self.problem(names, Kind::FolderLeaf, "has names out of order");
        }
        run.last = entries.0.last().map(|entry| entry.name.clone()).or(run.last.take());
        run.entries = run.entries.saturating_add(entries.summary().count);
        let mut sum = Some(Totals::default());
        for entry in &entries.0 {
            names.push(entry.name.clone());
            let below = self.entry(names, depth, entry, run.keeps_totals);
            names.pop();
            sum = sum.zip(below?).map(|(sum, below)| sum.plus(&below));
        }
        Ok(sum)
    }

    /// Walks the object of an entry and returns its share of the folder's totals.
    fn entry(
        &mut self,
        names: &mut Names,
        depth: Depth,
        entry: &Entry,
        keeps_totals: bool,
    ) -> Result<Walked<Totals>, StoreError> {
        let added = match entry.what {
            What::Folder => {
                let below = self.folder(names, depth, entry.head(), &entry.tag, keeps_totals)?;
                below.map(|below| Totals::of_folder(&entry.name, &below))
            }
            What::File(info) => {
                let whole = self.file(names, depth, entry, &info, keeps_totals)?;
                whole.then(|| Totals::of_file(&entry.name, info.bytes))
            }
        };
        Ok(added)
    }

    fn file(
        &mut self,
        names: &mut Names,
        depth: Depth,
        entry: &Entry,
        info: &FileInfo,
        is_whole: bool,
    ) -> Result<bool, StoreError> {
        let Some((depth, Node::File(file))) = self.load(names, depth, entry.head(), &entry.tag)?
        else {
            return Ok(false);
        };
        let mut is_closed = false;
        let count = match &file.body {
            Body::Inline(text) => {
                is_closed = text.as_str().ends_with('\n');
                Some(text.summary())
            }
            Body::Tree(inner) => self.rope(names, depth, entry.id, inner, &mut is_closed)?,
        };
        let Some(count) = count else { return Ok(false) };
        let lines = count.newlines.saturating_add(u64::from(count.bytes > 0 && !is_closed));
        // A file that is being reaped is shorter than its entry says.
        if is_whole {
            if (count.bytes, lines) != (info.bytes, info.lines) {
                self.problem(names, Kind::File, "differs in size from its entry in the folder");
            }
            self.report.files = self.report.files.saturating_add(1);
            self.report.bytes = self.report.bytes.saturating_add(count.bytes);
        }
        Ok(true)
    }

    fn rope(
        &mut self,
        names: &mut Names,
        depth: Depth,
        object: ObjectId,
        inner: &Inner<TextCount>,
        is_closed: &mut bool,
    ) -> Result<Walked<TextCount>, StoreError> {
        let mut sum = Some(TextCount::default());
        for (id, tag, summary) in inner.children::<Text>(object) {
            let below = match self.load(names, depth, id, tag)? {
                Some((_, Node::Chunk(text))) => {
                    *is_closed = text.as_str().ends_with('\n');
                    Some(text.summary())
                }
                Some((depth, Node::FileInner(inner))) => {
                    self.rope(names, depth, object, &inner, is_closed)?
                }
                _ => None,
            };
            if below.is_some_and(|below| below != summary.count()) {
                self.problem(names, Kind::FileInner, MISCOUNT);
            }
            sum = sum.zip(below).map(|(mut sum, below)| {
                sum += below;
                sum
            });
        }
        Ok(sum)
    }

    /// Reads a record at `depth` from the engine, bypassing the cache.
    fn load(
        &mut self,
        names: &[Name],
        depth: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> Result<Walked<(Depth, Node)>, StoreError> {
        self.step();
        let reference = Reference::new(tag, self.is_in_tree);
        let reached = self.reached.insert(self.sealer.address(id), reference);
        let is_new = reached.is_none();
        let loaded = if is_new {
            self.stored.load(id, tag).and_then(|node| Ok((depth.below(&node)?, node)))
        } else {
            Err(RecordError::Damaged { kind: id.kind, flaw: Flaw::Repeated })
        };
        match loaded {
            Ok(found) => Ok(Some(found)),
            Err(RecordError::Damaged { kind, flaw }) => {
                self.problem(names, kind, flaw.describe());
                Ok(None)
            }
            Err(RecordError::Storage(error)) if is_damage(&error) => {
                self.problem(names, id.kind, "cannot be read");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn problem(&mut self, names: &[Name], kind: Kind, how: &'static str) {
        self.report.add(names, kind.describe(), how);
    }

    fn step(&mut self) {
        self.seen = self.seen.saturating_add(1);
        (self.progress)(self.seen);
    }
}

const MISCOUNT: &str = "has wrong counts of its children";
