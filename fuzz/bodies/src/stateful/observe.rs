//! Looks at the history of a store, and compares it with the naive one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::past::{Past, Took};
use crate::model::{Memory, Refusal, Why};
use crate::store::{Store, store_error};
use inmost::internals::show_all;
use inmost::{FileError, HistorySettings, StoreError, VersionInfo, VersionQuery, VersionText};

/// The log, the oldest entry first.
pub(super) fn log(store: &Store) -> Result<Vec<VersionInfo>, StoreError> {
    let mut log = Vec::new();
    let mut before = None;
    loop {
        let page = store.session().history().page(&VersionQuery::all(), before, PAGE);
        let page = page.map_err(store_error)?;
        log.extend(page.items);
        before = page.next;
        if before.is_none() {
            log.reverse();
            return Ok(log);
        }
    }
}

/// All entries that there are, the oldest first.
pub(super) fn physical(store: &Store) -> Result<Vec<VersionInfo>, StoreError> {
    let log = log(store)?;
    let count = store.session().history().status()?.entries;
    if usize::try_from(count) == Ok(log.len()) {
        return Ok(log);
    }
    show_all(true);
    let all = self::log(store);
    show_all(false);
    let all = all?;
    assert_eq!(usize::try_from(count), Ok(all.len()), "another number of entries");
    Ok(all)
}

/// Compares the entries, the settings and the bytes, and learns what was removed and dropped. Returns whether anything was.
pub(super) fn compare(store: &Store, memory: &mut Memory, work: &Work) -> bool {
    let past = &mut memory.past;
    let log = log(store).unwrap();
    let all = physical(store).unwrap();
    if work.has_committed {
        past.mark_expired();
    }
    let removed = past.learn(&all);
    let listed: Vec<u64> = past.listed().map(|change| past.number(change)).collect();
    let found: Vec<u64> = log.iter().map(|version| version.number).collect();
    assert_eq!(found, listed, "other entries are listed");
    if work.has_committed {
        past.mark_room(&work.held);
    }
    let dropped = learn_texts(store, past);
    let status = store.session().history().status().unwrap();
    let (keep, room) = (past.limits.keep, past.limits.room);
    assert_eq!(status.settings, settings(keep, room));
    let (least, most) = past.bytes();
    assert!(
        (least..=most).contains(&status.bytes),
        "{} bytes are held, not {least} to {most}",
        status.bytes
    );
    if std::mem::take(&mut past.was_set) {
        assert!(is_trimmed(store, past), "{status:?}");
    }
    removed > 0 || dropped
}

/// Whether nothing is left to drop, by age or for want of room.
pub(super) fn is_trimmed(store: &Store, past: &Past) -> bool {
    store.session().history().status().unwrap().bytes <= past.limits.room && !past.has_expired()
}

/// What the commits of a step may have changed.
pub(super) struct Work {
    pub(super) has_committed: bool,
    /// What the entries held before the step.
    pub(super) held: BTreeMap<usize, u64>,
}

/// Finds out which entries have lost what they held, because there was no room: the first ones, up to some entry. Returns
/// whether there are new ones.
fn learn_texts(store: &Store, past: &mut Past) -> bool {
    past.limits.shows_all = true;
    show_all(true);
    let (mut last_gone, mut first_kept) = (0, u64::MAX);
    for holder in past.changes.iter().filter(|change| past.number(change) <= past.limits.may_drop) {
        let number = past.number(holder);
        let Some(version) = past.shows(holder) else { continue };
        match store.session().history().text(version) {
            Ok(text) => {
                let expected = past.text(version).unwrap();
                assert!(text.as_str() == &*expected.text, "another text: {holder:?}");
                first_kept = number;
                break;
            }
            Err(FileError::VersionGone(_)) => last_gone = number,
            Err(error) => panic!("{error}: {holder:?}"),
        }
    }
    past.limits.shows_all = false;
    show_all(false);
    let (may_drop, numbers) = (past.limits.may_drop, &past.numbers);
    for change in &mut past.changes {
        let number = numbers[&change.id];
        let holds = matches!(change.took, Took::File(_) | Took::Folder(_));
        change.unsure = holds && number > last_gone && number < first_kept && number <= may_drop;
    }
    past.drop_up_to(last_gone);
    last_gone > 0
}

/// Compares the texts of some versions, and what the log says of them: one in `every`, from this one on.
pub(super) fn compare_texts(store: &Store, memory: &Memory, from: usize, every: usize) {
    for version in log(store).unwrap().iter().skip(from % every).step_by(every) {
        let is_kept = store.session().history().text(version.number).is_ok();
        let listed = version.text;
        let is_right = listed != VersionText::Unknown && (listed == VersionText::Kept) == is_kept;
        assert!(is_right, "{version:?} is listed with {listed:?}");
    }
    let past = &memory.past;
    for change in past.changes.iter().skip(from % every).step_by(every) {
        // The version before the change may be older than the history.
        for number in [Some(past.number(change)), change.previous].into_iter().flatten() {
            let found = match store.session().history().text(number) {
                Ok(text) => Ok(text.as_str().to_owned()),
                Err(error) => Err(refusal(&error)),
            };
            let expected = past.text(number).map(|text| text.text.to_string());
            assert!(
                found == expected,
                "{number} of {change:?}\nhas      {found:?}\ninstead of {expected:?}"
            );
        }
    }
}

/// A small page, so that the pages are tested too.
const PAGE: usize = 30;

/// The settings of a history that keeps versions for these milliseconds.
pub(super) fn settings(keep: u64, room: u64) -> HistorySettings {
    HistorySettings::keep(Duration::from_millis(keep)).max_bytes(room)
}

pub(super) fn refusal(error: &FileError) -> Refusal {
    match error {
        FileError::VersionGone(_) => Refusal::Gone,
        FileError::IsAFolder(_) => Refusal::Folder,
        FileError::NoSuchVersion(number) => Refusal::None(*number),
        FileError::AlreadyExists => Why::Exists.into(),
        FileError::NotAFolder(file) => Why::ParentIsFile(file.as_str().to_owned()).into(),
        FileError::PathBelow(_) => Why::PathBelow.into(),
        FileError::FileTooLarge(limit) => {
            Why::FileTooLarge(usize::try_from(*limit).unwrap()).into()
        }
        FileError::TooManyFiles(_) => Why::TooManyFiles.into(),
        FileError::TooMuchText(_) => Why::TooMuchText.into(),
        other => panic!("unexpected error of the history: {other}"),
    }
}
