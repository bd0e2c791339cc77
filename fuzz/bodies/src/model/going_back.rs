//! Restoring and forgetting, on the naive history.

use std::collections::{BTreeMap, BTreeSet};

use inmost::{VersionInfo, VersionKind};

use super::past::{Change, Ident, Last, Text, Took, size};
use super::tree::{Memory, Why};

/// Why a request to the history is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Gone,
    Folder,
    None(u64),
    Because(Why),
}

impl From<Why> for Refusal {
    fn from(why: Why) -> Self {
        Self::Because(why)
    }
}

impl Memory {
    /// Brings a version back.
    pub(crate) fn restore(&mut self, change: &Change, to: Option<&str>) -> Result<(), Refusal> {
        if change.kind == VersionKind::Forgotten {
            return Err(Refusal::Gone);
        }
        let path = to.unwrap_or(&change.path).to_owned();
        let Some(file) = change.file else { return self.restore_folder(change, &path) };
        let text = match &change.took {
            Took::File(text) if change.kind == VersionKind::Deleted => text.clone(),
            _ => self.past.text(self.past.number(change))?,
        };
        let here = self.past.idents.get(&path).map(|ident| ident.file);
        let is_live = self.past.idents.values().any(|ident| ident.file == file);
        let newest = self.past.changes.iter().rev().find(|change| change.file == Some(file));
        let newest = newest.cloned().unwrap();
        // Otherwise it is in a deleted folder, and this becomes another file.
        let is_deleted = !is_live && newest.kind == VersionKind::Deleted;
        let is_back = here == Some(file) || is_deleted;
        if self.is_folder(&path) || here.is_some_and(|here| here != file) {
            return Err(Why::Exists.into());
        }
        self.check_parents(&path)?;
        self.check_quotas(&path, &text.text)?;
        self.bring(&path, file, is_back.then_some(newest.id), &text);
        Ok(())
    }

    fn bring(&mut self, path: &str, file: usize, newest: Option<usize>, text: &Text) {
        let old = self.past.idents.get(path).map(|ident| ident.text.clone());
        self.files.insert(path.to_owned(), text.text.clone());
        let text = text.clone();
        let file = if newest.is_some() { file } else { self.past.new_file() };
        let mut change = self.past.change(VersionKind::Restored, path);
        change.file = Some(file);
        change.last = newest.map_or(Last::None, Last::Is);
        change.size = size(&text.text);
        change.text = Some(text.clone());
        change.took = old.map_or(Took::Nothing, Took::File);
        let last = self.past.record(change);
        self.past.place(path, Ident { file, last, text, maybe: false });
    }

    fn restore_folder(&mut self, change: &Change, path: &str) -> Result<(), Refusal> {
        let took = match &change.took {
            Took::Folder(took) => took.clone(),
            _ if change.kind == VersionKind::Deleted => return Err(Refusal::Gone),
            _ => return Err(Refusal::Folder),
        };
        if self.is_folder(path) || self.files.contains_key(path) {
            return Err(Why::Exists.into());
        }
        self.check_parents(path)?;
        let paths: Vec<String> = took.keys().map(|below| format!("{path}{below}")).collect();
        if paths.iter().any(|path| path.len() > 1_024 || path.matches('/').count() > 21) {
            return Err(Why::PathBelow.into());
        }
        if took.is_empty() {
            return Err(Refusal::Gone);
        }
        let bytes: usize = took.values().map(|ident| ident.text.text.len()).sum();
        if self.files.len() + took.len() > self.rules.store_files {
            return Err(Why::TooManyFiles.into());
        }
        if self.bytes() + bytes > self.rules.store_bytes {
            return Err(Why::TooMuchText.into());
        }
        for (path, ident) in paths.iter().zip(took.into_values()) {
            self.files.insert(path.clone(), ident.text.text.clone());
            self.past.place(path, ident);
        }
        let mut back = self.past.change(VersionKind::Restored, path);
        back.old_path.clone_from(&change.path);
        let id = back.id;
        self.past.record(back);
        let of = self.past.changes.iter_mut().find(|other| other.id == change.id).unwrap();
        (of.took, of.held) = (Took::Back(id), (0, 0));
        Ok(())
    }

