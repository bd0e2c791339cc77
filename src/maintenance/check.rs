//! Reading everything and comparing it with what refers to it.
//!
//! Changes nothing. A reference that fails condemns only what hangs below it, so the walk goes on beside it, and every
//! problem is reported with the names that lead to it.

use std::collections::HashSet;

use crate::session::{Open, Session, StoreError, open};
use inmost_format::record::node::{Entries, Entry, FileInfo, Name, Text, TextCount, Totals, What};
use inmost_format::record::tree::{Body, Inner, Leaf, Summary};
use inmost_format::record::{Depth, Flaw, Kind, Node, ObjectId, RecordError, RecordId, Tag};
use inmost_storage::Address;

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CheckReport {
    /// Records read.
    pub records: u64,
    /// Files reached.
    pub files: u64,
    /// Bytes of text reached.
    pub bytes: u64,
    /// Intact records that nothing refers to: harmless, and gone with the next purge.
    pub orphans: u64,
    /// What is wrong, in the order in which it was found; the first 10,000.
    pub problems: Vec<StoreProblem>,
    /// How many problems were found after those.
    pub unlisted: u64,
}

/// One thing that is wrong with a store.
///
/// # Security
/// The names are plain strings, for the application to show: nothing wipes them.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoreProblem {
    /// The names that lead to it from the root; empty for what no name leads to.
    pub names: Vec<String>,
    /// What it concerns, in general words.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub what: &'static std::primitive::str,
    /// What is wrong.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "crate::session::phrase"))]
    pub how: &'static std::primitive::str,
}

impl Session {
    /// Authenticates every record, walks the whole tree, compares tags, counts and totals, and looks for records that
    /// nothing refers to. Changes nothing; writers wait meanwhile, readers do not.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Halted`], [`StoreError::Io`], [`StoreError::Storage`]. Damage is no error here
    /// but the content of the report.
    ///
    /// # Security
    /// The report holds names, in plain strings that nothing wipes.
    pub fn check(&self) -> Result<CheckReport, StoreError> {
        self.check_telling(&mut |_| {})
    }

    pub(super) fn check_telling(
        &self,
        progress: &mut dyn FnMut(u64),
    ) -> Result<CheckReport, StoreError> {
        // As the only writer: one that waited for the state would keep new readers waiting too.
        self.exclusive(|_| {
            self.read(|open| {
                let mut check = Check {
                    open,
                    report: CheckReport::default(),
                    reached: HashSet::new(),
                    seen: 0,
                    progress,
                };
                check.tree()?;
                check.records()?;
                Ok(check.report)
            })
        })
    }
}

struct Check<'a, P> {
    open: &'a Open,
    report: CheckReport,
    reached: HashSet<Address>,
    seen: u64,
    progress: P,
}

/// The names that lead to a record, wiped like the records they come from.
type Names = Vec<Name>;

/// The entries of one folder, as far as it was walked.
struct Run {
    keeps_totals: bool,
    entries: u64,
    last: Option<Name>,
}

/// What was found below a reference; `None` if a part of it could not be read.
type Found<T> = Option<T>;

