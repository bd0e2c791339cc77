//! Tells which versions of a page still have their text.

use std::collections::{BTreeMap, HashSet};

use super::files::visit_files;
use super::kinds::VersionText;
use super::locate::Walk;
use super::past::{Found, Past, is_damage};
use crate::vfs::error::FileError;
use inmost_format::record::NodeSource;

/// Versions to be followed, each by its place in the page.
pub(super) type Walks = Vec<(usize, Walk)>;

/// Follows the versions of a page, newest first, in one pass over the entries after the oldest of them, and looks at `most` entries
/// at most. Returns what was found, by place in the page.
pub(super) fn texts<S: NodeSource>(
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
