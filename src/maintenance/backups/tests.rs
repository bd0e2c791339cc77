//! Tests of backups in one folder.

use std::fs;

use inmost_format::crypto::prf::checksum;
use inmost_testing::{Random, seeds};
use tempfile::TempDir;

use super::*;
use crate::session::tests::store::{options, passphrase};
use crate::session::{Vault, shift_clock};

/// A folder, a store in it, and a place for its backups.
fn store_with(files: usize) -> (TempDir, Session, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let session = options().create(home.path().join("store"), &passphrase()).unwrap();
    for number in 0..files {
        write(&session, number, 0);
    }
    let place = home.path().join("backups");
    (home, session, place)
}

fn text(number: usize, round: usize) -> String {
    format!("{number} in round {round}\n").repeat(20 + number % 300)
}

fn write(session: &Session, number: usize, round: usize) {
    let path = format!("/memories/{}/{number}", number % 10);
    session.files().write(&path, &text(number, round)).unwrap();
}

fn back_up(session: &Session, place: &Path) -> BackupReport {
    session.backup_into(place, &BackupOptions::default(), &mut |_| {}).unwrap()
}

fn opened(place: &Path) -> Backups {
    Backups::open(place).unwrap().kdf_limits(KdfLimits::of_tests())
}

fn numbers_in(place: &Path) -> Vec<u64> {
    opened(place).list().iter().map(|info| info.number).collect()
}

/// Restores a backup, and returns the text of a file.
fn restored(place: &Path, number: u64, path: &str) -> Result<String, StoreError> {
    let home = tempfile::tempdir().unwrap();
    let to = home.path().join("restored");
    opened(place).restore(number, &to, &passphrase(), &mut |_| {})?;
    let session = options().open(&to).unwrap().unlock(&passphrase()).unwrap();
    assert!(session.check().unwrap().is_clean());
    let text = session.files().read(path).unwrap().as_str().to_owned();
    session.lock();
    Ok(text)
}

#[test]
fn a_second_backup_adds_the_changed_records_and_each_one_is_restored_as_it_was() {
    let (_home, session, place) = store_with(1_000);
    let first = back_up(&session, &place);
    let mut changed = 0;
    for number in (0..1_000).step_by(100) {
        write(&session, number, 1);
        changed += text(number, 1).len();
    }
    let second = back_up(&session, &place);
    assert_eq!((first.number, second.number), (1, 2));
    assert_eq!(first.verified.files, second.verified.files);
    // The constant is the manifest with its header, the root, the lists of the changed folder, and the padding of ten short texts.
    let most = u64::try_from(changed * 12 / 10).unwrap() + (32 << 10);
    assert!(second.added_bytes <= most, "{} of {most}", second.added_bytes);
    assert!(second.added_bytes * 10 < first.added_bytes);
    assert_eq!(restored(&place, 1, "/memories/0/100").unwrap(), text(100, 0));
    assert_eq!(restored(&place, 2, "/memories/0/100").unwrap(), text(100, 1));
    assert_eq!(restored(&place, 2, "/memories/9/999").unwrap(), text(999, 0));
}

#[test]
fn a_rewrite_of_the_store_makes_no_record_of_a_backup_new() {
    let (_home, session, place) = store_with(300);
    let first = back_up(&session, &place);
    session.purge().unwrap();
    let second = back_up(&session, &place);
    assert!(second.added_bytes < 8 << 10, "{} after {}", second.added_bytes, first.added_bytes);
    // A rotation is for keys that leaked, so nothing is shared with the time before.
    session.rotate(&passphrase()).unwrap();
    let third = back_up(&session, &place);
    assert!(third.added_bytes > first.added_bytes / 2);
    for number in 1..=3 {
        assert_eq!(restored(&place, number, "/memories/7/7").unwrap(), text(7, 0), "{number}");
    }
}

