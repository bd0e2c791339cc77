//! What a recovery reports.

use std::time::SystemTime;

use super::age::Age;
use crate::maintenance::check_report::{StoreProblem, list_bounded};
use inmost_format::record::node::Name;

/// The result of a salvage, of a repair, or of the plan of a repair.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RecoveryReport {
    /// The number of the newest commit that was found; 0 if no root record was.
    pub commit: u64,
    /// The number of the newest commit in the anchors, or 0. If it is above `commit`, the commits in between are lost.
    pub seen_commit: u64,
    /// Files recovered, of whatever version and place.
    pub files: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Files of which an older version was found in place of the newest one, and lists of folders; the first 10,000.
    pub older: Vec<OlderVersion>,
    /// Files whose name was lost, with their names in the folder of what was found; the first 10,000.
    pub found: Vec<StoreProblem>,
    /// What could not be recovered; the first 10,000.
    pub lost: Vec<StoreProblem>,
    /// Entries of the history that could not be read. A salvage does not read the history.
    #[cfg_attr(feature = "serde", serde(default))]
    pub lost_versions: u64,
    /// Earlier texts that could not be read, although the entry of the history that holds them could.
    #[cfg_attr(feature = "serde", serde(default))]
    pub lost_texts: u64,
    /// The number of further items in all three lists.
    pub unlisted: u64,
}

/// An older version of a file, or an older list of a folder, in the place of one that is damaged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OlderVersion {
    /// What it is.
    pub problem: StoreProblem,
    /// When this text of the file was written. `None` if the history does not say so, and for a list.
    pub written: Option<SystemTime>,
    /// How many newer texts of the file are lost. `None` if the history does not say so, and for a list.
    pub newer: Option<u64>,
}

impl RecoveryReport {
    /// Whether every file is at its place in its newest version, and nothing of the history is lost, as far as can be told.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_newest() && (self.lost_versions, self.lost_texts) == (0, 0)
    }

    /// Whether every file is at its place in its newest version, as far as can be told. After a [`repair`](crate::Vault::repair)
    /// that did not find that, the freshness of the store is [`Unknown`](crate::AnchorStatus::Unknown).
    #[must_use]
    pub fn is_newest(&self) -> bool {
        self.older.is_empty()
            && self.found.is_empty()
            && self.lost.is_empty()
            && self.seen_commit <= self.commit
    }

    pub(super) fn add_older(
        &mut self,
        names: &[Name],
        what: &'static str,
        how: &'static str,
        age: Age,
    ) {
        let Age { written, newer } = age;
        let problem = || StoreProblem::new(names, what, how);
        let older = || OlderVersion { problem: problem(), written, newer };
        list_bounded(&mut self.older, &mut self.unlisted, older);
    }

    pub(super) fn add_found(&mut self, names: &[Name], what: &'static str) {
        let problem = || StoreProblem::new(names, what, "was found without its name");
        list_bounded(&mut self.found, &mut self.unlisted, problem);
    }

    pub(in crate::maintenance) fn add_lost(
        &mut self,
        names: &[Name],
        what: &'static str,
        how: &'static str,
    ) {
        let problem = || StoreProblem::new(names, what, how);
        list_bounded(&mut self.lost, &mut self.unlisted, problem);
    }
}
