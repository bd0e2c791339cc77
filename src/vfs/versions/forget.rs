//! Forgets versions: nothing of them stays that can be read.
//!
//! What is forgotten of a file is always the old end of its versions: all of them, or those up to a given one. So it is cut where
//! trimming cuts, and no record that a later version needs goes with it. The entry after the cut keeps what its change made, and
//! loses the text and the old path of the version before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use inmost_format::record::history::{Before, Operation, Version};
use inmost_format::record::node::{Entry, File, FileInfo, Name, What};
use inmost_format::record::{NodeSink, ObjectId, RecordId, load_file, load_folder};
use inmost_format::secret::Wiped;

use super::entries::{Past, below};
use super::find::{inside_path, path_in_tree, visit_files};
use super::forget_search::Search;
use crate::session::history;
use crate::session::{Exclusive, Forgets, Session, StoreError, Txn, reap};
use crate::vfs::arrange;
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;

/// Forgets what is or was at or below a path: every version, or those up to and including one. Returns the number of entries
/// removed.
///
/// # Errors
/// Those of [`History::forget`](crate::History::forget).
pub(crate) fn forget(
    session: &Session,
    path: &MemoryPath,
    until: Option<u64>,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, FileError> {
    let is_synchronised = session.is_synchronised()?;
    session.undisturbed(|exclusive| {
        let (found, current) = exclusive.commit(|txn| {
            let found = Found::search(txn, path, until)?;
            let current = if is_synchronised { current(txn, path)? } else { BTreeSet::new() };
            Ok::<_, FileError>((found, current))
        })?;
        if is_synchronised {
            note(session, found.files.union(&current), until)?;
        }
        found.remove_in_steps(exclusive, progress)
    })
}

/// Forgets what synchronisation has learned that it is to be forgotten: versions of these files, up to and including one.
///
/// # Errors
/// [`FileError::Store`].
pub(crate) fn forget_files(
    session: &Session,
    files: &BTreeSet<u64>,
    until: u64,
) -> Result<(), FileError> {
    session.undisturbed(|exclusive| {
        let found = exclusive.commit(|txn| {
            let mut found = Found::default();
            found.fill(txn, Search::of_files(files.clone(), until), false)?;
            Ok::<_, FileError>(found)
        })?;
        found.remove_in_steps(exclusive, &mut |_| {}).map(drop)
    })
}

/// Notes for other devices what is forgotten. Even if it is no file that is known here, they are to renew what they have published.
fn note<'f>(
    session: &Session,
    files: impl Iterator<Item = &'f u64>,
    until: Option<u64>,
) -> Result<(), FileError> {
    let until = until.unwrap_or(u64::MAX);
    let forgets: Forgets = [(0, 0)].into_iter().chain(files.map(|file| (*file, until))).collect();
    Ok(session.note_forgets(&forgets)?)
}

/// The current files at or below a path. The history need not know them.
fn current(txn: &Txn<'_>, path: &MemoryPath) -> Result<BTreeSet<u64>, FileError> {
    let tree = txn.root()?.tree;
    let mut files = BTreeSet::new();
    visit_files(txn, (tree.id, tree.tag), &mut |at, info| {
        if below(&path_in_tree(&at), path.as_str()).is_some() {
            files.insert(info.number);
        }
        true
    })?;
    Ok(files)
}

/// Forgets, in several commits, what an edit of a file or a deletion has too many versions of to forget in its own.
///
/// # Errors
/// [`FileError::Store`].
pub(crate) fn forget_first(
    session: &Session,
    path: &MemoryPath,
    deletes: bool,
) -> Result<(), FileError> {
    session.undisturbed(|exclusive| {
        let found = exclusive.commit(|txn| {
            if deletes {
                return Found::search(txn, &MemoryPath::parse(&path.in_store())?, None);
            }
            Found::file(txn, path)
        })?;
        found.remove_in_steps(exclusive, &mut |_| {}).map(drop)
    })
}