#[test]
fn backups_are_kept_by_count_and_by_age_and_what_no_other_has_is_removed() {
    let (_home, session, place) = store_with(40);
    let options =
        BackupOptions { keep: 2, keep_within: Duration::from_secs(3_600), ..Default::default() };
    let mut sizes = Vec::new();
    for round in 1..=5 {
        for number in 0..40 {
            write(&session, number, round);
        }
        session.backup_into(&place, &options, &mut |_| {}).unwrap();
        sizes.push(files::size_below(&place).unwrap());
    }
    assert_eq!(numbers_in(&place), [1, 2, 3, 4, 5], "all are younger than an hour");
    // The clock is two hours ahead for one backup.
    shift_clock(2 * 3_600_000);
    let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
    assert_eq!((report.removed, report.is_cleared), (vec![], true));
    shift_clock(-2 * 3_600_000);
    let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
    assert_eq!((report.removed, report.is_cleared), (vec![], true));
    // Two hours pass.
    shift_clock(2 * 3_600_000);
    let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
    assert_eq!((report.removed, report.is_cleared), (vec![1, 2, 3, 4, 5], true));
    assert_eq!(numbers_in(&place), [6, 7, 8]);
    assert!(files::size_below(&place).unwrap() < sizes[2], "the texts of four rounds are gone");
    for number in [6, 7, 8] {
        assert_eq!(restored(&place, number, "/memories/7/7").unwrap(), text(7, 5));
    }
    // The clock of a machine whose store has backups in the same folder is two hours ahead.
    let (_elsewhere, other, _) = store_with(1);
    shift_clock(2 * 3_600_000);
    assert_eq!([(); 2].map(|()| back_up(&other, &place).number), [9, 10]);
    shift_clock(-2 * 3_600_000);
    let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
    assert_eq!((report.removed, report.is_cleared), (vec![7], true));
}

/// The number of the next backup was the same again, and its records replaced those of the backup before.
#[test]
fn a_backup_with_the_last_number_ends_the_backups_of_its_folder() {
    let (_home, session, place) = store_with(3);
    back_up(&session, &place);
    fs::write(manifest_path(&place, u64::MAX), "").unwrap();
    let options = BackupOptions::default();
    let refused = session.backup_into(&place, &options, &mut |_| {}).unwrap_err();
    assert!(refused.to_string().contains("the last number there is"), "{refused}");
    assert_eq!(restored(&place, 1, "/memories/1/1").unwrap(), text(1, 0));
}

#[test]
fn records_that_other_backups_use_stay_when_a_pack_is_written_anew() {
    let (_home, session, place) = store_with(100);
    let options = BackupOptions { keep: 1, keep_within: Duration::ZERO, ..Default::default() };
    for round in 1..=4 {
        for number in (round * 20)..(round * 20 + 20) {
            write(&session, number, round);
        }
        let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
        assert!(report.is_cleared);
        let number = report.number;
        assert_eq!(restored(&place, number, "/memories/3/3").unwrap(), text(3, 0));
        let checked = opened(&place).check(number, &passphrase(), &mut |_| {});
        assert!(checked.unwrap().is_clean());
    }
}

#[test]
fn damage_costs_what_it_hits_and_the_next_backup_repairs_it() {
    let (_home, session, place) = store_with(50);
    let first = back_up(&session, &place);
    let path = pack_path(&place, 1);
    let intact = fs::read(&path).unwrap();
    let check = |number| {
        let backups = opened(&place);
        backups.check(number, &passphrase(), &mut |_| {})
    };
    let mut unhurt = 0;
    for at in (0..intact.len()).step_by(intact.len() / 60) {
        let mut bytes = intact.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        match check(1) {
            // At most a folder of five files is gone.
            Ok(report) => unhurt += usize::from(report.files >= 45),
            Err(error) => assert!(matches!(error, StoreError::Tampered { .. }), "{error}"),
        }
    }
    assert!(unhurt >= 45, "only the root and the highest folder cost everything: {unhurt}");
    // The last record of the list is one of the longest.
    let mut bytes = intact.clone();
    let middle = intact.len() - 200;
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let damaged = check(1).unwrap();
    assert!(!damaged.is_clean());
    assert!(matches!(restored(&place, 1, "/memories/1/1"), Err(StoreError::Tampered { .. })));
    let second = back_up(&session, &place);
    assert!(check(second.number).unwrap().is_clean());
    assert!(second.added_bytes < first.added_bytes / 2);
}

/// Changes a file in one of several ways, and often makes its checksum fit again.
fn damaged(mut bytes: Vec<u8>, other: &[u8], random: &mut Random) -> Vec<u8> {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(200)).min(bytes.len());
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        2 => bytes[at..end].fill(0),
        3 => bytes[at..end].fill(255),
        4 => drop(bytes.splice(at..at, other[..end.min(other.len())].to_vec())),
        5 => bytes.truncate(0),
        // The numbers that say how much follows: of a pack at 12 to 36, of a manifest from 4,128 on.
        _ => {
            let field = [12, 16 + 4 * random.below(5), 4_128, 4_136][random.below(4)];
            let value = [0, 1, 200, u32::MAX][random.below(4)];
            if let Some(place) = bytes.get_mut(field..field + 4) {
                place.copy_from_slice(&u32::to_le_bytes(value));
            }
        }
    }
    let length = bytes.len();
    if length > 128 && random.below(2) == 0 {
        let (head, sum) = (checksum(&bytes[..64]), checksum(&bytes[..length - 32]));
        let is_pack = bytes.starts_with(b"\x89INMPCK\n");
        if is_pack {
            bytes[64..96].copy_from_slice(&head);
        } else {
            bytes[length - 32..].copy_from_slice(&sum);
        }
    }
    bytes
}

