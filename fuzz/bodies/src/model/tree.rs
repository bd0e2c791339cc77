//! The files by canonical path. A folder exists if the path of a file contains it. The messages of the tool
//! are in the parent module.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::past::Past;

/// The options that the application has set.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) read_only: bool,
    pub(crate) create_overwrites: bool,
    pub(crate) view_characters: usize,
    pub(crate) range_characters: usize,
    pub(crate) listing_entries: usize,
    pub(crate) file_bytes: usize,
    pub(crate) store_files: usize,
    pub(crate) store_bytes: usize,
}

/// The memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) files: BTreeMap<String, Arc<str>>,
    pub(crate) rules: Rules,
    pub(crate) past: Past,
}

/// Why a change was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    Exists,
    FileTooLarge(usize),
    IntoItself,
    Missing,
    ParentIsFile(String),
    PathBelow,
    Root,
    TooManyFiles,
    TooMuchText,
}

impl Memory {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { files: BTreeMap::new(), rules, past: Past::new(0) }
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        path == ROOT || self.below(path).next().is_some()
    }

    /// The files below a folder, with their paths from there.
    pub(crate) fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &str)> {
        let start = format!("{folder}/");
        self.files.iter().filter_map(move |(path, text)| {
            let rest = path.strip_prefix(&start)?;
            Some((rest, &**text))
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.files.values().map(|text| text.len()).sum()
    }

    /// Writes a file.
    pub(crate) fn put(&mut self, path: &str, text: &str, overwrite: bool) -> Result<(), Why> {
        if self.is_folder(path) || (self.files.contains_key(path) && !overwrite) {
            return Err(Why::Exists);
        }
        self.check_parents(path)?;
        self.change(path, text)
    }

    /// Sets the text of a file within the quotas.
    pub(crate) fn change(&mut self, path: &str, text: &str) -> Result<(), Why> {
        self.check_quotas(path, text)?;
        let text: Arc<str> = text.into();
        self.files.insert(path.to_owned(), text.clone());
        self.past.wrote(path, &text);
        Ok(())
    }

    /// Whether a file may have this text.
    pub(crate) fn check_quotas(&self, path: &str, text: &str) -> Result<(), Why> {
        let old = self.files.get(path).map(|text| text.len());
        if text.len() > self.rules.file_bytes {
            return Err(Why::FileTooLarge(self.rules.file_bytes));
        }
        if old.is_none() && self.files.len() >= self.rules.store_files {
            return Err(Why::TooManyFiles);
        }
        if self.bytes() - old.unwrap_or(0) + text.len() > self.rules.store_bytes {
            return Err(Why::TooMuchText);
        }
        Ok(())
    }

    /// Removes a file, or a folder with everything below it.
    pub(crate) fn remove(&mut self, path: &str) -> Result<(), Why> {
        self.check_there(path)?;
        let start = format!("{path}/");
        self.files.retain(|file, _| file != path && !file.starts_with(&start));
        self.past.removed(path);
        Ok(())
    }

    /// Moves a file, or a folder with everything below it.
    pub(crate) fn move_to(&mut self, old: &str, new: &str) -> Result<(), Why> {
        self.check_there(old)?;
        if self.files.contains_key(new) || self.is_folder(new) {
            return Err(Why::Exists);
        }
        if self.is_folder(old) && new.starts_with(&format!("{old}/")) {
            return Err(Why::IntoItself);
        }
        self.check_parents(new)?;
        let moved: Vec<(String, String)> = self
            .files
            .keys()
            .filter(|file| *file == old || file.starts_with(&format!("{old}/")))
            .map(|file| (file.clone(), format!("{new}{}", &file[old.len()..])))
            .collect();
        if moved.iter().any(|(_, path)| path.len() > 1_024 || path.matches('/').count() > 21) {
            return Err(Why::PathBelow);
        }
        for (from, to) in moved {
            let text = self.files.remove(&from).unwrap();
            self.files.insert(to, text);
        }
        self.past.moved(old, new);
        Ok(())
    }

    fn check_there(&self, path: &str) -> Result<(), Why> {
        if path == ROOT {
            return Err(Why::Root);
        }
        if self.is_there(path) { Ok(()) } else { Err(Why::Missing) }
    }

    pub(crate) fn is_there(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.is_folder(path)
    }

    pub(crate) fn check_parents(&self, path: &str) -> Result<(), Why> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        let file = ends.map(|end| &path[..end]).find(|parent| self.files.contains_key(*parent));
        file.map_or(Ok(()), |file| Err(Why::ParentIsFile(file.to_owned())))
    }
}

pub(crate) const ROOT: &str = "/memories";
