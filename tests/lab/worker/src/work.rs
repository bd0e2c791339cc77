//! The work: several threads call the tool, and each records a call only after it has returned.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use inmost::{
    FileError, HistorySettings, KdfCost, MemoryTool, NewSlot, Session, StorageEngine, StoreError,
    Vault, VaultOptions, VersionQuery,
};
use serde_json::{Value, json};

use crate::plan::{self, Position, Settings, Step};
use crate::verify::{self, Acknowledged, FirstKey, Wrong};

/// The cheapest key derivation that the library accepts.
const CHEAP: KdfCost = KdfCost::new(19 << 10, 2, 1);

/// Continues after the last acknowledged step, until killed. `before` holds the acknowledgements of an earlier run. With
/// LAB_SESSION_MS, the store is locked and opened again each time after so many milliseconds. With LAB_IDLE_MS, no call
/// begins for so long after each 200 ms.
pub fn work(
    store: &Path,
    ack: &Path,
    before: Option<&Path>,
    settings: Settings,
) -> Result<(), Wrong> {
    let length = std::env::var("LAB_SESSION_MS").ok().map(|it| it.parse().expect("milliseconds"));
    let length = length.map(Duration::from_millis);
    loop {
        work_in_session(store, ack, before, settings, length)?;
    }
}

/// Ends after `length`, with the store locked; without, it never ends.
fn work_in_session(
    store: &Path,
    ack: &Path,
    before: Option<&Path>,
    settings: Settings,
    length: Option<Duration>,
) -> Result<(), Wrong> {
    let paths: Vec<&Path> = before.into_iter().chain([ack]).collect();
    let acknowledged = Acknowledged::read(&paths);
    let ack = OpenOptions::new().create(true).append(true).open(ack).expect("the ack file");
    note(&ack, "A begun");
    let mut session = match verify::unlock(store, &acknowledged)? {
        Some(session) => session,
        None => create(store),
    };
    if !verify::is_fresh(&session)? {
        // After a kill it never is. After a power cut it may be, but the next cut has to begin from a store whose
        // freshness is known.
        if before.is_none() {
            return Err(Wrong("freshness", "unknown after a kill".into()));
        }
        session.lock();
        session = verify::accept(store)?;
    }
    note(&ack, "A created");
    let next = verify::verify(store, &session, &settings, &acknowledged)?;
    for (thread, at) in (0..).zip(&next) {
        // A step that was in progress and took effect must not disappear any more.
        if at.step > 0 {
            note(&ack, &format!("A {thread} {} {}", at.round, at.step - 1));
        }
    }
    note(&ack, "R");
    let end = length.map(|length| Instant::now() + length);
    std::thread::scope(|scope| {
        for (thread, at) in (0..).zip(next) {
            let (session, ack, acknowledged) = ((store, &session), &ack, &acknowledged);
            scope.spawn(move || go_on(session, ack, acknowledged, &settings, thread, at, end));
        }
    });
    session.lock();
    Ok(())
}

pub fn create(store: &Path) -> Session {
    let engine = engine();
    let options = VaultOptions::new().kdf_cost(CHEAP).engine(engine).history(history());
    let created = options.create_with(store, FirstKey::of_environment().credential());
    created.unwrap_or_else(|error| fail("create", &error))
}

fn engine() -> StorageEngine {
    match std::env::var("LAB_ENGINE").as_deref() {
        Ok("redb") => StorageEngine::Redb,
        Ok("sled") | Err(_) => StorageEngine::Sled,
        Ok(other) => panic!("LAB_ENGINE is sled or redb, not {other}"),
    }
}

fn migrate(session: &Session, back: bool) -> Result<(), StoreError> {
    session.migrate(match (engine(), back) {
        (StorageEngine::Sled, true) | (StorageEngine::Redb, false) => StorageEngine::Sled,
        _ => StorageEngine::Redb,
    })
}

/// The settings of the history: with LAB_HISTORY=1 versions are kept, in so little room that texts are dropped all the time.
fn history() -> HistorySettings {
    if std::env::var_os("LAB_HISTORY").is_none_or(|value| value != "1") {
        return HistorySettings::off();
    }
    HistorySettings::keep(Duration::from_secs(24 * 60 * 60)).max_bytes(4 << 20)
}