    /// Forgets what is or was at or below a path, up to a version, as far as the entries that are left allow: entries of files that
    /// were there must be gone, entries of files that never were there must be left. Entries may go too because their time is over.
    /// `is_gone` tells whether the text of a version is gone. Returns the least and the most entries that were forgotten.
    pub(crate) fn forget(
        &mut self,
        path: &str,
        until: u64,
        left: &BTreeMap<u64, VersionInfo>,
        is_gone: &dyn Fn(u64) -> bool,
    ) -> (usize, usize) {
        let is_below = |other: &str| {
            path == "/memories"
                || other == path
                || other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        let is_named = |change: &Change| is_below(&change.path) || is_below(&change.old_path);
        let named: BTreeSet<usize> = self
            .past
            .changes
            .iter()
            .filter(|change| is_named(change))
            .filter_map(|change| change.file)
            .collect();
        let ever: BTreeSet<usize> = self
            .past
            .places
            .iter()
            .filter(|(_, places)| places.iter().any(|place| is_below(place)))
            .map(|(file, _)| *file)
            .collect();
        // A folder in which one of these files was. If no other was in it, its entry goes too.
        let places: Vec<String> =
            ever.iter().flat_map(|file| self.past.places[file].iter().cloned()).collect();
        let has_one = |folder: &str| {
            let below = |place: &String| {
                place.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            };
            !folder.is_empty() && places.iter().any(below)
        };
        let (mut least, mut most, mut is_behind) = (0, 0, false);
        let mut later = BTreeSet::new();
        let changes = std::mem::take(&mut self.past.changes);
        for mut change in changes {
            let number = self.past.number(&change);
            let must_go = number <= until
                && match change.file {
                    _ if change.kind == VersionKind::Forgotten => false,
                    Some(file) => named.contains(&file),
                    None => is_named(&change),
                };
            let may_go = must_go
                || number <= until
                    && match change.file {
                        Some(file) => ever.contains(&file),
                        None => has_one(&change.path) || has_one(&change.old_path),
                    };
            let is_left = left.contains_key(&number);
            // What is forgotten keeps nothing behind it from being removed because its time is over.
            let is_over = !self.past.is_listed(&change);
            change.may_go |= is_over && !is_behind;
            is_behind |= is_left && !is_over;
            assert!(is_left || may_go || change.may_go, "forgotten with {path}: {change:?}");
            assert!(!is_left || !must_go, "not forgotten with {path}: {change:?}");
            least += usize::from(!is_left && (must_go || !change.may_go));
            most += usize::from(!is_left && may_go);
            if let Took::Folder(took) = &mut change.took {
                for ident in took.values_mut() {
                    let is_old = self.past.last_number(ident).is_none_or(|last| last <= until);
                    ident.maybe |= is_old && ever.contains(&ident.file);
                }
                change.count_folder();
            }
            let Some(found) = left.get(&number) else { continue };
            if number > until {
                change.cut(&mut later, (until, found), &named, &ever, is_gone);
            }
            self.past.changes.push(change);
        }
        (least, most)
    }
}

impl Change {
    /// Drops what the change ended, if that was the last version that is forgotten.
    fn cut(
        &mut self,
        later: &mut BTreeSet<usize>,
        (until, found): (u64, &VersionInfo),
        named: &BTreeSet<usize>,
        ever: &BTreeSet<usize>,
        is_gone: &dyn Fn(u64) -> bool,
    ) {
        let Some(file) = self.file else {
            // Whether others still name the old path is for the store to find out.
            if found.old_path.is_none() {
                self.old_path.clear();
            }
            return;
        };
        let Some(previous) = self.previous.filter(|previous| *previous <= until) else { return };
        let is_first = later.insert(file);
        let is_cut = named.contains(&file) || ever.contains(&file) && is_gone(previous);
        if is_first && is_cut {
            self.old_path.clear();
            (self.took, self.held, self.unsure) = (Took::Nothing, (0, 0), false);
        }
    }
}
