//! The entries of a history that still count: those whose time is not over, whether or not they were removed yet.

use crate::session::history::Version;
use crate::vfs::error::FileError;
use inmost_format::record::history::History;
use inmost_format::record::node::Root;
use inmost_format::record::tree::{Place, by_position};
use inmost_format::record::{Flaw, Kind, NodeSource, ObjectId, RecordError, load_history};

/// A history to read.
pub(super) struct Past<'s, S> {
    pub(super) source: &'s S,
    pub(super) root: &'s Root,
    object: ObjectId,
    history: History,
    /// Entries before this time, in milliseconds since 1970, count as absent.
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
        visitor: &mut dyn FnMut(&Version) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        let start = self.history.position_of(self.source, self.object, number)?;
        self.history.body.visit::<FileError>(self.source, self.object, start, &mut |_, leaf| {
            for version in &leaf.0 {
                let counts = version.number >= number && version.time >= self.from;
                if counts && !visitor(version)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Visits all entries that can be read, in order. Returns why others cannot.
    pub(super) fn visit_readable(
        &self,
        visitor: &mut dyn FnMut(&Version),
    ) -> Result<Option<FileError>, FileError> {
        let (body, mut position, mut damage) = (&self.history.body, 0_u64, None);
        while position < body.count() {
            let end = match self.history.look_at(self.source, self.object, position)? {
                Place::Leaf(start, leaf) => {
                    leaf.0.iter().filter(|it| it.time >= self.from).for_each(&mut *visitor);
                    start.saturating_add(u64::try_from(leaf.0.len()).unwrap_or(u64::MAX))
                }
                Place::Gap(gap) => {
                    let found = body.find(self.source, self.object, by_position(position));
                    damage = found.err().map(FileError::from).or(damage);
                    gap.end
                }
            };
            // At least one, so that wrong counts do not lead to the same place for ever.
            position = end.max(position.saturating_add(1));
        }
        Ok(damage)
    }

    /// The entry of this number.
    pub(super) fn entry(&self, number: u64) -> Result<Option<Version>, FileError> {
        let mut found = None;
        self.visit(number, &mut |version| {
            found = (version.number == number).then(|| version.clone());
            Ok(false)
        })?;
        Ok(found)
    }

    /// The newest entry of a file.
    pub(super) fn newest_of(&self, file: u64, from: u64) -> Result<Option<Version>, FileError> {
        let mut found = None;
        self.visit(from, &mut |version| {
            if version.file == file {
                found = Some(version.clone());
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// The entries before this number, the newest first, one leaf at a time, until the visitor returns `false`. Entries out of
    /// order are damage: a forged tree of few leaves could lead to each of them too often.
    pub(super) fn visit_back(
        &self,
        before: u64,
        visitor: &mut dyn FnMut(&Version) -> Result<bool, FileError>,
    ) -> Result<(), FileError> {
        let mut end = self.history.position_of(self.source, self.object, before)?;
        let mut newer = None;
        while let Some(last) = end.checked_sub(1) {
            let (start, leaf) =
                self.history.body.find(self.source, self.object, by_position(last))?;
            let count = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            for version in leaf.0.iter().take(count).rev() {
                if newer.replace(version.number).is_some_and(|newer| version.number >= newer) {
                    let (kind, flaw) = (Kind::HistoryLeaf, Flaw::Malformed);
                    return Err(RecordError::Damaged { kind, flaw }.into());
                }
                if version.time >= self.from && !visitor(version)? {
                    return Ok(());
                }
            }
            // At least one, so that a leaf with wrong counts does not lead here for ever.
            end = start.min(last);
        }
        Ok(())
    }

    /// The whole history, for counts.
    pub(super) fn history(&self) -> &History {
        &self.history
    }
}

/// The path below a folder that moved, at its new place; `None` if it was not below it.
pub(super) fn moved(path: &str, old: &str, new: &str) -> Option<String> {
    let below = below(path, old)?;
    let mut moved = String::with_capacity(new.len() + below.len());
    moved.push_str(new);
    moved.push_str(below);
    Some(moved)
}

/// The part of a path below a folder, with its first `/`; empty for the folder itself.
pub(super) fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
