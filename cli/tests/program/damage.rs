//! Damaged stores with check, repair and salvage; and the limits for crafted stores.

use std::fs;

use crate::inmost::{CHEAP, Ended, Place, assert_private, run};

/// A store in which only the file `/memories/a/long` is damaged.
fn damaged() -> Place {
    let long = "long\n".repeat(600);
    let place = Place::with_files(&[
        ("/memories/a/long", &long),
        ("/memories/a/short", "kept"),
        ("/memories/b", "kept too"),
    ]);
    place.damage_longest_record_in_the_files();
    place
}

#[test]
fn an_intact_store_passes_the_check() {
    let place = Place::with_files(&[("/memories/a", "12345")]);
    let out = place.run(["check"], "").expect(0).out;
    assert!(out.contains(": 1 file, 5B of text.") && out.contains("No problems found"), "{out}");
    let out = place.run(["check", "--json"], "").expect(0).out;
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["clean"], true);
    assert_eq!(report["files"], 1);
    assert_eq!(report["problems"], serde_json::json!([]));
    place.lock();
    let out = place.run(["repair"], "").expect(0).out;
    assert!(out.contains("Nothing was changed"), "{out}");
}

/// Every file of the store, but the lock, which holds the number of a process.
fn bytes_of(place: &Place) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files = place.files_on_disk().into_iter().filter(|path| !path.ends_with("lock"));
    let mut files: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// A flipped bit used to end sled's replay, which wrote zeros over all that was behind it, at the mere attempt to look.
#[test]
fn looking_at_a_damaged_store_changes_none_of_its_files() {
    let texts: Vec<_> =
        (0..30).map(|n| (format!("/memories/{n}"), "text ".repeat(n * 9))).collect();
    let files: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let place = Place::with_files(&files);
    place.lock();
    let generation = place.store().join("gen-0000000000000001");
    let log = generation.join("db");
    let mut bytes = fs::read(&log).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[written / 3] ^= 4;
    fs::write(&log, bytes).unwrap();
    // What an opening would tidy up: drafts, and a snapshot that is not whole.
    fs::write(generation.join(".journal.new"), b"half").unwrap();
    fs::write(generation.join("snap.FFFFFFFFFFFFFFFF.generating"), b"half").unwrap();
    fs::write(place.store().join("header.b.new"), b"half").unwrap();

    let before = bytes_of(&place);
    for arguments in
        [&["status"][..], &["check"], &["check", "--isolated"], &["ls"], &["cat", "/memories/3"]]
    {
        if cfg!(windows) && arguments.contains(&"--isolated") {
            continue;
        }
        let ended = place.run(arguments.iter().copied(), "");
        assert!(bytes_of(&place) == before, "{arguments:?} changed a file");
        if arguments[0] == "check" {
            let ended = ended.expect_failure(12, "All records are intact");
            assert!(ended.out.contains("was not opened"), "{ended:?}");
            continue;
        }
        let ended = ended.expect_failure(12, "is damaged and was not opened");
        let advice = ["Copy the whole folder", "`inmost repair`", "`inmost salvage`"];
        let places = advice.map(|words| ended.err.find(words).unwrap());
        assert!(places.is_sorted(), "{ended:?}");
    }
}

#[test]
fn check_names_what_is_damaged_and_changes_nothing() {
    let place = damaged();
    let ended = place.run(["check"], "").expect_failure(12, "1 problem");
    assert!(ended.out.starts_with("The store is damaged and was not opened"), "{ended:?}");
    assert!(ended.out.contains("\n/memories/a/long: a file is missing\n"), "{ended:?}");
    let ended = place.run(["check", "--json"], "").expect(12);
    let report: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(report["clean"], false);
    assert!(report["not_opened"].as_str().unwrap().contains("was not opened"), "{report}");
    assert_eq!(report["problems"][0]["path"], "/memories/a/long");
    place.run(["cat", "/memories/a/long"], "").expect(12);
}

/// Regression: the repair opened the store again while it still held it, and found it in use by itself.
#[test]
fn a_store_that_lost_no_record_but_does_not_open_is_repaired() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.lock();
    // Everything that it held is in the engine since the store was locked.
    fs::remove_file(place.store().join("gen-0000000000000001/journal")).unwrap();
    let ended = place.run(["check"], "").expect(12);
    assert!(ended.out.contains("The records themselves are whole"), "{ended:?}");
    assert!(!ended.out.contains("No problems"), "{ended:?}");
    let out = place.run(["repair", "--yes"], "").expect(0).out;
    assert!(out.contains("The store was repaired: 1 file."), "{out}");
    assert_eq!(place.cat("/memories/a"), "kept");
}

