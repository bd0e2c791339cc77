//! What must be true of a store after a cut or a kill.

use std::collections::HashMap;
use std::path::Path;

use inmost::{AnchorStatus, EntryKind, Passphrase, RawKey, Session, StoreError, Vault};

use crate::plan::{self, Files, Position, SLOT, Settings};

/// What was acknowledged.
#[derive(Default)]
pub struct Acknowledged {
    /// Whether the creation of the store was.
    pub created: bool,
    /// The last step of each thread.
    pub steps: HashMap<u64, Position>,
}

impl Acknowledged {
    /// Reads lines `A created` and `A thread round step`; others are of no concern.
    pub fn read(path: &Path) -> Self {
        let mut acknowledged = Self::default();
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let Some(what) = line.strip_prefix("A ") else { continue };
            acknowledged.created |= what == "created";
            let numbers: Vec<u64> = what.split(' ').filter_map(|it| it.parse().ok()).collect();
            if let [thread, round, step] = numbers[..] {
                let position = Position { round, step: step as usize };
                acknowledged.steps.insert(thread, position);
            }
        }
        acknowledged
    }
}

/// Why a store is not what it must be: a word to count, and the rest.
pub struct Wrong(pub &'static str, pub String);

pub fn passphrase() -> Passphrase {
    Passphrase::new("a passphrase for the laboratory").expect("a passphrase")
}

/// What opens the store while it has a second keyslot.
pub fn second_key() -> RawKey {
    RawKey::from_bytes(&[0x5a; 32])
}

/// Opens the store; `None` if there rightly is none.
pub fn unlock(store: &Path, acknowledged: &Acknowledged) -> Result<Option<Session>, Wrong> {
    match Vault::open(store).and_then(|mut vault| vault.unlock(&passphrase())) {
        Ok(session) => Ok(Some(session)),
        Err(StoreError::NotAStore) if !acknowledged.created => Ok(None),
        Err(StoreError::NotAStore) => Err(Wrong("lost", "the whole store".into())),
        Err(error @ (StoreError::RolledBack { .. } | StoreError::HeaderRolledBack { .. })) => {
            Err(Wrong("false-alarm", error.to_string()))
        }
        Err(error) => Err(Wrong("unopened", format!("{error} {error:?}"))),
    }
}

/// Checks every record and compares every file; answers the next step of each thread.
pub fn verify(
    session: &Session,
    settings: &Settings,
    acknowledged: &Acknowledged,
) -> Result<Vec<Position>, Wrong> {
    let report = session.check().map_err(|error| Wrong("unreadable", error.to_string()))?;
    if !report.is_clean() {
        return Err(Wrong("damaged", format!("{:?}", report.problems)));
    }
    let mut all = Files::new();
    collect(session, "/memories", &mut all)?;
    let slots = session.slots().map_err(|error| Wrong("slots", error.to_string()))?;
    if slots.len() > 1 {
        all.insert(SLOT.to_owned(), String::new());
    }
    let mut next = Vec::new();
    for thread in 0..settings.threads {
        let below = format!("{}/", plan::folder(thread));
        let found: Files = all.extract_if(.., |path, _| path.starts_with(&below)).collect();
        next.push(position(settings, thread, acknowledged.steps.get(&thread), &found)?);
    }
    match all.keys().find(|path| **path != EXTRA) {
        Some(path) => Err(Wrong("foreign", path.clone())),
        None => Ok(next),
    }
}

/// Writes once more, and reads that in a new session. The second credential opens the store exactly if it has a keyslot.
pub fn verify_writable(store: &Path, session: Session) -> Result<(), Wrong> {
    let wrong = |error: &dyn std::fmt::Display| Wrong("unusable", error.to_string());
    let slots = session.slots().map_err(|error| wrong(&error))?.len();
    let anchor = session.status().map_err(|error| wrong(&error))?.anchor;
    if anchor != AnchorStatus::Active {
        return Err(Wrong("anchor", format!("{anchor:?}")));
    }
    session.files().write(EXTRA, "written afterwards\n").map_err(|error| wrong(&error))?;
    session.lock();
    drop(session);
    let second = Vault::open(store).and_then(|mut vault| vault.unlock_with(&second_key()));
    if second.is_ok() != (slots > 1) {
        return Err(Wrong("slots", format!("there are {slots}, and the second key: {:?}", second.err())));
    }
    drop(second);
    let session = Vault::open(store)
        .and_then(|mut vault| vault.unlock(&passphrase()))
        .map_err(|error| wrong(&error))?;
    let text = session.files().read(EXTRA).map_err(|error| wrong(&error))?;
    if text.as_str() == "written afterwards\n" {
        Ok(())
    } else {
        Err(Wrong("unusable", "another text".into()))
    }
}

/// The state after the last acknowledged step, or after the one that was under way.
fn position(
    settings: &Settings,
    thread: u64,
    acknowledged: Option<&Position>,
    found: &Files,
) -> Result<Position, Wrong> {
    let at = acknowledged.map_or(Position::default(), |it| Position { step: it.step + 1, ..*it });
    let mut steps = plan::round(settings, thread, at.round);
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
    if step == steps.len() {
        (round, step) = (round + 1, 0);
        steps = plan::round(settings, thread, round);
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
            None => return format!("{path} is not there"),
            Some(other) if other != text => {
                return format!("{path} has {} bytes, not {}, or others", other.len(), text.len());
            }
            Some(_) => {}
        }
    }
    let extra = found.keys().find(|path| !expected.contains_key(*path));
    format!("{extra:?} is there")
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

const EXTRA: &str = "/memories/afterwards";