/// Forgets the versions of a file before the change of this call, if its author keeps none.
///
/// # Errors
/// [`StoreError::TooLarge`] if they are too many for this commit: [`forget_first`] removes them in several. [`FileError::Store`] if a
/// part of the history cannot be read.
pub(crate) fn forget_before(txn: &mut Txn<'_>) -> Result<(), FileError> {
    if txn.caller().keeps_texts() {
        return Ok(());
    }
    let number = txn.number()?;
    let root = txn.root()?;
    let chain = {
        let Some(past) = Past::open(&*txn, &root, 0)? else { return Ok(()) };
        let Some(entry) = past.entry(number)? else { return Ok(()) };
        chain(&past, entry.previous)?
    };
    let mut forgotten = Vec::new();
    if cost_of(&chain) > RECORDS_A_STEP {
        return Err(StoreError::TooLarge.into());
    }
    for earlier in &chain {
        remove(txn, earlier.number, &Part::Entry, &mut forgotten)?;
    }
    remove(txn, number, &Part::Before, &mut forgotten)?;
    if forgotten.len() > MOST_NOTED {
        return Err(StoreError::TooLarge.into());
    }
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    history.edit(txn, object, number, |entry| {
        entry.forgotten = forgotten;
        true
    })?;
    Ok(txn.set_history(object, history)?)
}

/// Deletes a file or folder, and forgets every version of what is or was at or below its path, in one commit.
///
/// # Errors
/// Those of [`arrange::delete`]; [`StoreError::TooLarge`] if the versions are too many for one commit: [`forget_first`] removes them
/// in several; [`FileError::Store`] if a part of the history cannot be read. Nothing is deleted then.
pub(crate) fn delete(session: &Session, path: &MemoryPath) -> Result<(), FileError> {
    let is_synchronised = session.is_synchronised()?;
    let mut files = BTreeSet::new();
    session.write(|txn| {
        if is_synchronised {
            files = current(txn, &MemoryPath::parse(&path.in_store())?)?;
        }
        if !txn.keeps_versions()? {
            return arrange::delete_in(txn, path);
        }
        let entry = arrange::take(txn, path)?;
        let mut forgotten = vec![entry.id];
        reap::remove(txn, entry)?;
        // A path in a subtree is another one in the whole store.
        let found = Found::search(txn, &MemoryPath::parse(&path.in_store())?, None)?;
        if let Some(damage) = found.damage {
            return Err(damage);
        }
        if cost_of(&found.removals).saturating_add(found.live.len()) > RECORDS_A_STEP {
            return Err(StoreError::TooLarge.into());
        }
        for path in &found.live {
            renew(txn, path)?;
        }
        apply(txn, &found.removals, &mut forgotten)?;
        files.extend(&found.files);
        Ok(txn.note_forgotten(forgotten)?)
    })?;
    // Nobody has been told of the deletion before this is durable.
    if is_synchronised { session.exclusive(|_| note(session, files.iter(), None)) } else { Ok(()) }
}

/// What is to be forgotten.
#[derive(Default)]
pub(super) struct Found {
    /// The numbers of the files.
    files: BTreeSet<u64>,
    /// In the order in which it is removed.
    removals: Vec<Removal>,
    /// The paths of the files that stay in the tree.
    live: Vec<MemoryPath>,
    /// A deleted folder or a part of the history cannot be read, so that something may be left.
    damage: Option<FileError>,
}

/// One entry of the history that changes.
pub(super) struct Removal {
    number: u64,
    part: Part,
    /// Records that change with it.
    cost: usize,
}

/// What goes from an entry.
pub(super) enum Part {
    /// The entry, with all that it holds.
    Entry,
    /// Text and path before the change.
    Before,
    /// The path before the move of a folder.
    OldPath,
    /// What was at this path below a deleted folder.
    Inside(Wiped<String>),
}

impl Found {
    fn search(txn: &Txn<'_>, path: &MemoryPath, until: Option<u64>) -> Result<Self, FileError> {
        let mut found = Self::default();
        if let Some(until) = until
            && let Some(past) = Past::open(txn, &txn.root()?, 0)?
            && past.newest()?.is_some_and(|newest| newest < until)
        {
            return Err(FileError::NoSuchVersion(until));
        }
        // Where everything goes, the entries go with all that they hold.
        let is_all = path.is_root() && until.is_none();
        found.fill(txn, Search::new(path, until.unwrap_or(u64::MAX)), is_all)?;
        Ok(found)
    }