/// The repair took effect, and then failed because the records that it sets aside were not there.
#[test]
fn a_store_without_its_records_is_repaired_to_an_empty_one() {
    let place = Place::with_files(&[("/memories/a", "lost")]);
    place.lock();
    fs::remove_dir_all(place.store().join("gen-0000000000000001")).unwrap();
    place.run(["ls"], "").expect(12);
    let out = place.run(["repair", "--yes"], "").expect(0).out;
    assert!(out.contains("The store was repaired: 0 files."), "{out}");
    assert!(!place.store().join("rewriting").exists());
    place.run(["accept-rollback", "--yes"], "").expect(0);
    place.run(["check"], "").expect(0);
    place.run(["write", "b"], "new").expect(0);
    assert_eq!(place.names("/memories"), ["b"]);
}

#[test]
fn repair_keeps_what_is_intact_and_only_when_it_is_confirmed() {
    let place = damaged();
    let ended = place.run(["repair"], "yes\n").expect_failure(2, "needs a confirmation");
    assert!(ended.out.contains("lost /memories/a/long: "), "{ended:?}");
    assert!(ended.out.contains("Found 2 files with 12B"), "{ended:?}");
    let ended = place.run(["repair", "--json"], "").expect_failure(2, "needs a confirmation");
    let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&plan["repaired"], &plan["files"]), (&false.into(), &2.into()));
    assert_eq!(plan["lost"][0]["path"], "/memories/a/long");
    place.run(["check"], "").expect(12);

    let out = place.run(["repair", "--yes"], "").expect(0).out;
    assert!(out.contains("lost /memories/a/long: ") && out.contains("was repaired"), "{out}");
    place.run(["accept-rollback", "--yes"], "").expect(0);
    place.run(["check"], "").expect(0);
    assert_eq!(place.names("/memories/a"), ["short"]);
    assert_eq!(place.cat("/memories/b"), "kept too");
    place.lock();
    let out = place.run(["repair", "--json"], "").expect(0).out;
    let done: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&done["repaired"], &done["clean"]), (&false.into(), &true.into()));

    let place = damaged();
    let out = place.run(["repair", "--json", "--yes"], "").expect(0).out;
    let done: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(done.len(), 2, "{out}");
    assert_eq!((&done[1]["repaired"], &done[1]["clean"]), (&true.into(), &true.into()));
}

/// Who can damage files chooses which versions are left.
#[test]
fn a_repair_says_how_old_a_version_is_and_leaves_the_freshness_unknown() {
    let place = Place::with_store();
    place.run(["write", "/memories/policy.md"], "old").expect(0);
    let insert = serde_json::json!({
        "command": "insert", "path": "/memories/policy.md", "insert_line": 0,
        "insert_text": "new\n".repeat(700),
    });
    place.run(["call"], &insert.to_string()).expect(0);
    place.damage_longest_record_in_the_files();
    let ended = place.run(["repair", "--json"], "").expect(2);
    let plan: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&plan["newest"], &plan["older"][0]["newer"]), (&false.into(), &1.into()));
    assert!(plan["older"][0]["written"].as_u64() > Some(1_700_000_000_000), "{plan}");

    let out = place.run(["repair", "--yes"], "").expect(0).out;
    let line = out.lines().find(|line| line.starts_with("older /memories/policy.md: ")).unwrap();
    assert!(line.contains("; written 2") && line.ends_with(", 1 newer version is lost"), "{out}");
    assert!(out.contains("not the newest state") && out.contains("accept-rollback"), "{out}");
    let read = place.run(["cat", "/memories/policy.md"], "");
    assert_eq!((read.code, &*read.out), (Some(0), "old"), "{read:?}");
    assert!(read.err.contains("a repair did not find everything"), "{read:?}");
    place.lock();
    place.run(["cat", "/memories/policy.md", "--require-fresh"], "").expect(16);
    place.run(["accept-rollback", "--yes"], "").expect(0);
    place.run(["cat", "/memories/policy.md", "--require-fresh"], "").expect(0);
}

