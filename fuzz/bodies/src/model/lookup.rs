//! Finds the text of a version in the naive history, as docs/FORMAT.md says under "The text of a version".

use inmost::VersionKind;

use super::going_back::Refusal;
use super::past::{Change, Ident, Last, Past, Text, Took};

impl Past {
    /// The text of a version, if it may be shown.
    pub(crate) fn text(&self, number: u64) -> Result<Text, Refusal> {
        let counts = |change: &Change| self.is_listed(change);
        let own = self.by_number(number).filter(|own| counts(own));
        match own {
            Some(own) if own.kind == VersionKind::Forgotten => return Err(Refusal::Gone),
            Some(own) if own.file.is_none() => return Err(Refusal::Folder),
            Some(own) if own.kind == VersionKind::Deleted => return Err(Refusal::Gone),
            _ => {}
        }
        let mut file = own.and_then(|own| own.file);
        let mut version = number;
        while let Some(next) = self.changes.iter().find(|change| change.follows(version)) {
            if file.is_none() && !counts(next) {
                break;
            }
            match &next.took {
                Took::File(text) if counts(next) => return Ok(text.clone()),
                // Only a rename leaves the text as it is. It leads on even if its time is over. Without
                // its old path, what was before it is forgotten.
                Took::Nothing if next.kind == VersionKind::Renamed && !next.old_path.is_empty() => {
                    version = self.number(next);
                    file = next.file;
                }
                _ => return Err(Refusal::Gone),
            }
        }
        // Nothing says which file had this version.
        let Some(file) = file else { return Err(Refusal::None(number)) };
        let is_it = |ident: &&Ident| ident.file == file && self.last_number(ident) == Some(version);
        if let Some(ident) = self.idents.values().find(is_it) {
            return Ok(ident.text.clone());
        }
        let mut folders = self.changes.iter().filter_map(|change| match &change.took {
            Took::Folder(took) if counts(change) => Some(took),
            _ => None,
        });
        let inside = folders.find_map(|took| took.values().find(is_it));
        inside.map(|ident| ident.text.clone()).ok_or(Refusal::Gone)
    }

    /// The number of the last change of a file.
    pub(crate) fn last_number(&self, ident: &Ident) -> Option<u64> {
        match ident.last {
            Last::Is(id) => self.numbers.get(&id).copied(),
            Last::None | Last::Unknown => None,
        }
    }
}

impl Change {
    /// Whether this is the change of a file after its version of this number.
    fn follows(&self, version: u64) -> bool {
        self.file.is_some() && self.previous == Some(version)
    }
}
