//! Checks a store after a power cut or a kill.

use std::collections::HashMap;
use std::path::Path;

use inmost::{
    AnchorStatus, Credential, EntryKind, FileError, Passphrase, RawKey, Session, StoreError, Vault,
    VersionKind, VersionQuery,
};

use crate::copies;
pub use crate::copies::copy_of;
use crate::plan::{self, COPY, Files, Position, SLOT, Settings, Step};

/// Everything that was acknowledged.
#[derive(Clone, Default)]
pub struct Acknowledged {
    /// Whether the creation of the store was acknowledged.
    pub created: bool,
    /// The last acknowledged step of each thread.
    pub steps: HashMap<u64, Position>,
    /// By thread and round: the step at which a full disk ended the round.
    pub ended: HashMap<(u64, u64), usize>,
}

impl Acknowledged {
    /// Reads the lines `A created`, `A thread round step` and `E thread round step`, and ignores others. A later file
    /// continues an earlier one.
    pub fn read(paths: &[&Path]) -> Self {
        let mut acknowledged = Self::default();
        for path in paths {
            acknowledged.add(&std::fs::read_to_string(path).unwrap_or_default());
        }
        acknowledged
    }

    /// Adds the lines of a text.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            let Some((kind @ ("A" | "E"), what)) = line.split_once(' ') else { continue };
            self.created |= what == "created";
            let numbers: Vec<u64> = what.split(' ').filter_map(|it| it.parse().ok()).collect();
            let [thread, round, step] = numbers[..] else { continue };
            let step = step as usize;
            if kind == "A" {
                self.steps.insert(thread, Position { round, step });
            } else {
                self.ended.insert((thread, round), step);
            }
        }
    }

    /// The steps of one round, as far as a full disk allowed them.
    pub fn round(&self, settings: &Settings, thread: u64, round: u64) -> Vec<Step> {
        let steps = plan::round(settings, thread, round);
        match self.ended.get(&(thread, round)) {
            Some(end) => plan::ended(steps, *end),
            None => steps,
        }
    }
}

/// Whether the work is meant to fill its disk: then a refused step ends its round.
pub fn is_disk_small() -> bool {
    std::env::var_os("LAB_FULL").is_some()
}

/// Why a store is wrong: a word for the counts, and the details.
pub struct Wrong(pub &'static str, pub String);

/// What opens the store: a passphrase, or with LAB_KEY=raw a key, whose derivation takes no time.
pub enum FirstKey {
    Passphrase(Passphrase),
    Raw(RawKey),
}

impl FirstKey {
    pub fn of_environment() -> Self {
        if std::env::var("LAB_KEY").is_ok_and(|value| value == "raw") {
            return Self::Raw(RawKey::from_bytes(&[0xa5; 32]));
        }
        Self::Passphrase(Passphrase::new("a passphrase for the laboratory").expect("a passphrase"))
    }

    pub fn credential(&self) -> Credential<'_> {
        match self {
            Self::Passphrase(passphrase) => passphrase.into(),
            Self::Raw(key) => key.into(),
        }
    }
}

/// The key that opens the store while it has a second keyslot.
pub fn second_key() -> RawKey {
    RawKey::from_bytes(&[0x5a; 32])
}

/// Opens the store. Returns `None` if it does not exist and its creation was not acknowledged.
pub fn unlock(store: &Path, acknowledged: &Acknowledged) -> Result<Option<Session>, Wrong> {
    match unlock_first(store) {
        Ok(session) => Ok(Some(session)),
        Err(StoreError::NotAStore) if !acknowledged.created => Ok(None),
        Err(StoreError::NotAStore) => Err(Wrong("lost", "the whole store".into())),
        Err(error @ (StoreError::RolledBack { .. } | StoreError::HeaderRolledBack { .. })) => {
            Err(Wrong("false-alarm", error.to_string()))
        }
        Err(error) => Err(Wrong("unopened", format!("{error} {error:?}"))),
    }
}

pub fn unlock_first(store: &Path) -> Result<Session, StoreError> {
    let key = FirstKey::of_environment();
    Vault::open(store)?.unlock_with(key.credential())
}

/// A store in which nothing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Found {
    Store,
    StoreOfUnknownFreshness,
    /// None yet: its creation was not acknowledged.
    Nothing,
}