#[test]
fn what_a_repair_sets_aside_stays_until_it_is_discarded_on_purpose() {
    let intact = Place::with_store();
    let none = intact.run(["discard"], "").expect(0).out;
    assert_eq!(none, "Nothing is set aside.\n");
    assert!(!intact.run(["status"], "").expect(0).out.contains("set aside"));
    let place = damaged();
    place.run(["repair", "--yes"], "").expect(0);
    place.run(["accept-rollback", "--yes"], "").expect(0);

    let kept = place.store().join("set-aside-0000000000000001");
    let status = place.run(["status"], "").expect(0).out;
    assert!(status.contains("\nset aside   ") && status.contains("`inmost discard`"), "{status}");
    let out = place.run(["purge"], "").expect(0).out;
    assert!(out.contains("still there") && kept.join("header").exists(), "{out}");
    let ended = place.run(["discard"], "yes\n").expect_failure(2, "needs a confirmation");
    assert!(ended.out.starts_with("set-aside-0000000000000001  "), "{ended:?}");
    assert!(kept.exists());

    let ended = place.run(["discard", "--json"], "").expect(2);
    let it: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        (&it["name"], &it["removed"]),
        (&"set-aside-0000000000000001".into(), &false.into())
    );
    assert!(it["bytes"].as_u64() > Some(0));
    let out = place.run(["discard", "--yes"], "").expect(0).out;
    assert!(out.ends_with("M\nRemoved.\n"), "{out}");
    assert_eq!(place.run(["discard", "--json"], "").expect(0).out, "");
    assert!(!kept.exists());
    assert!(!place.run(["status"], "").expect(0).out.contains("set aside"));
    assert_eq!(place.cat("/memories/b"), "kept too");
}

fn salvage(place: &Place, more: &[&str]) -> Ended {
    place.lock();
    let to = place.beside("saved");
    let mut args = vec!["salvage", "--to", to.to_str().unwrap()];
    args.extend(more);
    place.run(args, "")
}

#[test]
fn salvage_saves_the_rest_to_a_store_and_says_what_is_missing() {
    let place = damaged();
    let ended = salvage(&place, &CHEAP).expect_failure(12, "1 file or folder could not be saved");
    assert!(ended.out.contains("lost /memories/a/long: "), "{ended:?}");
    assert!(ended.out.contains("Saved 2 files with 12B"), "{ended:?}");
    // The damaged store was not changed.
    place.run(["check"], "").expect(12);
    salvage(&place, &CHEAP).expect_failure(1, "There is a store at");
    fs::remove_dir_all(place.store()).unwrap();
    place.put_saved_in_place();
    place.run(["check"], "").expect(0);
    assert_eq!(place.cat("/memories/a/short"), "kept");
    assert_eq!(place.cat("/memories/b"), "kept too");
}

#[test]
fn an_export_of_a_damaged_store_writes_what_is_intact() {
    let place = damaged();
    let ended = place.run(["export", "--yes", "out"], "").expect_failure(12, "was exported");
    assert!(ended.out.contains("lost /memories/a/long: "), "{ended:?}");
    assert!(ended.out.contains("Exported 2 files with 12B"), "{ended:?}");
    let out = place.beside("out");
    assert_eq!(fs::read_to_string(out.join("a/short")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(out.join("b")).unwrap(), "kept too");
    place.run(["export", "--yes", "--from", "/memories/a", "part"], "").expect(12);
    assert_eq!(fs::read_dir(place.beside("part")).unwrap().count(), 1);
}

impl Place {
    fn put_saved_in_place(&self) {
        fs::rename(self.beside("saved"), self.store()).unwrap();
    }
}

#[test]
fn salvage_of_an_intact_store_misses_nothing() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    salvage(&place, &CHEAP).expect(0);
    let place = Place::with_store();
    let out = salvage(&place, &[]).expect(0).out;
    assert!(out.contains("No file"), "{out}");
    assert!(!place.beside("saved").exists());
}

#[test]
fn salvage_writes_plain_files_only_when_asked() {
    let place = damaged();
    let ended = salvage(&place, &["--plain"]).expect(12);
    assert!(ended.out.contains("not encrypted"), "{ended:?}");
    let saved = place.beside("saved");
    fs::remove_dir_all(&saved).unwrap();
    let ended = salvage(&place, &["--plain", "--json"]).expect(12);
    let report: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        (&report["files"], &report["lost"][0]["path"]),
        (&2.into(), &"/memories/a/long".into())
    );
    assert_eq!(
        (&report["to"], &report["renamed"]),
        (&saved.to_str().unwrap().into(), &serde_json::json!([]))
    );
    assert_eq!(fs::read_to_string(saved.join("a/short")).unwrap(), "kept");
    assert_eq!(fs::read_to_string(saved.join("b")).unwrap(), "kept too");
    assert!(!saved.join("a/long").exists());
    assert_private(&saved);
    assert_private(&saved.join("b"));
}

