//! The entries of a history that still count: those whose time is not over, whether or not they were removed yet.

use std::ops::Range;

use crate::session::StoreError;
use crate::session::history::Version;
use crate::vfs::error::FileError;
use crate::vfs::path::MemoryPath;
use inmost_format::record::history::{History, Versions};
use inmost_format::record::node::Root;
use inmost_format::record::tree::{Place, Way, by_position};
use inmost_format::record::{Flaw, Kind, NodeSource, ObjectId, RecordError, load_history};

/// What a visit of the history meets.
pub(super) enum Found<'v> {
    /// An entry that counts.
    Entry(&'v Version),
    /// The positions of entries that cannot be read.
    Lost(Range<u64>),
    /// Entries that a repair left out, because they could not be read.
    Missing,
}

/// A history to read.
pub(super) struct Past<'s, S> {
    pub(super) source: &'s S,
    pub(super) root: &'s Root,
    object: ObjectId,
    history: History,
    /// Entries below this age of the history count as absent.
    from: u64,
}

impl<'s, S: NodeSource> Past<'s, S> {
    /// Opens the history; `None` in a store without one.
    pub(super) fn open(
        source: &'s S,
        root: &'s Root,
        from: u64,
    ) -> Result<Option<Self>, FileError> {
        let child = root.history;
        if child.is_none() {
            return Ok(None);
        }
        let history = History::clone(&*load_history(source, child.id, &child.tag)?);
        Ok(Some(Self { source, root, object: child.id, history, from }))
    }