#[test]
fn a_damaged_folder_of_backups_restores_what_it_had_or_is_refused() {
    let (_home, session, place) = store_with(30);
    back_up(&session, &place);
    for number in 0..10 {
        write(&session, number, 1);
    }
    back_up(&session, &place);
    let names: Vec<PathBuf> = [1, 2]
        .into_iter()
        .flat_map(|number| [pack_path(&place, number), manifest_path(&place, number)])
        .collect();
    let intact: Vec<Vec<u8>> = names.iter().map(|name| fs::read(name).unwrap()).collect();
    let (mut clean, mut refused) = (0, 0);
    for seed in seeds(0..50) {
        let mut random = Random(seed);
        let (hit, other) = (random.below(4), random.below(4));
        let bytes = damaged(intact[hit].clone(), &intact[other], &mut random);
        fs::write(&names[hit], bytes).unwrap();
        for number in [1, 2] {
            let is_clean = opened(&place)
                .check(number, &passphrase(), &mut |_| {})
                .is_ok_and(|report| report.is_clean());
            let found = restored(&place, number, "/memories/7/7");
            // What a check finds clean can be restored, and what is restored has the right text.
            assert!(found.is_ok() || !is_clean, "seed {seed}: {found:?}");
            let round = usize::from(number == 2);
            assert!(found.as_ref().map_or(true, |found| *found == text(7, round)), "seed {seed}");
            clean += usize::from(found.is_ok());
            refused += usize::from(found.is_err());
        }
        fs::write(&names[hit], &intact[hit]).unwrap();
    }
    println!("{clean} restored, {refused} refused");
    assert!(clean > 0 && refused > 0);
}

#[test]
fn a_damaged_manifest_costs_its_backup_and_no_record() {
    let (_home, session, place) = store_with(10);
    let options = BackupOptions { keep: 1, keep_within: Duration::ZERO, ..Default::default() };
    back_up(&session, &place);
    fs::write(manifest_path(&place, 1), b"torn").unwrap();
    let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
    assert!(!report.is_cleared, "what the damaged manifest lists is not known");
    let backups = opened(&place);
    assert_eq!(backups.list()[0].time, None);
    let refused = backups.check(1, &passphrase(), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::HeaderDamaged)));
    assert_eq!(restored(&place, 2, "/memories/1/1").unwrap(), text(1, 0));
}

#[test]
fn a_backup_of_a_newer_version_is_refused_by_its_name_and_stays() {
    let (_home, session, place) = store_with(10);
    let options = BackupOptions { keep: 1, keep_within: Duration::ZERO, ..Default::default() };
    back_up(&session, &place);
    let path = manifest_path(&place, 1);
    let mut newer = fs::read(&path).unwrap();
    newer.truncate(newer.len() - 32);
    newer[8] = 2;
    newer.extend([7; 100]);
    newer.extend(checksum(&newer));
    fs::write(&path, &newer).unwrap();
    let report = session.backup_into(&place, &options, &mut |_| {}).unwrap();
    assert!(report.removed.is_empty() && !report.is_cleared);
    let backups = opened(&place);
    assert_eq!(backups.list()[0].time, None);
    let refused = backups.check(1, &passphrase(), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::UnknownFormat { version: 2, flags: 0 })));
    assert_eq!(fs::read(&path).unwrap(), newer);
    assert_eq!(restored(&place, 2, "/memories/1/1").unwrap(), text(1, 0));
}

#[test]
fn what_an_interrupted_backup_leaves_is_removed_and_changes_nothing() {
    let (_home, session, place) = store_with(20);
    back_up(&session, &place);
    for name in ["records.new", "records-0000000000000002", "records-0000000000000003.new"] {
        fs::write(place.join(name), b"part").unwrap();
    }
    fs::write(place.join(".backup-0000000000000002.new"), b"part").unwrap();
    assert_eq!(numbers_in(&place), [1]);
    assert_eq!(restored(&place, 1, "/memories/7/7").unwrap(), text(7, 0));
    let second = back_up(&session, &place);
    assert_eq!(second.number, 2);
    let mut names: Vec<_> =
        fs::read_dir(&place).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 5, "{names:?}");
}

