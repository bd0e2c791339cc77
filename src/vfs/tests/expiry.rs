//! Tests of expiry: which files expire, and that nothing else is a reading.

use super::model::{dump, of_days, parse, set_day};
use super::versions::{MONTH, log};
use crate::session::ledger::DAY;
use crate::session::tests::store::TestStore;
use crate::session::{ExpirySettings, HistorySettings, Session, time_of};
use crate::vfs::{ExpiryHindrance, ExpiryReport, NewFile, VersionChannel, VersionKind, edit};

pub(super) fn recording(settings: ExpirySettings) -> (TestStore, Session) {
    set_day(0);
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.expiry().set(settings).unwrap();
    (store, session)
}

fn write(session: &Session, name: &str) {
    session.files().write(&format!("/memories/{name}"), "text\n").unwrap();
}

fn write_all(session: &Session, names: &[&str]) {
    for name in names {
        write(session, name);
    }
}

fn read(session: &Session, name: &str) {
    session.files().read(&format!("/memories/{name}")).unwrap();
}

pub(super) fn expire(session: &Session, days: u64, dry_run: bool) -> ExpiryReport {
    session.expiry().expire(of_days(days), dry_run, |_| {}).unwrap()
}

pub(super) fn names(report: &ExpiryReport) -> Vec<&str> {
    assert_eq!(report.hindrance, None);
    report.files.iter().map(|file| file.path.as_str().trim_start_matches("/memories/")).collect()
}

/// Passes days with a change every ten of them, so that the clock is not in doubt.
fn pass(session: &Session, from: u64, to: u64) {
    for day in (from..to).step_by(10) {
        set_day(day);
        write(session, "clock");
    }
    set_day(to);
    write(session, "clock");
}

#[test]
fn a_file_that_is_neither_read_nor_changed_expires_and_comes_back() {
    let (_store, session) = recording(ExpirySettings::record());
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    write_all(&session, &["read", "changed", "unused", "folder/unused"]);
    pass(&session, 10, 40);
    read(&session, "read");
    write(&session, "changed");
    pass(&session, 50, 100);

    let before = dump(&session.without_recording()).unwrap();
    let planned = expire(&session, 90, true);
    assert_eq!(names(&planned), ["folder/unused", "unused"]);
    assert!(planned.files.iter().all(|file| file.version.is_none()));
    assert_eq!(planned.files[0].last_use, time_of(20_700 * DAY + DAY / 2));
    assert_eq!(dump(&session.without_recording()).unwrap(), before, "a dry run changes nothing");

    let report = expire(&session, 90, false);
    assert_eq!(names(&report), ["folder/unused", "unused"]);
    assert_eq!(report.bytes, 10);
    assert_eq!(session.status().unwrap().files, 3);
    let version = log(&session).into_iter().next().unwrap();
    assert_eq!((version.kind, version.channel), (VersionKind::Expired, VersionChannel::Expiry));
    assert_eq!(Some(version.number), report.files[1].version);

    session.history().restore(version.number, None).unwrap();
    read(&session, "unused");
    assert!(names(&expire(&session, 90, false)).is_empty(), "it counts as used when it is back");
    pass(&session, 110, 130);
    // The reading counts until the end of its day.
    assert_eq!(names(&expire(&session, 90, true)), ["changed"]);
    set_day(131);
    assert_eq!(names(&expire(&session, 90, true)), ["changed", "read"]);
}

#[test]
fn without_a_history_an_expired_file_is_gone() {
    let (store, session) = recording(ExpirySettings::record());
    write(&session, "unused");
    pass(&session, 10, 30);
    assert_eq!(names(&expire(&session, 20, false)), ["unused"]);
    assert!(log(&session).is_empty());
    drop(session);
    store.assert_tidy("after the expiry");
}

#[test]
fn a_store_that_does_not_record_readings_has_no_ledger_and_nothing_expires() {
    set_day(0);
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    write(&session, "a");
    read(&session, "a");
    write(&session, "b");
    set_day(200);
    let report = expire(&session, 1, false);
    assert_eq!((report.count(), report.hindrance), (0, Some(ExpiryHindrance::NotRecording)));
    assert!(!session.expiry().status().unwrap().settings.is_recording());
    assert!(store.root().readings.is_none());
}

#[test]
fn a_reading_alone_writes_nothing_and_neither_does_a_lock() {
    let (store, session) = recording(ExpirySettings::record());
    write(&session, "a");
    let before = store.values();
    for _ in 0..3 {
        read(&session, "a");
    }
    assert_eq!(store.values(), before);
    session.lock();
    assert_eq!(store.values(), before);

    let session = store.unlock().unwrap();
    read(&session, "a");
    write(&session, "b");
    assert_eq!(session.expiry().status().unwrap().readings, 1);
    // The same day again: the ledger stays as it is.
    let ledger = store.root().readings;
    read(&session, "a");
    write(&session, "c");
    assert_eq!(store.root().readings.tag.0, ledger.tag.0);
    assert_eq!(session.expiry().status().unwrap().readings, 1);
}

