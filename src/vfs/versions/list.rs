//! Lists the history, and tells what it holds.

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use super::entries::{Found, Past, below, is_damage};
use super::find::{Walk, visit_files};
use super::info::{HistoryStatus, VersionInfo, VersionPage, VersionQuery, VersionText};
use crate::session::history::{Version, expired_before};
use crate::session::{HistorySettings, Open, ReadAhead, Scope, StoreError, now, time_of};
use crate::vfs::error::FileError;
use crate::vfs::path::MemoryPath;
use inmost_format::record::node::Root;
use inmost_format::record::{Flaw, Kind, NodeSource};

/// Up to `most` versions before a number, the newest first.
///
/// # Errors
/// [`FileError::InvalidPath`].
pub(crate) fn list(
    open: &Open,
    query: &VersionQuery,
    before: Option<u64>,
    most: usize,
) -> Result<VersionPage, FileError> {
    let path = query.path.as_ref().map(|path| MemoryPath::parse(path.as_str())).transpose()?;
    let mut page = VersionPage { items: Vec::new(), unreadable: 0, next: None };
    let from = expired_before(open, open.root());
    let source = ReadAhead::backward(open, Scope::ALL);
    let Some(past) = Past::open(&source, open.root(), from)? else { return Ok(page) };
    let (mut looked, mut walks) = (0_usize, Walks::new());
    past.visit_back(before.unwrap_or(u64::MAX), &mut |place| {
        looked += 1;
        let version = match place {
            Found::Entry(version) => version,
            Found::Lost(lost) => {
                let lost = lost.end.saturating_sub(lost.start);
                page.unreadable = page.unreadable.saturating_add(lost);
                return Ok(true);
            }
            Found::Missing => return Ok(true),
        };
        let is_listed = query.takes(version)
            && path.as_ref().is_none_or(|path| concerns(version, path.as_str(), query.confined));
        if is_listed {
            let info = VersionInfo::of(version);
            if info.text == VersionText::Unknown {
                walks.push((page.items.len(), Walk::from(version.number, Some(version))));
            }
            page.items.push(info);
        }
        let goes_on = page.items.len() < most && looked < LOOKED;
        if !goes_on {
            page.next = Some(version.number);
        }
        Ok(goes_on)
    })?;
    for (place, text) in texts(&past, walks, 2 * LOOKED)? {
        if let Some(item) = page.items.get_mut(place) {
            item.text = text;
        }
    }
    Ok(page)
}

/// Whether a change concerns a path: it is of the path, of one below it, or of a folder above it. A confined reader sees
/// only changes all of whose paths lie below.
fn concerns(version: &Version, path: &str, confined: bool) -> bool {
    let (new, old) = (version.path.as_str(), version.old_path.as_str());
    let is_below = |other: &str| below(other, path).is_some();
    if confined {
        return is_below(new) && (old.is_empty() || is_below(old));
    }
    let is_above = |other: &str| !other.is_empty() && below(path, other).is_some();
    is_below(new) || is_below(old) || version.file == 0 && (is_above(new) || is_above(old))
}

/// The settings, and what the history holds.
pub(crate) fn status(open: &Open) -> Result<HistoryStatus, StoreError> {
    let root = open.root();
    let mut status = HistoryStatus {
        settings: HistorySettings::of(root),
        entries: 0,
        bytes: 0,
        is_damaged: false,
        unreadable: 0,
        lost_before: None,
        kept_until: kept_until(root, 0),
    };
    let source = ReadAhead::once(open);
    let surveyed = Past::open(&source, root, 0).and_then(|past| {
        past.map(|past| Ok((past.history().clone(), past.unreadable(SURVEYED)?))).transpose()
    });
    match surveyed {
        Ok(None) => {}
        Ok(Some((history, unreadable))) => {
            status.entries = history.count();
            status.kept_until = kept_until(root, history.seen.latest);
            status.bytes = history.held;
            status.unreadable = unreadable;
            status.lost_before = (history.lost_before > 0).then_some(history.lost_before);
        }
        Err(FileError::Store(StoreError::Tampered { .. })) => status.is_damaged = true,
        Err(FileError::Store(error)) => return Err(error),
        Err(_) => return Err(StoreError::tampered(Kind::History, Flaw::Malformed)),
    }
    Ok(status)
}

fn kept_until(root: &Root, latest: u64) -> Option<SystemTime> {
    (root.keep > 0).then(|| time_of(now().max(latest).saturating_add(root.keep)))
}

/// Versions to be followed, each by its place in the page.
type Walks = Vec<(usize, Walk)>;