fn go_on(
    (store, session): (&Path, &Session),
    ack: &File,
    acknowledged: &Acknowledged,
    settings: &Settings,
    thread: u64,
    mut at: Position,
    end: Option<Instant>,
) {
    let tool = MemoryTool::new(session.clone());
    loop {
        let mut steps = acknowledged.round(settings, thread, at.round);
        let mut has_ended = acknowledged.ended.contains_key(&(thread, at.round));
        let mut refusals = 0;
        while at.step < steps.len() {
            if end.is_some_and(|end| Instant::now() >= end) {
                return;
            }
            rest();
            let step = &steps[at.step];
            if matches!(step, Step::Purge | Step::Compact) {
                std::thread::sleep(Duration::from_millis(settings.purge_every));
            }
            note(ack, &format!("B {thread} {} {}", at.round, at.step));
            match make(store, session, &tool, step) {
                Ok(()) => {
                    note(ack, &format!("A {thread} {} {}", at.round, at.step));
                    at.step += 1;
                }
                Err(StoreError::DiskFull) if verify::is_disk_small() && !has_ended => {
                    note(ack, &format!("E {thread} {} {}", at.round, at.step));
                    steps = plan::ended(steps, at.step);
                    has_ended = true;
                }
                // What empties a folder must be possible, at the latest when the other threads have emptied theirs.
                Err(StoreError::DiskFull) if verify::is_disk_small() && refusals < REFUSALS => {
                    refusals += 1;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => {
                    fail(&format!("thread {thread}, {at:?}, {refusals} refusals"), &error)
                }
            }
        }
        at = Position { round: at.round + 1, step: 0 };
    }
}

/// Waits while no thread is to begin a call.
fn rest() {
    let Ok(idle) = std::env::var("LAB_IDLE_MS") else { return };
    let idle: u128 = idle.parse().expect("LAB_IDLE_MS");
    let begun = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |it| it.as_millis());
    let phase = begun % (BUSY + idle);
    if phase >= BUSY {
        std::thread::sleep(Duration::from_millis((BUSY + idle - phase) as u64));
    }
}

fn make(store: &Path, session: &Session, tool: &MemoryTool, step: &Step) -> Result<(), StoreError> {
    let call = match step {
        Step::Create(path, text) => json!({"command": "create", "path": path, "file_text": text}),
        Step::Insert(path, line, text) => {
            json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
        }
        Step::Replace(path, old, new) => {
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        }
        Step::Delete(path) => json!({"command": "delete", "path": path}),
        Step::Rename(from, to) => json!({"command": "rename", "old_path": from, "new_path": to}),
        Step::Purge => return session.purge(),
        Step::Compact => return session.compact(),
        Step::Rotate => {
            return session.rotate(FirstKey::of_environment().credential()).map(drop);
        }
        Step::Forget(path) => return stored(session.history().forget(path, None, |_| {}).map(drop)),
        Step::Restore(path, text) => return stored(restore(session, path, text)),
        Step::ForgetOld(path) => return stored(forget_old(session, path)),
        Step::Migrate { back } => return migrate(session, *back),
        Step::Backup(number) => return session.backup(verify::copy_of(store, *number)),
        Step::DestroyCopy(number) => {
            return match Vault::destroy(verify::copy_of(store, *number)) {
                // A crash has left less than a store.
                Err(StoreError::NotAStore) => Ok(()),
                destroyed => destroyed,
            };
        }
        Step::AddSlot | Step::ReplaceSlot | Step::RemoveSlot => return change_slots(session, step),
    };
    let result = tool.try_run_json(call.to_string())?;
    if result.is_error() {
        fail(&call.to_string(), &result.content());
    }
    Ok(())
}

/// A request to the history may fail only for a reason of the store.
fn stored(result: Result<(), FileError>) -> Result<(), StoreError> {
    result.map_err(|error| match error {
        FileError::Store(error) => error,
        error => fail("history", &error),
    })
}

/// Brings back the version before the newest. Without a history, or if its text was dropped for lack of room, writes the text.
fn restore(session: &Session, path: &str, text: &str) -> Result<(), FileError> {
    let history = session.history();
    let newest = history.page(&VersionQuery::all().path(path), None, 1)?.items.pop();
    if let Some(before) = newest.and_then(|version| version.previous) {
        match history.restore(before, None) {
            Err(FileError::VersionGone(_) | FileError::NoSuchVersion(_)) => {}
            restored => return restored.map(drop),
        }
    }
    session.files().write(path, text)
}

/// Forgets the earlier versions of a file.
fn forget_old(session: &Session, path: &str) -> Result<(), FileError> {
    let history = session.history();
    let page = history.page(&VersionQuery::all().path(path), None, 2)?;
    let until = page.items.last().map(|version| version.number);
    history.forget(path, until, |_| {}).map(drop)
}

fn change_slots(session: &Session, step: &Step) -> Result<(), StoreError> {
    let slots = session.slots()?;
    let [first, ..] = slots.as_slice() else { unreachable!("a store has a keyslot") };
    match step {
        Step::AddSlot => session.add_slot(&NewSlot::new(&verify::second_key())).map(drop),
        Step::ReplaceSlot => {
            let key = FirstKey::of_environment();
            session.replace_slot(first.number(), &NewSlot::new(key.credential()).kdf_cost(CHEAP))
        }
        _ => slots.iter().skip(1).try_for_each(|slot| session.remove_slot(slot.number())),
    }
}

/// Makes one call. Any failure ends the program.
pub fn run_call(tool: &MemoryTool, call: &Value) {
    match tool.try_run_json(call.to_string()) {
        Ok(result) if !result.is_error() => {}
        Ok(result) => fail(&call.to_string(), &result.content()),
        Err(error) => fail(&call.to_string(), &error),
    }
}

/// Milliseconds between two idle times.
const BUSY: u128 = 200;
/// How often the emptying of a folder may be refused on a full disk.
const REFUSALS: u32 = 1_000;

fn note(ack: &File, line: &str) {
    let mut ack = ack;
    ack.write_all(format!("{line}\n").as_bytes()).expect("the ack file");
}

fn fail(what: &str, error: &dyn std::fmt::Display) -> ! {
    let what: String = what.chars().take(80).collect();
    eprintln!("FAILED {what}: {error}");
    std::process::exit(3)
}