#[test]
fn recording_that_is_switched_on_late_lets_nothing_expire_at_once() {
    set_day(0);
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    write(&session, "old");
    pass(&session, 10, 200);
    session.expiry().set(ExpirySettings::record()).unwrap();
    assert!(names(&expire(&session, 90, false)).is_empty());
    pass(&session, 210, 290);
    assert_eq!(names(&expire(&session, 90, true)), ["old"]);
    // Setting the same again changes nothing.
    session.expiry().set(ExpirySettings::record()).unwrap();
    assert_eq!(names(&expire(&session, 90, true)), ["old"]);
}

#[test]
fn a_file_that_is_moved_or_imported_with_an_old_time_counts_as_used() {
    let (store, session) = recording(ExpirySettings::record());
    session.history().set(HistorySettings::keep(10 * MONTH)).unwrap();
    write_all(&session, &["moved", "folder/back", "folder/d/back", "unused"]);
    session.files().remove("/memories/folder").unwrap();
    let deletion = log(&session)[0].number;
    pass(&session, 10, 50);
    session.files().rename("/memories/moved", "/memories/new").unwrap();
    let old = time_of(1_000);
    let long = "line\n".repeat(20_000);
    let import = [
        NewFile::new("/memories/imported", "old\n").modified(old),
        NewFile::new("/memories/long", &long).modified(old),
    ];
    assert!(session.files().write_many(&import).unwrap().iter().all(Result::is_ok));
    session.history().restore(deletion, None).unwrap();
    pass(&session, 60, 90);
    // Another session, so that nothing is known but what is stored.
    session.lock();
    let session = store.unlock().unwrap();
    assert_eq!(names(&expire(&session, 45, true)), ["unused"]);
    set_day(99);
    let all = ["folder/back", "folder/d/back", "imported", "long", "new", "unused"];
    assert_eq!(names(&expire(&session, 45, true)), all);
}

#[test]
fn no_jump_of_the_clock_makes_files_expire() {
    let (store, session) = recording(ExpirySettings::record());
    write_all(&session, &["a", "b"]);
    drop(session);
    let doubted = |session: &Session| {
        let report = expire(session, 90, false);
        (report.count(), report.hindrance) == (0, Some(ExpiryHindrance::ClockInDoubt))
    };
    // Far ahead; then everything counts as used at that time.
    set_day(10_000);
    let session = store.unlock().unwrap();
    assert!(doubted(&session));
    assert!(names(&expire(&session, 90, false)).is_empty());
    drop(session);
    // Back again, by much.
    set_day(20);
    let session = store.unlock().unwrap();
    assert!(doubted(&session));
    read(&session, "a");
    write(&session, "clock");
    drop(session);
    // A change, and no expiry, comes first after the jump.
    set_day(5_000);
    let session = store.unlock().unwrap();
    write(&session, "clock");
    assert!(names(&expire(&session, 90, false)).is_empty());
    set_day(0);
    write(&session, "clock");
    assert!(names(&expire(&session, 90, false)).is_empty());
    // A little back: what was used later stays used.
    pass(&session, 10, 40);
    read(&session, "b");
    write(&session, "clock");
    set_day(20);
    read(&session, "a");
    write(&session, "clock");
    pass(&session, 50, 125);
    assert!(names(&expire(&session, 90, false)).is_empty());
    // The clock goes as it should: now both were unused for long.
    set_day(131);
    assert_eq!(names(&expire(&session, 90, false)), ["a", "b"]);
}

/// Each story: the day that the clock shows in a session on day 100, which changes two files.
#[test]
fn a_clock_that_is_behind_for_one_session_makes_no_file_expire_early() {
    for (name, shown) in [
        ("the clock is right", 100),
        ("behind by a day", 99),
        ("behind by 20 days", 80),
        ("behind by 29 days", 71),
        ("behind by 40 days", 60),
    ] {
        let (store, session) = recording(ExpirySettings::record());
        write(&session, "edited");
        pass(&session, 10, 100);
        drop(session);
        set_day(shown);
        let session = store.unlock().unwrap();
        write(&session, "new");
        let path = parse("/memories/edited");
        edit::insert(&session, &path, 0, "more\n").unwrap();
        drop(session);
        set_day(101);
        let session = store.unlock().unwrap();
        pass(&session, 101, 144);
        assert!(names(&expire(&session, 45, true)).is_empty(), "{name}");
        pass(&session, 145, 148);
        assert_eq!(names(&expire(&session, 45, true)), ["edited", "new"], "{name}");
    }
}

#[test]
fn a_store_that_nobody_used_for_long_loses_nothing() {
    let (store, session) = recording(ExpirySettings::at_unlock(of_days(90)));
    write(&session, "a");
    drop(session);
    set_day(300);
    let session = store.unlock().unwrap();
    assert_eq!(session.status().unwrap().files, 1);
    let status = session.expiry().status().unwrap();
    assert_eq!(status.since, Some(time_of(21_000 * DAY + DAY / 2)));
    assert_eq!(status.last_expiry, status.since);
}