    /// Visits entries in order, from the first whose number is at least this one, until the visitor returns `false`.
    pub(super) fn visit(
        &self,
        number: u64,
        visitor: &mut dyn FnMut(Found<'_>) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        self.visit_some(number, &|version| !self.is_expired(version), visitor)
    }

    /// Visits entries in order, as [`visit`](Self::visit), those whose time is over too.
    pub(super) fn visit_with_expired(
        &self,
        number: u64,
        visitor: &mut dyn FnMut(Found<'_>) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        self.visit_some(number, &|_| true, visitor)
    }

    fn visit_some(
        &self,
        number: u64,
        is_wanted: &dyn Fn(&Version) -> bool,
        visitor: &mut dyn FnMut(Found<'_>) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        let from = match self.history.look_for(self.source, self.object, number)? {
            Place::Leaf(before, leaf) => before.saturating_add(leaf.numbered_below(number)),
            Place::Gap(lost) => lost.start,
        };
        self.visit_places(Way::Forward(from), &mut |place| match place {
            Place::Leaf(_, leaf) => {
                let is_wanted = |version: &&Version| version.number >= number && is_wanted(version);
                visit_entries(&mut leaf.0.iter().filter(is_wanted), visitor)
            }
            Place::Gap(lost) => visitor(Found::Lost(lost)),
        })
    }

    /// Visits the entries before this number, the newest first, until the visitor returns `false`. Entries out of order are
    /// damage: pages would repeat them or leave them out.
    pub(super) fn visit_back(
        &self,
        before: u64,
        visitor: &mut dyn FnMut(Found<'_>) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        let end = match self.history.look_for(self.source, self.object, before)? {
            Place::Leaf(start, leaf) => start.saturating_add(leaf.numbered_below(before)),
            Place::Gap(lost) => lost.end,
        };
        let mut newer = None;
        self.visit_places(Way::Back(end), &mut |place| match place {
            Place::Leaf(_, leaf) => {
                for version in leaf.0.iter().rev() {
                    if newer.replace(version.number).is_some_and(|newer| version.number >= newer) {
                        let (kind, flaw) = (Kind::HistoryLeaf, Flaw::Malformed);
                        return Err(RecordError::Damaged { kind, flaw }.into());
                    }
                }
                let is_wanted =
                    |version: &&Version| version.number < before && !self.is_expired(version);
                visit_entries(&mut leaf.0.iter().rev().filter(is_wanted), visitor)
            }
            Place::Gap(lost) => visitor(Found::Lost(lost)),
        })
    }

    fn visit_places(
        &self,
        way: Way,
        visitor: &mut dyn FnMut(Place<'_, Versions>) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        let history = &self.history;
        history
            .visit_places::<FileError>(self.source, self.object, way, &mut |place| visitor(place))
    }

    /// Whether the time of an entry is over, so that it counts as absent.
    pub(super) fn is_expired(&self, version: &Version) -> bool {
        version.age < self.from
    }

    /// Visits all entries that can be read, in order. Returns whether others are lost, and why some cannot be read.
    pub(super) fn visit_readable(
        &self,
        visitor: &mut dyn FnMut(&Version),
    ) -> Result<(bool, Option<FileError>), FileError> {
        let (mut is_lost, mut damage) = (false, None);
        self.visit(0, &mut |found| {
            match found {
                Found::Entry(version) => visitor(version),
                Found::Lost(lost) => (is_lost, damage) = (true, Some(self.damage(&lost))),
                Found::Missing => is_lost = true,
            }
            Ok(true)
        })?;
        Ok((is_lost, damage))
    }

    /// Why the entries at these positions cannot be read.
    pub(super) fn damage(&self, lost: &Range<u64>) -> FileError {
        let found =
            self.history.body.find(self.source, self.object, by_position(lost.start)).map(drop);
        let (kind, flaw) = (Kind::HistoryLeaf, Flaw::Malformed);
        found.err().unwrap_or(RecordError::Damaged { kind, flaw }).into()
    }

    /// The entry of this number.
    ///
    /// # Errors
    /// Damage if the entry is among those that cannot be read.
    pub(super) fn entry(&self, number: u64) -> Result<Option<Version>, FileError> {
        match self.history.look_for(self.source, self.object, number)? {
            Place::Leaf(_, leaf) => {
                let found = leaf.0.iter().find(|version| version.number == number);
                Ok(found.filter(|version| !self.is_expired(version)).cloned())
            }
            Place::Gap(lost) => Err(self.damage(&lost)),
        }
    }

    /// The number of the newest entry; `None` if there is none, or if it cannot be read.
    pub(super) fn newest(&self) -> Result<Option<u64>, FileError> {
        let mut newest = None;
        self.visit_back(u64::MAX, &mut |found| {
            if let Found::Entry(version) = found {
                newest = Some(version.number);
            }
            Ok(false)
        })?;
        Ok(newest)
    }

    /// The newest entry of a file that can be read, and whether entries after it are lost.
    pub(super) fn newest_of(
        &self,
        file: u64,
        from: u64,
    ) -> Result<Option<(Version, bool)>, FileError> {
        let mut newest = None;
        self.visit(from, &mut |found| {
            match found {
                Found::Entry(version) if version.file == file => {
                    newest = Some((version.clone(), false));
                }
                Found::Entry(_) => {}
                Found::Lost(_) | Found::Missing => {
                    newest = newest.take().map(|(version, _)| (version, true));
                }
            }
            Ok(true)
        })?;
        Ok(newest)
    }

    /// Entries that cannot be read. Looks at so many nodes at most.
    pub(super) fn unreadable(&self, most: usize) -> Result<u64, FileError> {
        let (mut unreadable, mut looked) = (0_u64, 0_usize);
        self.visit_places(Way::Forward(0), &mut |place| {
            if let Place::Gap(lost) = place {
                unreadable = unreadable.saturating_add(lost.end.saturating_sub(lost.start));
            }
            looked += 1;
            Ok(looked < most)
        })?;
        Ok(unreadable)
    }

    /// The whole history, for counts.
    pub(super) fn history(&self) -> &History {
        &self.history
    }
}

/// Visits entries of a leaf. Returns whether to continue.
fn visit_entries(
    entries: &mut dyn Iterator<Item = &Version>,
    visitor: &mut dyn FnMut(Found<'_>) -> Result<bool, FileError>,
) -> Result<bool, FileError> {
    for version in entries {
        let found = if version.is_missing() { Found::Missing } else { Found::Entry(version) };
        if !visitor(found)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The path below a folder that moved, at its new place; `None` if it was not below it.
pub(crate) fn moved(path: &str, old: &str, new: &str) -> Option<String> {
    below(path, old).map(|below| [new, below].concat())
}

/// The part of a path below a folder, with its first `/`; empty for the folder itself.
pub(crate) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path of an entry. A note of what was forgotten has none.
pub(super) fn path_of(entry: &Version) -> Result<MemoryPath, FileError> {
    if entry.path.as_str().is_empty() {
        return Err(FileError::VersionGone(entry.number));
    }
    Ok(MemoryPath::parse(entry.path.as_str())?)
}

/// Whether an error says that a part of the history, or what it holds, cannot be read.
pub(super) fn is_damage(error: &FileError) -> bool {
    matches!(error, FileError::Store(StoreError::Tampered { .. }))
}
