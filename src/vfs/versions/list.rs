//! Lists the history, and tells what it holds.

use super::kinds::VersionText;
use super::locate::Walk;
use super::past::{Found, Past, below};
use super::texts::{Walks, texts};
use super::types::{HistoryStatus, VersionInfo, VersionPage, VersionQuery};
use crate::session::history::{Version, expired_before};
use crate::session::{HistorySettings, Open, ReadAhead, Scope, StoreError};
use crate::vfs::error::FileError;
use crate::vfs::path::MemoryPath;
use inmost_format::record::history::{Before, Operation};
use inmost_format::record::{Flaw, Kind};

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
    let from = expired_before(open, open.root()).unwrap_or_default();
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
        // A part of what another note says.
        if version.operation == Operation::Forgotten && matches!(version.before, Before::Rest(_)) {
            return Ok(true);
        }
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
    };
    let source = ReadAhead::once(open);
    let surveyed = Past::open(&source, root, 0).and_then(|past| {
        past.map(|past| Ok((past.history().clone(), past.unreadable(SURVEYED)?))).transpose()
    });
    match surveyed {
        Ok(None) => {}
        Ok(Some((history, unreadable))) => {
            status.entries = history.count();
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

/// Nodes of the history that a status looks at: some 100,000 entries.
const SURVEYED: usize = 4_096;
/// Entries looked at for one page: a bound on how long a call holds the store. For the texts, twice as many are.
const LOOKED: usize = 10_000;