impl Found {
    /// What `replay.py` reads.
    pub fn words(self) -> &'static str {
        match self {
            Self::Store => "ok",
            Self::StoreOfUnknownFreshness => "ok, freshness unknown",
            Self::Nothing => "ok none yet",
        }
    }
}

/// Opens the store, compares it with what was acknowledged, and goes on with it.
pub fn check(
    store: &Path,
    settings: &Settings,
    acknowledged: &Acknowledged,
) -> Result<Found, Wrong> {
    let Some(session) = unlock(store, acknowledged)? else { return Ok(Found::Nothing) };
    verify(store, &session, settings, acknowledged)?;
    let is_fresh = is_fresh(&session)?;
    verify_writable(store, session)?;
    if is_fresh {
        return Ok(Found::Store);
    }
    accept(store)?.lock();
    Ok(Found::StoreOfUnknownFreshness)
}

/// Whether the store's freshness is known. Anything but known and unknown is an error.
pub fn is_fresh(session: &Session) -> Result<bool, Wrong> {
    match session.status().map_err(|error| Wrong("unusable", error.to_string()))?.anchor {
        AnchorStatus::Known => Ok(true),
        AnchorStatus::Unknown => Ok(false),
        // The sync of the anchor failed, as it is meant to.
        AnchorStatus::Failing if std::env::var_os("LAB_FAIL").is_some() => Ok(true),
        anchor => Err(Wrong("anchor", format!("{anchor:?}"))),
    }
}

/// Opens the store and takes its freshness as known, which it must be from then on.
pub fn accept(store: &Path) -> Result<Session, Wrong> {
    let accepted = Vault::open(store)
        .and_then(|mut vault| {
            vault.unlock_accepting_rollback(FirstKey::of_environment().credential())
        })
        .map_err(|error| Wrong("unaccepted", error.to_string()))?;
    if is_fresh(&accepted)? { Ok(accepted) } else { Err(Wrong("unaccepted", String::new())) }
}

/// Checks every record and compares every file. Returns the next step of each thread.
pub fn verify(
    store: &Path,
    session: &Session,
    settings: &Settings,
    acknowledged: &Acknowledged,
) -> Result<Vec<Position>, Wrong> {
    let report = session.check().map_err(|error| Wrong("unreadable", error.to_string()))?;
    if !report.is_clean() {
        return Err(Wrong("damaged", format!("{:?}", report.problems)));
    }
    // An interrupted rewrite is attributed to itself: what it left is removed, not set aside.
    let set_aside = session.set_aside().map_err(|error| Wrong("unreadable", error.to_string()))?;
    if !set_aside.is_empty() {
        return Err(Wrong("set aside", format!("{set_aside:?}")));
    }
    verify_history(session)?;
    let mut all = Files::new();
    collect(session, "/memories", &mut all)?;
    let slots = session.slots().map_err(|error| Wrong("slots", error.to_string()))?;
    if slots.len() > 1 {
        all.insert(SLOT.to_owned(), String::new());
    }
    let copies = copies::find(store)?;
    if copies.are_there() {
        all.insert(COPY.to_owned(), String::new());
    }
    copies.verify(settings, acknowledged)?;
    let mut next = Vec::new();
    for thread in 0..settings.threads {
        let below = format!("{}/", plan::folder(thread));
        let found: Files = all.extract_if(.., |path, _| path.starts_with(&below)).collect();
        next.push(position(settings, thread, acknowledged, &found)?);
    }
    match all.keys().find(|path| **path != EXTRA) {
        Some(path) => Err(Wrong("foreign", path.clone())),
        None => Ok(next),
    }
}

/// Reads the newest versions. A text may be gone, but what is there has the length that its entry says.
fn verify_history(session: &Session) -> Result<(), Wrong> {
    let wrong = |error: &dyn std::fmt::Display| Wrong("history", error.to_string());
    let history = session.history();
    let status = history.status().map_err(|error| wrong(&error))?;
    if status.is_damaged || status.lost_before.is_some() {
        return Err(wrong(&format!("{status:?}")));
    }
    let page = history.page(&VersionQuery::all(), None, VERSIONS).map_err(|error| wrong(&error))?;
    for version in page.items {
        if version.file.is_none() || version.kind == VersionKind::Deleted {
            continue;
        }
        match history.text(version.number) {
            Ok(text) if text.as_str().len() as u64 == version.bytes => {}
            Ok(text) => {
                let bytes = text.as_str().len();
                return Err(wrong(&format!("{version:?} has {bytes} bytes")));
            }
            Err(FileError::VersionGone(_)) => {}
            Err(error) => return Err(wrong(&format!("{version:?}: {error}"))),
        }
    }
    Ok(())
}

