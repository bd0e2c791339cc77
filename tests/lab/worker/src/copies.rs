//! Copies of the store beside it: each is a complete store or none, unless it is being destroyed.

use std::fs;
use std::path::{Path, PathBuf};

use inmost::StoreError;

use crate::plan::{Settings, Step};
use crate::verify::{self, Acknowledged, Wrong};

/// The place of a copy.
pub fn copy_of(store: &Path, number: u64) -> PathBuf {
    store.with_file_name(format!("{PREFIX}{number}"))
}

#[derive(Default)]
pub struct Copies {
    /// How many open, and check.
    complete: usize,
    /// Why the others do not open.
    broken: Vec<String>,
}

pub fn find(store: &Path) -> Result<Copies, Wrong> {
    let mut copies = Copies::default();
    let entries = store.parent().and_then(|parent| fs::read_dir(parent).ok());
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(|error| Wrong("copy", error.to_string()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) {
            continue;
        }
        match verify::unlock_first(&path) {
            Ok(session) => {
                let report = session.check().map_err(|it| Wrong("copy", it.to_string()))?;
                if !report.is_clean() || !verify::is_fresh(&session)? {
                    return Err(Wrong("copy", format!("{name}: {:?}", report.problems)));
                }
                session.lock();
                copies.complete += 1;
            }
            Err(StoreError::NotAStore) => {}
            Err(error) => copies.broken.push(format!("{name}: {error}")),
        }
    }
    Ok(copies)
}

impl Copies {
    /// Whether there is a copy. One that is half destroyed is there until it has been destroyed again.
    pub fn are_there(&self) -> bool {
        self.complete > 0 || !self.broken.is_empty()
    }

    /// Only the destruction of a copy may leave one that does not open.
    pub fn verify(&self, settings: &Settings, acknowledged: &Acknowledged) -> Result<(), Wrong> {
        let last = acknowledged.steps.get(&PURGES).copied().unwrap_or_default();
        let steps = acknowledged.round(settings, PURGES, last.round);
        let is_destroyed = matches!(steps.get(last.step + 1), Some(Step::DestroyCopy(_)));
        match self.broken.first() {
            Some(broken) if !is_destroyed => Err(Wrong("copy", broken.clone())),
            _ if self.complete > 1 => Err(Wrong("copy", "there are several".into())),
            _ => Ok(()),
        }
    }
}

const PREFIX: &str = "copy-";
/// The thread that makes copies.
const PURGES: u64 = 1;