/// Follows the versions of a page, newest first, in one pass over the entries after the oldest of them, and looks at `most` entries
/// at most. Returns what was found, by place in the page.
fn texts<S: NodeSource>(
    past: &Past<'_, S>,
    walks: Walks,
    most: usize,
) -> Result<Vec<(usize, VersionText)>, FileError> {
    let mut search = Search { past, told: Vec::new(), active: BTreeMap::new() };
    let (mut waiting, mut current) = (Vec::new(), HashSet::new());
    for (place, walk) in walks {
        // Most are current or were replaced soon, so that the way through the history is short. A file has one current version: the
        // newest, unless a repair has left a tree that is older than the history.
        let is_current =
            if current.contains(&walk.file) { Ok(false) } else { walk.is_current(past) };
        match is_current {
            Ok(true) => {
                current.insert(walk.file);
                search.told.push((place, VersionText::Kept));
            }
            Err(error) if !is_damage(&error) => return Err(error),
            _ => waiting.push((place, walk)),
        }
    }
    let Some(first) = waiting.pop() else { return Ok(search.told) };
    let number = first.1.number;
    search.start(first);
    let (mut looked, mut is_end) = (0_usize, true);
    past.visit_with_expired(number.saturating_add(1), &mut |found| {
        search.meet(&found)?;
        if let Found::Entry(version) = found {
            while let Some(next) = waiting.pop_if(|(_, walk)| walk.number <= version.number) {
                search.start(next);
            }
        }
        looked += 1;
        is_end = looked < most;
        Ok(is_end && !(search.active.is_empty() && waiting.is_empty()))
    })?;
    if is_end {
        search.end()?;
    }
    Ok(search.told)
}

/// The way of several versions through the history.
struct Search<'a, 's, S> {
    past: &'a Past<'s, S>,
    told: Vec<(usize, VersionText)>,
    /// The versions that are followed, by their files.
    active: BTreeMap<u64, Walks>,
}

impl<S: NodeSource> Search<'_, '_, S> {
    fn start(&mut self, (place, walk): (usize, Walk)) {
        self.active.entry(walk.file.unwrap_or_default()).or_default().push((place, walk));
    }

    /// Follows the versions past what comes next in the history.
    fn meet(&mut self, found: &Found<'_>) -> Result<(), FileError> {
        let concerned = match found {
            Found::Entry(version) if version.file > 0 => version.file..=version.file,
            _ => 0..=u64::MAX,
        };
        let told = self.told.len();
        for (_, walks) in self.active.range_mut(concerned) {
            // In place: most of them go on, and there may be many.
            let mut index = 0;
            while let Some((place, walk)) = walks.get_mut(index) {
                let text = match walk.meet(self.past, found) {
                    Ok(None) => {
                        index += 1;
                        continue;
                    }
                    Ok(Some(_)) => VersionText::Kept,
                    Err(error) => without_text(error)?,
                };
                self.told.push((*place, text));
                walks.swap_remove(index);
            }
        }
        if self.told.len() > told {
            self.active.retain(|_, walks| !walks.is_empty());
        }
        Ok(())
    }

    /// Tells of the versions that no entry ended: they are in the tree, or their text is gone.
    fn end(&mut self) -> Result<(), FileError> {
        let mut hidden = Walks::new();
        for (place, walk) in std::mem::take(&mut self.active).into_values().flatten() {
            let text = match walk.is_current(self.past) {
                Ok(true) => VersionText::Kept,
                Ok(false) if walk.is_uncertain() => {
                    hidden.push((place, walk));
                    continue;
                }
                Ok(false) => VersionText::Gone,
                Err(error) => without_text(error)?,
            };
            self.told.push((place, text));
        }
        if hidden.is_empty() {
            return Ok(());
        }
        let place = |walk: &Walk| (walk.file.unwrap_or_default(), walk.version);
        let wanted: HashSet<(u64, u64)> = hidden.iter().map(|(_, walk)| place(walk)).collect();
        let mut current = HashSet::new();
        let tree = (self.past.root.tree.id, self.past.root.tree.tag);
        let visited = visit_files(self.past.source, tree, &mut |_, info| {
            current.extend(wanted.get(&(info.number, info.version)).copied());
            current.len() < wanted.len()
        });
        let is_whole = match visited {
            Err(error) if is_damage(&error) => false,
            visited => visited.map(|()| true)?,
        };
        for (item, walk) in hidden {
            let text = match current.contains(&place(&walk)) {
                true => VersionText::Kept,
                false if is_whole => without_text(walk.gone(self.past))?,
                false => VersionText::Unknown,
            };
            self.told.push((item, text));
        }
        Ok(())
    }
}

/// What an error of a walk says of the text.
fn without_text(error: FileError) -> Result<VersionText, FileError> {
    match error {
        FileError::VersionGone(_) => Ok(VersionText::Gone),
        error if is_damage(&error) => Ok(VersionText::Unknown),
        error => Err(error),
    }
}

/// Nodes of the history that a status looks at: some 100,000 entries.
const SURVEYED: usize = 4_096;
/// Entries looked at for one page: a bound on how long a call holds the store. For the texts, twice as many are.
const LOOKED: usize = 10_000;