impl<P: FnMut(u64)> Check<'_, P> {
    fn tree(&mut self) -> Result<(), StoreError> {
        let root = self.open.root().clone();
        self.reached.insert(self.open.sealer().address(RecordId::ROOT));
        let mut names = Names::new();
        let tree = RecordId::folder(root.tree.id);
        let totals = self.folder(&mut names, Depth::TOP, tree, &root.tree.tag, true)?;
        if totals.is_some_and(|totals| (totals.files, totals.bytes) != (root.files, root.bytes)) {
            self.problem(&names, Kind::Root, "does not have the totals of its tree");
        }
        // What is being reaped keeps no totals.
        let system = RecordId::folder(root.system.id);
        self.folder(&mut names, Depth::TOP, system, &root.system.tag, false)?;
        Ok(())
    }

    /// Authenticates the records that the walk did not reach.
    fn records(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.open.engine().scan(after.as_ref(), PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(*last);
            for (address, value) in page {
                self.step();
                self.report.records = self.report.records.saturating_add(1);
                if self.reached.contains(&address) {
                    continue;
                }
                match self.open.sealer().open_any(&address, &value) {
                    Ok(_) => self.report.orphans = self.report.orphans.saturating_add(1),
                    Err(flaw) => {
                        self.report.add(&[], "a record that nothing refers to", flaw.describe());
                    }
                }
            }
        }
    }

    /// Walks a folder and answers its totals as they should be.
    fn folder(
        &mut self,
        names: &mut Names,
        place: Depth,
        id: RecordId,
        tag: &Tag,
        keeps_totals: bool,
    ) -> Result<Found<Totals>, StoreError> {
        let Some((place, Node::Folder(folder))) = self.load(names, place, id, tag)? else {
            return Ok(None);
        };
        let mut run = Run { keeps_totals, entries: 0, last: None };
        let totals = match &folder.body {
            Body::Inline(entries) => self.leaf(names, place, entries, &mut run)?,
            Body::Tree(inner) => self.inner(names, place, id.object, inner, &mut run)?,
        };
        if keeps_totals && totals.is_some_and(|totals| totals != folder.totals) {
            self.problem(names, Kind::Folder, "does not have the totals of what it holds");
        }
        Ok(totals)
    }

    fn inner(
        &mut self,
        names: &mut Names,
        place: Depth,
        object: ObjectId,
        inner: &Inner<<Entries as Leaf>::Summary>,
        run: &mut Run,
    ) -> Result<Found<Totals>, StoreError> {
        let mut sum = Some(Totals::default());
        for (id, tag, summary) in inner.children::<Entries>(object) {
            let below = match self.load(names, place, id, tag)? {
                Some((place, Node::FolderLeaf(entries))) => {
                    if entries.summary() != *summary {
                        self.problem(names, Kind::FolderInner, MISCOUNT);
                    }
                    self.leaf(names, place, &entries, run)?
                }
                Some((place, Node::FolderInner(inner))) => {
                    let before = run.entries;
                    let below = self.inner(names, place, object, &inner, run)?;
                    // What could not be read below is a problem already, and missing from the count.
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
        place: Depth,
        entries: &Entries,
        run: &mut Run,
    ) -> Result<Found<Totals>, StoreError> {
        // After those of the leaf before: a search goes to the leaf in which the name would have its place.
        let in_order = run.last.iter().chain(entries.0.iter().map(|entry| &entry.name));
        if !in_order.is_sorted_by(|left, right| left.as_str() < right.as_str()) {
            self.problem(names, Kind::FolderLeaf, "has names out of order");
        }
        run.last = entries.0.last().map(|entry| entry.name.clone()).or(run.last.take());
        run.entries = run.entries.saturating_add(entries.summary().count);
        let mut sum = Some(Totals::default());
        for entry in &entries.0 {
            names.push(entry.name.clone());
            let below = self.entry(names, place, entry, run.keeps_totals);
            names.pop();
            sum = sum.zip(below?).map(|(sum, below)| sum.plus(&below));
        }
        Ok(sum)
    }

    /// Walks what an entry refers to and answers what it adds to the totals of its folder.
    fn entry(
        &mut self,
        names: &mut Names,
        place: Depth,
        entry: &Entry,
        keeps_totals: bool,
    ) -> Result<Found<Totals>, StoreError> {
        let added = match entry.what {
            What::Folder => {
                let below = self.folder(names, place, entry.head(), &entry.tag, keeps_totals)?;
                below.map(|below| Totals::of_folder(&entry.name, &below))
            }
            What::File(info) => {
                let whole = self.file(names, place, entry, &info, keeps_totals)?;
                whole.then(|| Totals::of_file(&entry.name, info.bytes))
            }
        };
        Ok(added)
    }

    fn file(
        &mut self,
        names: &mut Names,
        place: Depth,
        entry: &Entry,
        info: &FileInfo,
        is_whole: bool,
    ) -> Result<bool, StoreError> {
        let Some((place, Node::File(file))) = self.load(names, place, entry.head(), &entry.tag)?
        else {
            return Ok(false);
        };
        let mut is_closed = false;
        let count = match &file.body {
            Body::Inline(text) => {
                is_closed = text.as_str().ends_with('\n');
                Some(text.summary())
            }
            Body::Tree(inner) => self.rope(names, place, entry.id, inner, &mut is_closed)?,
        };
        let Some(count) = count else { return Ok(false) };
        let lines = count.newlines.saturating_add(u64::from(count.bytes > 0 && !is_closed));
        // A file that is being taken apart is shorter than its entry says.
        if is_whole {
            if (count.bytes, lines) != (info.bytes, info.lines) {
                self.problem(names, Kind::File, "does not have the size its folder says");
            }
            self.report.files = self.report.files.saturating_add(1);
            self.report.bytes = self.report.bytes.saturating_add(count.bytes);
        }
        Ok(true)
    }

    fn rope(
        &mut self,
        names: &mut Names,
        place: Depth,
        object: ObjectId,
        inner: &Inner<TextCount>,
        is_closed: &mut bool,
    ) -> Result<Found<TextCount>, StoreError> {
        let mut sum = Some(TextCount::default());
        for (id, tag, summary) in inner.children::<Text>(object) {
            let below = match self.load(names, place, id, tag)? {
                Some((_, Node::Chunk(text))) => {
                    *is_closed = text.as_str().ends_with('\n');
                    Some(text.summary())
                }
                Some((place, Node::FileInner(inner))) => {
                    self.rope(names, place, object, &inner, is_closed)?
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

    /// Reads a record, to which one at `place` refers, from the engine, whatever the cache has.
    fn load(
        &mut self,
        names: &[Name],
        place: Depth,
        id: RecordId,
        tag: &Tag,
    ) -> Result<Found<(Depth, Node)>, StoreError> {
        self.step();
        let is_new = self.reached.insert(self.open.sealer().address(id));
        let loaded = if is_new {
            open::fetch(self.open.engine(), self.open.sealer(), id, tag)
                .and_then(|(node, _)| Ok((place.below(&node)?, node)))
        } else {
            Err(RecordError::Damaged { kind: id.kind, flaw: Flaw::Repeated })
        };
        match loaded {
            Ok(found) => Ok(Some(found)),
            Err(RecordError::Damaged { kind, flaw }) => {
                self.problem(names, kind, flaw.describe());
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

impl std::fmt::Debug for StoreProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Names are what the store hides.
        write!(f, "{} {} at depth {}", self.what, self.how, self.names.len())
    }
}

impl StoreProblem {
    pub(super) fn new(names: &[Name], what: &'static str, how: &'static str) -> Self {
        let names = names.iter().map(|name| name.as_str().to_owned()).collect();
        Self { names, what, how }
    }
}

/// Adds to a list of what is wrong while it is short, and counts what comes after.
pub(crate) fn list<T>(listed: &mut Vec<T>, unlisted: &mut u64, item: impl FnOnce() -> T) {
    if listed.len() < LISTED {
        listed.push(item());
    } else {
        *unlisted = unlisted.saturating_add(1);
    }
}

impl CheckReport {
    fn add(&mut self, names: &[Name], what: &'static str, how: &'static str) {
        list(&mut self.problems, &mut self.unlisted, || StoreProblem::new(names, what, how));
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Problems in one report. Each may hold a path, and a crafted store can have as many as references.
const LISTED: usize = 10_000;
/// Records read at once.
const PAGE: usize = 64;
const MISCOUNT: &str = "counts what it refers to wrongly";
