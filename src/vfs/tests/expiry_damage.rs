//! Tampers with every record of a ledger of readings: the store stays as it is and can be changed, and nothing expires.

use super::model::{dump, of_days, set_day};
use crate::session::tests::store::{TestStore, options, passphrase};
use crate::session::{ExpirySettings, Session, StoreError, VaultOptions, time_of};
use crate::vfs::{ExpiryHindrance, NewFile};
use inmost_format::record::Kind;

/// Damages the value of a record.
type Damage = fn(&mut Vec<u8>);

const FLIPS: [Option<Damage>; 4] =
    [Some(|value| value[40] ^= 1), Some(|value| value.truncate(99)), Some(Vec::clear), None];

fn fill(session: &Session, files: usize) {
    let paths: Vec<String> = (0..files).map(|number| format!("/memories/{number:05}")).collect();
    let files: Vec<NewFile<'_>> =
        paths.iter().map(|path| NewFile::new(path, "text\n").modified(time_of(1))).collect();
    assert!(session.files().write_many(&files).unwrap().iter().all(Result::is_ok));
}

/// Records readings of files that are not there.
fn record(session: &Session, readings: u64) {
    let files: Vec<u64> = (0..readings).map(|number| 1_000_000 + number * 64).collect();
    let mut rest = files.as_slice();
    while !rest.is_empty() {
        let done = session.write(|txn| Ok::<_, StoreError>(txn.record_use(rest)?)).unwrap();
        rest = &rest[done..];
    }
}

/// A store in which nothing was used for 60 days, and that knows it. Its ledger has inner nodes.
fn filled() -> TestStore {
    set_day(0);
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    session.expiry().set(ExpirySettings::record()).unwrap();
    fill(&session, 400);
    record(&session, 30_000);
    for day in [20, 40, 60] {
        set_day(day);
        session.files().write("/memories/clock", "text\n").unwrap();
    }
    store
}

#[test]
fn damage_to_the_ledger_stops_no_call_and_lets_nothing_expire() {
    let filled = filled();
    let session = filled.unlock().unwrap();
    let files = dump(&session.without_recording()).unwrap();
    let expired = session.expiry().expire(of_days(50), true, |_| {}).unwrap();
    assert_eq!((expired.count(), expired.unlisted), (400, 0));
    drop(session);
    let ledger = filled.root().readings.id;
    for kind in [Kind::File, Kind::FileInner, Kind::Chunk] {
        let mut records = filled.records_of(kind);
        records.retain(|id| id.object == ledger);
        let at = filled.address(records[records.len() / 2]);
        for (number, damage) in FLIPS.iter().enumerate() {
            let context = format!("{kind:?}, {number}");
            let store = filled.duplicate();
            store.tamper(|records| match damage {
                Some(damage) => damage(records.get_mut(&at).unwrap()),
                None => drop(records.remove(&at)),
            });
            let session = store.unlock().unwrap();
            assert_eq!(dump(&session.without_recording()).unwrap(), files, "{context}");
            let status = session.expiry().status().unwrap();
            assert_eq!(status.is_damaged, kind == Kind::File, "{context}");
            let report = session.check().unwrap();
            assert!(!report.is_clean(), "{context}");
            assert_eq!(report.problems[0].names, ["(readings)"]);

            let report = session.expiry().expire(of_days(50), true, |_| {}).unwrap();
            let hindrance = Some(ExpiryHindrance::LedgerDamaged);
            assert_eq!((report.count(), report.hindrance), (0, hindrance), "{context}");
            for number in (0..400).step_by(50) {
                session.files().read(&format!("/memories/{number:05}")).unwrap();
                session.files().write("/memories/clock", "still written to\n").unwrap();
            }
            let mended = store.duplicate();
            session.compact().unwrap();
            assert!(session.check().unwrap().is_clean(), "{context}");
            let report = session.expiry().expire(of_days(50), false, |_| {}).unwrap();
            assert_eq!((report.count(), report.hindrance), (0, None), "{context}");
            drop(session);

            // Without a rewrite, the expiry itself begins another ledger.
            let session = mended.unlock().unwrap();
            for _ in 0..2 {
                let report = session.expiry().expire(of_days(50), false, |_| {}).unwrap();
                assert_eq!(report.count(), 0, "{context}");
            }
            // The damaged record belongs to nothing any more.
            let report = session.check().unwrap();
            assert!(report.problems.iter().all(|it| it.names.is_empty()), "{context}");
            let report = session.expiry().expire(of_days(50), true, |_| {}).unwrap();
            assert_eq!((report.count(), report.hindrance), (0, None), "{context}");
        }
    }
}

#[test]
fn a_repair_keeps_a_whole_ledger_and_leaves_a_damaged_one_out() {
    for damaged in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        set_day(0);
        let options = options().expiry(ExpirySettings::record());
        let session = options.create(&path, &passphrase()).unwrap();
        fill(&session, 900);
        set_day(20);
        session.files().write("/memories/clock", "text\n").unwrap();
        let tag = session.read(|open| Ok::<_, StoreError>(open.root().readings.tag)).unwrap();
        session.lock();
        if damaged {
            assert!(super::forgotten::flip(&path, &tag.0) > 0);
        }
        let vault = VaultOptions::open(&options, &path).unwrap();
        let report = vault.repair(&passphrase(), |_| {}).unwrap();
        assert_eq!(report.lost.len(), usize::from(damaged), "{:?}", report.lost);
        assert_eq!(report.files, 901);
        drop(vault);
        let session = VaultOptions::open(&options, &path).unwrap().unlock(&passphrase()).unwrap();
        let status = session.expiry().status().unwrap();
        assert_eq!(status.readings, if damaged { 0 } else { 900 });
        assert!(!status.is_damaged && status.settings.is_recording());
        let report = session.expiry().expire(of_days(15), true, |_| {}).unwrap();
        // Readings may be lost with the newest records, so every file counts as used at the repair.
        assert_eq!(report.count(), 0);
        set_day(30);
        session.files().write("/memories/clock", "later\n").unwrap();
        set_day(40);
        let report = session.expiry().expire(of_days(15), true, |_| {}).unwrap();
        assert_eq!(report.count(), 900);
        assert!(session.check().unwrap().is_clean());
    }
}