#[test]
fn files_expire_at_an_unlock_once_a_day() {
    let (store, session) = recording(ExpirySettings::at_unlock(of_days(60)));
    session.history().set(HistorySettings::keep(MONTH)).unwrap();
    write_all(&session, &["a", "b"]);
    pass(&session, 10, 50);
    read(&session, "b");
    write(&session, "clock");
    assert_eq!(session.status().unwrap().files, 3);
    drop(session);
    set_day(70);
    let session = store.unlock().unwrap();
    assert!(!session.files().exists("/memories/a").unwrap());
    assert!(session.files().exists("/memories/b").unwrap());
    assert_eq!(log(&session)[0].kind, VersionKind::Expired);
    drop(session);
    let before = store.values();
    drop(store.unlock().unwrap());
    assert_eq!(store.values(), before, "a second unlock on that day writes nothing");
    set_day(72);
    drop(store.unlock().unwrap());
    assert_ne!(store.values(), before);
}

#[test]
fn a_file_that_is_used_after_the_plan_stays() {
    let (_store, session) = recording(ExpirySettings::record());
    write_all(&session, &["a", "b", "c"]);
    pass(&session, 10, 40);
    let mut expired = Vec::new();
    let report = session.expiry().expire(of_days(30), false, |done| {
        // After the first file was deleted.
        if done == 1 {
            read(&session, "b");
            session.files().rename("/memories/c", "/memories/moved").unwrap();
        }
    });
    expired.extend(names(&report.unwrap()).iter().map(|name| (*name).to_owned()));
    assert_eq!(expired, ["a"]);
    assert!(session.files().exists("/memories/b").unwrap());
    assert!(session.files().exists("/memories/moved").unwrap());
}

#[test]
fn readings_of_deleted_files_go_and_switching_off_removes_the_ledger() {
    let (store, session) = recording(ExpirySettings::record());
    for number in 0..1_200 {
        let path = format!("/memories/{}/{number}", number % 5);
        let file = NewFile::new(&path, "text\n").modified(time_of(DAY));
        session.files().write_many(&[file]).unwrap();
    }
    assert_eq!(session.expiry().status().unwrap().readings, 1_200);
    let ledger = store.root().readings.id;
    let of_ledger = |store: &TestStore, ledger| {
        store.reachable().into_keys().filter(|id| id.object == ledger).count()
    };
    assert!(of_ledger(&store, ledger) > 5);
    session.files().remove("/memories/1").unwrap();
    session.files().remove("/memories/2").unwrap();
    assert!(names(&expire(&session, 30, false)).is_empty());
    assert_eq!(session.expiry().status().unwrap().readings, 720);
    session.files().remove("/memories/3").unwrap();
    session.compact().unwrap();
    assert_eq!(session.expiry().status().unwrap().readings, 480);
    assert!(names(&expire(&session, 30, true)).is_empty());

    let ledger = store.root().readings.id;
    session.expiry().set(ExpirySettings::off()).unwrap();
    // As with any deleted file, later commits remove the rest.
    write(&session, "another");
    assert!(store.root().readings.is_none());
    assert_eq!(of_ledger(&store, ledger), 0);
    super::versions::assert_whole(&session, "recording is off");
    drop(session);
    store.assert_tidy("recording is off");
}

#[test]
fn a_purge_and_a_backup_without_versions_drop_the_readings() {
    let folder = tempfile::tempdir().unwrap();
    let options = crate::session::tests::store::options().expiry(ExpirySettings::record());
    let passphrase = crate::session::tests::store::passphrase();
    set_day(0);
    let session = options.create(folder.path().join("store"), &passphrase).unwrap();
    write_all(&session, &["a", "b"]);
    pass(&session, 10, 20);
    read(&session, "a");
    write(&session, "clock");
    let open = |name: &str| {
        let vault = crate::session::VaultOptions::open(&options, folder.path().join(name));
        vault.unwrap().unlock(&passphrase).unwrap()
    };
    session.backup(folder.path().join("plain")).unwrap();
    session.backup_with_versions(folder.path().join("whole")).unwrap();
    let (plain, whole) = (open("plain"), open("whole"));
    assert_eq!(plain.expiry().status().unwrap().readings, 0);
    assert_eq!(whole.expiry().status().unwrap().readings, 1);
    assert!(names(&expire(&plain, 15, true)).is_empty(), "every file counts as used");
    assert_eq!(names(&expire(&whole, 15, true)), ["b"]);

    session.purge().unwrap();
    let status = session.expiry().status().unwrap();
    assert_eq!((status.readings, status.settings), (0, ExpirySettings::record()));
    assert!(names(&expire(&session, 15, true)).is_empty());
}