#[test]
fn a_restored_store_is_another_one_and_the_anchor_of_the_old_one_refuses_it() {
    let (home, session, place) = store_with(5);
    let anchor = || Arc::new(crate::session::FileAnchor::new(home.path().join("anchor")));
    session.lock();
    let store = home.path().join("store");
    let session = options().freshness_anchor(anchor()).open(&store).unwrap();
    let session = {
        let mut vault = session;
        vault.unlock(&passphrase()).unwrap()
    };
    write(&session, 1, 1);
    back_up(&session, &place);
    session.lock();
    let to = home.path().join("restored");
    let backups = opened(&place);
    backups.restore(1, &to, &passphrase(), &mut |_| {}).unwrap();
    let again = backups.restore(1, &to, &passphrase(), &mut |_| {});
    assert!(matches!(again, Err(StoreError::AlreadyExists)));
    let mut vault = options().freshness_anchor(anchor()).open(&to).unwrap();
    assert!(matches!(vault.unlock(&passphrase()), Err(StoreError::ForeignAnchor)));
    drop(vault);
    let restored = options().open(&to).unwrap().unlock(&passphrase()).unwrap();
    // Its backups go to the same folder, and are counted for themselves.
    let keep = BackupOptions { keep: 1, keep_within: Duration::ZERO, ..Default::default() };
    restored.backup_into(&place, &keep, &mut |_| {}).unwrap();
    assert_eq!(numbers_in(&place), [1, 2]);
    let stores: Vec<_> = opened(&place).list().iter().map(|it| it.store).collect();
    assert_ne!(stores[0], stores[1]);
}

#[test]
fn a_backup_has_versions_only_if_they_are_asked_for() {
    let (_home, session, place) = store_with(0);
    session
        .history()
        .set(crate::session::HistorySettings::keep(Duration::from_secs(86_400)))
        .unwrap();
    write(&session, 1, 0);
    write(&session, 1, 1);
    let with = BackupOptions { with_versions: true, ..BackupOptions::default() };
    back_up(&session, &place);
    session.backup_into(&place, &with, &mut |_| {}).unwrap();
    for (number, entries) in [(1, 0), (2, 2)] {
        let home = tempfile::tempdir().unwrap();
        let to = home.path().join("restored");
        opened(&place).restore(number, &to, &passphrase(), &mut |_| {}).unwrap();
        let session = options().open(&to).unwrap().unlock(&passphrase()).unwrap();
        assert_eq!(session.history().status().unwrap().entries, entries, "{number}");
    }
}

#[test]
fn no_folder_with_other_files_is_used_and_no_two_backups_run_at_once() {
    let (home, session, place) = store_with(1);
    let refused = session.backup_into(home.path(), &BackupOptions::default(), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::AlreadyExists)));
    assert!(matches!(Backups::open(home.path()), Err(StoreError::NotAStore)));
    assert!(matches!(Backups::open(&place), Err(StoreError::NotAStore)));
    back_up(&session, &place);
    let _lock = Lock::take(&place).unwrap();
    let refused = session.backup_into(&place, &BackupOptions::default(), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::InUse(_))));
    assert_eq!(numbers_in(&place), [1]);
    let in_memory = Session::in_memory().unwrap();
    let other = home.path().join("other");
    let refused = in_memory.backup_into(&other, &BackupOptions::default(), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::InMemory)));
    assert!(!other.exists());
    assert!(matches!(Vault::open(&place), Err(StoreError::NotAStore)));
}

/// A session with an idle lock, or of a machine that slept, was locked before the copy had been read back. The backup was there, but
/// the call failed, and no older one was ever removed.
#[test]
fn a_session_that_is_locked_while_its_backup_is_read_back_has_made_it() {
    let (_home, session, place) = store_with(200);
    let options = BackupOptions { keep: 1, keep_within: Duration::ZERO, ..Default::default() };
    back_up(&session, &place);
    write(&session, 1, 1);
    let mut last = 0;
    let report = session.backup_into(&place, &options, &mut |count| {
        // The copying is over, which no lock interrupts.
        if count <= last {
            session.lock();
        }
        last = count;
    });
    assert!(session.is_locked());
    assert_eq!(report.unwrap().removed, [1]);
    assert_eq!(restored(&place, 2, "/memories/1/1").unwrap(), text(1, 1));
}