/// Writes once more and reads it in a new session. The second credential must open the store exactly if it
/// has a keyslot.
pub fn verify_writable(store: &Path, session: Session) -> Result<(), Wrong> {
    let wrong = |error: &dyn std::fmt::Display| Wrong("unusable", error.to_string());
    let slots = session.slots().map_err(|error| wrong(&error))?.len();
    let written = match session.files().write(EXTRA, "written afterwards\n") {
        Ok(()) => true,
        // A full disk refuses a new file.
        Err(FileError::Store(StoreError::DiskFull)) if is_disk_small() => false,
        Err(error) => return Err(wrong(&error)),
    };
    session.lock();
    drop(session);
    let second = Vault::open(store).and_then(|mut vault| vault.unlock_with(&second_key()));
    if second.is_ok() != (slots > 1) {
        return Err(Wrong(
            "slots",
            format!("there are {slots}; the second key returned {:?}", second.err()),
        ));
    }
    drop(second);
    let session = unlock_first(store).map_err(|error| wrong(&error))?;
    if !written {
        return Ok(());
    }
    let text = session.files().read(EXTRA).map_err(|error| wrong(&error))?;
    if text.as_str() == "written afterwards\n" {
        Ok(())
    } else {
        Err(Wrong("unusable", "the text differs".into()))
    }
}

/// Finds the state after the last acknowledged step, or after the step that was in progress.
fn position(
    settings: &Settings,
    thread: u64,
    acknowledged: &Acknowledged,
    found: &Files,
) -> Result<Position, Wrong> {
    let last = acknowledged.steps.get(&thread);
    let at = last.map_or(Position::default(), |it| Position { step: it.step + 1, ..*it });
    let mut steps = acknowledged.round(settings, thread, at.round);
    let mut expected = Files::new();
    let mut earlier = None;
    for (index, step) in steps.iter().take(at.step).enumerate() {
        if expected == *found {
            earlier = Some(index);
        }
        step.make_in(&mut expected);
    }
    if expected == *found {
        return Ok(at);
    }
    let (mut round, mut step) = (at.round, at.step);
    while step >= steps.len() {
        (round, step) = (round + 1, 0);
        steps = acknowledged.round(settings, thread, round);
    }
    let difference = difference(&expected, found);
    steps[step].make_in(&mut expected);
    if expected == *found {
        return Ok(Position { round, step: step + 1 });
    }
    let what = if earlier.is_some() { "lost" } else { "torn" };
    Err(Wrong(what, format!("thread {thread} at {at:?}, found {earlier:?}: {difference}")))
}

fn difference(expected: &Files, found: &Files) -> String {
    for (path, text) in expected {
        match found.get(path) {
            None => return format!("{path} is missing"),
            Some(other) if other != text => {
                return format!(
                    "{path} has {} bytes instead of {}, or other content",
                    other.len(),
                    text.len()
                );
            }
            Some(_) => {}
        }
    }
    let extra = found.keys().find(|path| !expected.contains_key(*path));
    format!("{extra:?} is unexpected")
}

fn collect(session: &Session, folder: &str, all: &mut Files) -> Result<(), Wrong> {
    let wrong = |error: &dyn std::fmt::Display| Wrong("unreadable", format!("{folder}: {error}"));
    for entry in session.files().list(folder).map_err(|error| wrong(&error))? {
        let path = format!("{folder}/{}", entry.name);
        if matches!(entry.metadata.kind, EntryKind::Folder) {
            collect(session, &path, all)?;
        } else {
            let text = session.files().read(&path).map_err(|error| wrong(&error))?;
            all.insert(path, text.as_str().to_owned());
        }
    }
    Ok(())
}

/// Versions whose texts are read.
const VERSIONS: usize = 150;
const EXTRA: &str = "/memories/afterwards";