#[test]
fn salvage_with_a_wrong_passphrase_or_destination_creates_nothing() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.lock();
    let to = place.beside("saved");
    let mut salvage = place.command(["salvage", "--to", to.to_str().unwrap()]);
    salvage.env("INMOST_PASSPHRASE", "another");
    run(&mut salvage, b"").expect(11);
    assert!(!to.exists());
    let inside = place.store().join("saved");
    place
        .run(["salvage", "--to", inside.to_str().unwrap()], "")
        .expect_failure(2, "is inside the damaged store");
    place.run(["salvage", "--to", "not/there"], "").expect(14);
}

#[cfg(unix)]
#[test]
fn an_isolated_check_prints_what_any_check_does() {
    let place = damaged();
    let ended = place.run(["check", "--isolated"], "").expect_failure(12, "1 problem");
    assert!(ended.out.starts_with("The store is damaged and was not opened"), "{ended:?}");
    assert!(ended.out.contains("\n/memories/a/long: a file is missing\n"), "{ended:?}");
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.lock();
    place.run(["check", "--isolated"], "").expect(0);
    let mut check = place.command(["check", "--isolated", "--passphrase-file", "-"]);
    run(&mut check, b"correct horse\n").expect(0);
    let mut check = place.command(["check", "--isolated"]);
    run(check.env("INMOST_PASSPHRASE", "another"), b"").expect_failure(11, "passphrase is wrong");
    Place::vacant().run(["check", "--isolated"], "").expect(10);
}

/// Twelve bytes with a valid engine checksum that make the engine allocate about 32 GiB. That would end the process; it cannot
/// be caught inside it.
#[cfg(unix)]
#[test]
fn a_log_made_to_exhaust_memory_is_refused_before_the_engine_opens_it() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.lock();
    let generation = place.store().join("gen-0000000000000001");
    for entry in fs::read_dir(&generation).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("snap.") {
            fs::remove_file(path).unwrap();
        }
    }
    // A "freed" message for page 2^29 in segment 0, of length 0.
    let body = [4, 0, 0, 251, 0, 0, 0, 0x20];
    let mut log = fs::read(generation.join("db")).unwrap();
    log[20..24].copy_from_slice(&(!crc32(&body)).to_le_bytes());
    log[24..32].copy_from_slice(&body);
    fs::write(generation.join("db"), log).unwrap();
    let ended = place.run(["check", "--isolated"], "").expect(12);
    assert!(ended.out.contains("was not opened"), "{ended:?}");
}

/// Regression: a crafted store made the engine write 22 GB, until the disk was full.
#[cfg(unix)]
#[test]
fn an_isolated_check_has_write_and_time_limits() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.lock();
    let mut check = place.bare_command(["check", "--isolated", "--store"]);
    // The program inherits the limits of the shell, which counts in blocks of 512 bytes.
    let limits = "{ ulimit -f; ulimit -t; } > limits; echo correct horse";
    check.arg(place.store()).args(["--passphrase-command", limits]);
    run(&mut check, b"").expect(0);
    let told = fs::read_to_string(place.beside("limits")).unwrap();
    let limits: Vec<u64> = told.lines().map(|line| line.parse().unwrap()).collect();
    // The store has less than 16 MiB.
    assert!((128 << 10..192 << 10).contains(&limits[0]), "{told}");
    assert!((600..620).contains(&limits[1]), "{told}");
}

#[cfg(unix)]
#[test]
fn a_store_that_makes_its_reader_write_too_much_ends_a_child_and_is_12() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.lock();
    let check = place.command(["check", "--isolated"]);
    // A limit below what the engine always writes has the same effect as a store that makes it write too much.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""]).arg(check.get_program());
    shell.args(check.get_args()).env("INMOST_PASSPHRASE", crate::inmost::PASSPHRASE);
    shell.env("INMOST_STORE", place.store());
    run(&mut shell, b"").expect_failure(12, "write too much");
}

#[cfg(unix)]
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}
