//! The result of one damaged store, as a line of text.

use std::fmt;

use crate::damage::Damage;

/// What a recovery made of a file, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fate {
    /// The newest text at its path.
    AtPlace,
    /// The newest text, without its name or under an older one.
    Found,
    /// An older text.
    Older,
    Lost,
}

/// What an unlock did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The session gave every text.
    Right,
    /// The session gave errors.
    Partly,
    /// The session gave errors, and the engine overwrote older copies, in free places, of what it could not read.
    Overwrote,
    /// `StoreError::Damaged`.
    Refused,
    RolledBack,
    Other(String),
}

pub struct Record {
    pub seed: u64,
    /// The engine and the past.
    pub label: String,
    pub kind: String,
    pub file: String,
    pub places: String,
    pub outcome: String,
    pub at_place: usize,
    pub found: usize,
    pub older: usize,
    pub lost: usize,
    /// Folders that lost names of files.
    pub folders_unnamed: usize,
    /// Files that are older or lost though their records are intact.
    pub intact: usize,
    pub failures: Vec<String>,
}

impl Record {
    pub fn new(seed: u64, label: &str, done: Damage, outcome: Outcome) -> Self {
        let places: Vec<String> = done.places.iter().map(usize::to_string).collect();
        Self {
            seed,
            label: label.to_owned(),
            kind: done.kind.to_owned(),
            file: done.file,
            places: places.join(","),
            outcome: match outcome {
                Outcome::Other(error) => error,
                outcome => format!("{outcome:?}"),
            },
            at_place: 0,
            found: 0,
            older: 0,
            lost: 0,
            folders_unnamed: 0,
            intact: 0,
            failures: Vec::new(),
        }
    }

    /// A store that ended the process that looked at it.
    pub fn of_crash(seed: u64, label: &str, what: &str) -> Self {
        let done = Damage { kind: "unknown", file: String::new(), places: Vec::new() };
        let mut record = Self::new(seed, label, done, Outcome::Other(what.to_owned()));
        record.failures.push(what.to_owned());
        record
    }

    pub fn count(&mut self, fates: impl Iterator<Item = Fate>) {
        for fate in fates {
            *match fate {
                Fate::AtPlace => &mut self.at_place,
                Fate::Found => &mut self.found,
                Fate::Older => &mut self.older,
                Fate::Lost => &mut self.lost,
            } += 1;
        }
    }

    pub fn files(&self) -> usize {
        self.at_place + self.found + self.older + self.lost
    }

    pub fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            seed,
            label,
            kind,
            file,
            places,
            outcome,
            at_place,
            found,
            older,
            lost,
            folders,
            intact,
            failures,
        ] = fields[..]
        else {
            return None;
        };
        Some(Self {
            seed: seed.parse().ok()?,
            label: label.to_owned(),
            kind: kind.to_owned(),
            file: file.to_owned(),
            places: places.to_owned(),
            outcome: outcome.to_owned(),
            at_place: at_place.parse().ok()?,
            found: found.parse().ok()?,
            older: older.parse().ok()?,
            lost: lost.parse().ok()?,
            folders_unnamed: folders.parse().ok()?,
            intact: intact.parse().ok()?,
            failures: failures.split('|').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, label, kind, file, places, outcome, at_place, found, older, lost, .. } =
            self;
        let (folders, intact) = (self.folders_unnamed, self.intact);
        let failures = self.failures.join("|");
        write!(
            f,
            "{seed}\t{label}\t{kind}\t{file}\t{places}\t{outcome}\t{at_place}\t{found}\t{older}\t{lost}\t{folders}\t{intact}\t{failures}"
        )
    }
}