    fn fill(
        &mut self,
        txn: &Txn<'_>,
        mut search: Search<'_>,
        is_all: bool,
    ) -> Result<(), FileError> {
        let found = self;
        let root = txn.root()?;
        let until = search.until;
        // Entries whose time is over but that were not removed yet are forgotten too.
        let Some(past) = Past::open(txn, &root, 0)? else { return Ok(()) };
        let (is_lost, unread) = past.visit_readable(&mut |version| search.step(version))?;
        found.damage = if is_all { None } else { search.look_inside(txn)? }.or(unread);
        if !is_lost {
            search.add_folders_of_files();
        }
        let mut inside: BTreeMap<u64, Vec<Removal>> = BTreeMap::new();
        let (mut last, mut cuts) = (HashMap::new(), Vec::new());
        past.visit_readable(&mut |version| {
            if !search.concerns(version) {
                return;
            }
            if version.number <= until {
                last.insert(version.file, version.number);
                found.removals.push(Removal::of(version, Part::Entry));
            } else if let Some(part) = search.cut(version) {
                cuts.push(Removal::of(version, part));
            }
        })?;
        // What a deleted folder holds of a file goes with the file's last entry: without its entries, nothing might say that it was at
        // the path, and older heads that they hold may share its records.
        for (holder, file, below) in std::mem::take(&mut search.inside) {
            let place = last.get(&file).copied().unwrap_or(u64::MAX);
            // It goes in the step of that entry.
            let cost = if place == u64::MAX { COST } else { 0 };
            let removal = Removal { number: holder, part: Part::Inside(below), cost };
            inside.entry(place).or_default().push(removal);
        }
        let mut removals = Vec::new();
        for removal in found.removals.drain(..) {
            let number = removal.number;
            removals.push(removal);
            removals.extend(inside.remove(&number).unwrap_or_default());
        }
        removals.extend(inside.into_values().flatten());
        removals.append(&mut cuts);
        found.removals = removals;
        let mut live = HashMap::new();
        for file in &search.files {
            let path = search.paths.get(file).and_then(|path| MemoryPath::parse(path).ok());
            if let Some(path) = path
                && let Some((_, info)) = ResolvedPath::new(txn, &root, &path)?.target.file()
                && info.number == *file
            {
                live.insert(*file, path);
            }
        }
        if is_lost && search.files.iter().any(|file| !live.contains_key(file)) {
            // A lost entry may have moved them.
            let visited = visit_files(txn, (root.tree.id, root.tree.tag), &mut |below, info| {
                if search.files.contains(&info.number)
                    && let Ok(path) = MemoryPath::parse(&path_in_tree(&below))
                {
                    live.insert(info.number, path);
                }
                true
            });
            match visited {
                Err(error @ FileError::Store(StoreError::Tampered { .. })) => {
                    found.damage = Some(error);
                }
                visited => visited?,
            }
        }
        found.live = live.into_values().collect();
        found.files = search.files;
        Ok(())
    }

    /// Every version of the file at a path.
    fn file(txn: &Txn<'_>, path: &MemoryPath) -> Result<Self, FileError> {
        let root = txn.root()?;
        let mut found = Self::default();
        if let Some((_, info)) = ResolvedPath::new(txn, &root, path)?.target.file()
            && let Some(past) = Past::open(txn, &root, 0)?
        {
            found.removals = chain(&past, info.version)?;
            found.live.push(path.clone());
        }
        Ok(found)
    }

    /// Removes all of it, in steps of a bounded number of records. Returns the number of entries removed.
    fn remove_in_steps(
        self,
        exclusive: &mut Exclusive<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, FileError> {
        // First the files that stay. After a crash they would not be found again without their entries.
        for path in &self.live {
            exclusive.commit(|txn| renew(txn, path))?;
        }
        let mut removed = 0_u64;
        let mut rest = self.removals.as_slice();
        while !rest.is_empty() {
            let mut cost = 0_usize;
            let fits = rest.iter().enumerate().take_while(|(index, removal)| {
                cost = cost.saturating_add(removal.cost);
                *index == 0 || cost <= RECORDS_A_STEP || removal.cost == 0
            });
            let (step, after) = rest.split_at(fits.count().max(1));
            exclusive.commit(|txn| {
                let mut forgotten = Vec::new();
                apply(txn, step, &mut forgotten)?;
                if !forgotten.is_empty() {
                    txn.note_forgotten(forgotten)?;
                }
                Ok::<_, FileError>(())
            })?;
            exclusive.reap()?;
            let gone = step.iter().filter(|removal| matches!(removal.part, Part::Entry)).count();
            removed = removed.saturating_add(u64::try_from(gone).unwrap_or(u64::MAX));
            progress(removed);
            rest = after;
        }
        self.damage.map_or(Ok(removed), Err)
    }
}

impl Removal {
    fn of(version: &Version, part: Part) -> Self {
        Self { number: version.number, part, cost: version.retired.len().saturating_add(COST) }
    }
}

/// The entries of a file, oldest first, up to the one of this number.
fn chain(past: &Past<'_, Txn<'_>>, newest: u64) -> Result<Vec<Removal>, FileError> {
    let (mut found, mut next) = (Vec::new(), newest);
    while next > 0
        && let Some(entry) = past.entry(next)?
    {
        found.push(Removal::of(&entry, Part::Entry));
        // Numbers fall, so a forged chain has an end.
        next = if entry.previous < next { entry.previous } else { 0 };
    }
    found.reverse();
    Ok(found)
}

fn cost_of(removals: &[Removal]) -> usize {
    removals.iter().map(|removal| removal.cost).sum()
}

/// Changes entries. Adds the objects that go with them, so that no repair brings them back.
fn apply(
    txn: &mut Txn<'_>,
    removals: &[Removal],
    forgotten: &mut Vec<ObjectId>,
) -> Result<(), FileError> {
    for removal in removals {
        match &removal.part {
            Part::Inside(below) => {
                if let Some(entry) = take_inside(txn, removal.number, below)? {
                    forgotten.push(entry.id);
                    reap::remove(txn, entry)?;
                }
            }
            part => remove(txn, removal.number, part, forgotten)?,
        }
    }
    Ok(())
}

/// Removes an entry and everything that it holds, or a part of both.
fn remove(
    txn: &mut Txn<'_>,
    number: u64,
    part: &Part,
    forgotten: &mut Vec<ObjectId>,
) -> Result<(), FileError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let mut released = None;
    history.edit(txn, object, number, |entry| {
        entry.old_path = Name::new("");
        if matches!(part, Part::OldPath) {
            return true;
        }
        let before = std::mem::replace(&mut entry.before, Before::Nothing);
        released = Some((before, std::mem::take(&mut entry.retired)));
        forgotten.append(&mut entry.forgotten);
        entry.held = 0;
        matches!(part, Part::Before)
    })?;
    txn.set_history(object, history)?;
    if let Some((before, retired)) = released {
        if let Before::Object(entry) = &before {
            forgotten.push(entry.id);
        }
        history::release(txn, before, &retired)?;
    }
    Ok(())
}

/// Takes out what is at a path below the folder that an entry holds. The records are left to the caller.
fn take_inside(txn: &mut Txn<'_>, holder: u64, below: &str) -> Result<Option<Entry>, FileError> {
    // Nothing is put into the transaction before it is sure that something changes.
    let root = txn.root()?;
    let Some(past) = Past::open(&*txn, &root, 0)? else { return Ok(None) };
    let Some(mut holding) = past.entry(holder)? else { return Ok(None) };
    let Before::Object(held) = std::mem::replace(&mut holding.before, Before::Nothing) else {
        return Ok(None);
    };
    let Some((root, path)) = inside_path(&root, &held, below) else { return Ok(None) };
    let resolved = ResolvedPath::new(txn, &root, &path)?;
    let Target::Entry(entry) = &resolved.target else { return Ok(None) };
    let Some((object, mut history)) = txn.history()? else { return Ok(None) };
    folder::remove(txn, &path, &resolved)?;
    let bytes = match entry.what {
        What::File(info) => info.bytes,
        What::Folder => load_folder(txn, entry.id, &entry.tag)?.totals.bytes,
    };
    // The entry is written again in any case, because the tag of its folder changes.
    history.edit(txn, object, holder, |version| {
        version.held = version.held.saturating_sub(bytes);
        true
    })?;
    txn.set_history(object, history)?;
    Ok(Some(entry.clone()))
}

/// Writes the head of a current file under another index, so that no repair shows an earlier head.
fn renew(txn: &mut Txn<'_>, path: &MemoryPath) -> Result<(), FileError> {
    let resolved = ResolvedPath::new(txn, &txn.root()?, path)?;
    let Some((entry, info)) = resolved.target.file() else { return Ok(()) };
    let mut head = File::clone(&*load_file(txn, entry.head(), &entry.tag)?);
    head.next_index = head.next_index.saturating_add(1);
    let index = head.next_index;
    txn.remove(entry.head());
    txn.put(RecordId::file(entry.id, index), head.into());
    let what = What::File(FileInfo { head: index, lowest: index, ..info });
    Ok(folder::put(txn, path, &resolved, (entry.id, entry.tag), what)?)
}

/// Whether an entry only notes what was forgotten. It stays, so that no repair brings that back, until a rewrite removes the records
/// too.
pub(super) fn is_note(version: &Version) -> bool {
    version.operation == Operation::Forgotten
}

/// Records that one step changes, unless a single entry has more.
const RECORDS_A_STEP: usize = 20;
/// Records that change with an entry: a node of the history, its head, and a part of the system folder.
const COST: usize = 3;
/// Objects that one entry notes, so that it fits a record with the longest paths.
const MOST_NOTED: usize = 32;
