//! Every failure has its exit code, and prints what happened and what to do.

use std::fs;

use blake2::Blake2bMac;
use blake2::digest::consts::U32;
use blake2::digest::{FixedOutput, Update};

use crate::inmost::{CHEAP, PASSPHRASE, Place, run};

const BOTH: [&str; 2] = ["header.a", "header.b"];

/// Recomputes the checksum at the end of a file, as an attacker would (docs/FORMAT.md, Primitives).
fn mend(header: &mut Vec<u8>) {
    header.truncate(header.len() - 32);
    let mut checksum: Blake2bMac<U32> =
        Blake2bMac::new_with_salt_and_personal(None, &[], b"inmost/1 check").unwrap();
    checksum.update(header);
    header.extend_from_slice(&checksum.finalize_fixed());
}

#[test]
fn usage_errors_are_2() {
    let place = Place::with_store();
    for args in [&["fly"][..], &["ls", "--fly"], &["cat"], &["mv", "/memories/a"]] {
        place.run(args, "").expect(2);
    }
}

#[test]
fn a_backup_of_a_newer_version_is_named() {
    let place = Place::with_store();
    place.run(["backup", "copies"], "").expect(0);
    let path = place.beside("copies/backup-0000000000000001");
    let mut manifest = fs::read(&path).unwrap();
    manifest[8] = 2;
    mend(&mut manifest);
    fs::write(&path, manifest).unwrap();
    for args in [&["check", "copies"][..], &["restore", "copies", "new"]] {
        let refused = place.run([&["backup"], args].concat(), "");
        refused.expect_failure(15, "Backup 1 in copies is of a version that this program");
    }
    assert!(place.run(["backup", "list", "copies"], "").expect(0).out.contains("unreadable"));
}

#[test]
fn an_error_names_the_file_that_is_in_the_way() {
    let place = Place::with_store();
    fs::write(place.beside("in.txt"), "a file").unwrap();
    let to = "in.txt/y";
    place.run(["backup", to], "").expect_failure(14, "in.txt is not a folder");
    let mut init = place.bare_command(["init", "--store", to]);
    run(init.env("INMOST_PASSPHRASE", PASSPHRASE), b"")
        .expect_failure(14, "in.txt is not a folder");
    fs::create_dir(place.beside("full")).unwrap();
    fs::write(place.beside("full/a"), "a file").unwrap();
    place.run(["backup", "full"], "").expect_failure(1, "full already exists, and is no folder of");
    place.run(["backup", "in.txt"], "").expect_failure(1, "in.txt already exists");

    place.run(["ls", "--keyfile", "in.txt"], "").expect_failure(11, "keyfile");
    let add = ["slot", "add", "--new-keyfile", "in.txt", "--new-passphrase-file", "in.txt"];
    place.run(add, "").expect_failure(2, "Invalid keyfile in.txt: ");
    let call = place.run(["call", "--subtree", "nope/../x"], "");
    call.expect_failure(2, "The path /memories/nope/../x is not valid");
}

#[cfg(unix)]
#[test]
fn a_path_with_control_characters_is_escaped_and_not_part_of_a_command() {
    let place = Place::vacant();
    let mut init = place.bare_command(["init", "--store", "new\nline\u{202e}"]);
    let out = run(init.args(CHEAP).env("INMOST_PASSPHRASE", PASSPHRASE), b"").expect(0).out;
    assert!(out.starts_with("Created a store at new\\u{a}line\\u{202e}\n"), "{out}");
    assert!(
        out.ends_with("Next: `inmost unlock` with the same options unlocks it for all commands.\n")
    );
    let mut status = place.bare_command(["status", "--store", "new\nline\u{202e}"]);
    let out = run(status.env("INMOST_PASSPHRASE", PASSPHRASE), b"").expect(0).out;
    assert!(out.starts_with("store       new\\u{a}line\\u{202e}\n"), "{out}");
}

#[test]
fn a_folder_without_a_store_is_10() {
    let place = Place::vacant();
    for command in [&["ls"][..], &["status"], &["cat", "/memories/a"], &["rm", "/memories/a"]] {
        place.run(command, "").expect_failure(10, "There is no store at ");
    }
    place.run(["write", "/memories/a"], "text").expect_failure(10, "There is no store at ");
    assert!(!place.store().exists());
    fs::create_dir(place.store()).unwrap();
    place.run(["ls"], "").expect_failure(10, "There is no store at ");
    fs::remove_dir(place.store()).unwrap();
    // wine calls a path through a file an invalid name.
    #[cfg(unix)]
    fs::write(place.store(), "a file").unwrap();
    place.run(["ls"], "").expect_failure(10, "There is no store at ");
}

#[test]
fn a_wrong_passphrase_is_11() {
    let place = Place::with_store();
    let mut ls = place.command(["ls"]);
    run(ls.env("INMOST_PASSPHRASE", "correct horse "), b"")
        .expect_failure(11, "passphrase is wrong");
}

#[test]
fn one_flipped_byte_in_one_header_copy_still_opens_and_is_mended() {
    for name in BOTH {
        for at in [0, 9, 200, 4_095] {
            let place = Place::with_files(&[("/memories/a", "kept")]);
            let before = fs::read(place.store().join(name)).unwrap();
            place.change_headers(&[name], |header| header[at] ^= 1);
            assert_eq!(place.cat("/memories/a"), "kept", "{name} at {at}");
            assert_eq!(fs::read(place.store().join(name)).unwrap(), before, "{name} at {at}");
        }
    }
}

#[test]
fn one_flipped_byte_in_each_header_copy_is_12() {
    for at in [0, 200, 2_000, 4_040, 4_095] {
        let place = Place::with_store();
        place.change_headers(&BOTH, |header| header[at] ^= 1);
        place.run(["ls"], "").expect_failure(12, "header of the store is damaged");
    }
}

#[test]
fn a_forged_header_is_12() {
    let place = Place::with_store();
    place.change_headers(&BOTH, |header| {
        header[40] ^= 1; // the generation
        mend(header);
    });
    place.run(["ls"], "").expect_failure(12, "tampered with");
}

#[test]
fn a_store_without_its_headers_or_records_is_12() {
    let place = Place::with_store();
    for name in BOTH {
        fs::remove_file(place.store().join(name)).unwrap();
    }
    place.run(["ls"], "").expect_failure(12, "header of the store is damaged or missing");
    place.run(["init"].iter().chain(&CHEAP), "").expect_failure(1, "There is a store at");
    place.run(["call", "--create"], "").expect_failure(12, "header of the store is damaged");

    let place = Place::with_store();
    fs::remove_dir_all(place.store().join("gen-0000000000000001")).unwrap();
    place.run(["ls"], "").expect_failure(12, "tampered with");
}

#[test]
fn an_operating_system_error_is_14() {
    let place = Place::vacant();
    let mut init = place.bare_command(["init", "--store", "/dev/null/x/y"].iter().chain(&CHEAP));
    run(init.env("INMOST_PASSPHRASE", "x"), b"").expect_failure(14, "cannot be created");
    place.run(["ls", "--passphrase-file", "none"], "").expect(10);
    let place = Place::with_store();
    place.run(["ls", "--passphrase-file", "none"], "").expect_failure(14, "passphrase file");
}

#[test]
fn an_unknown_format_flag_or_engine_is_15() {
    let changes: [(usize, u8, &str); 3] =
        [(8, 2, "format 2"), (12, 4, "features"), (10, 77, "engine")];
    for (at, value, what) in changes {
        let place = Place::with_store();
        place.change_headers(&BOTH, |header| {
            header[at] = value;
            mend(header);
        });
        place.run(["ls"], "").expect_failure(15, what);
    }
}

#[test]
fn a_rolled_back_store_is_16() {
    let place = Place::with_files(&[("/memories/a", "old")]);
    let files = ["db", "journal"].map(|name| place.store().join("gen-0000000000000001").join(name));
    let before = files.clone().map(|file| fs::read(file).unwrap());
    place.run(["write", "/memories/a"], "new").expect(0);
    for (file, before) in files.iter().zip(before) {
        fs::write(file, before).unwrap();
    }
    place.run(["cat", "/memories/a"], "").expect_failure(16, "rolled back");
}

#[test]
fn a_cost_out_of_bounds_is_17() {
    let place = Place::vacant();
    for option in [["--kdf-memory-mib", "18"], ["--kdf-passes", "1"], ["--kdf-passes", "33"]] {
        place.run(["init"].iter().chain(&option), "").expect_failure(17, "out of bounds");
        assert!(!place.store().exists());
    }
    let place = Place::with_store();
    place.change_headers(&BOTH, |header| {
        header[132..136].copy_from_slice(&u32::MAX.to_le_bytes());
        mend(header);
    });
    place.run(["ls"], "").expect_failure(17, "4194303.9 MiB");
}

#[test]
fn a_damaged_log_is_a_two_line_error_without_a_panic() {
    let text = "some text that fills records\n".repeat(2_000);
    let files: Vec<_> = (0..8).map(|n| format!("/memories/{n}")).collect();
    let files: Vec<_> = files.iter().map(|path| (path.as_str(), text.as_str())).collect();
    let place = Place::with_files(&files);
    let log = place.store().join("gen-0000000000000001/db");
    let bytes = fs::read(&log).unwrap();
    let copies: Vec<_> =
        place.files_on_disk().into_iter().map(|p| (fs::read(&p).unwrap(), p)).collect();
    for step in 1..16 {
        for (bytes, path) in &copies {
            fs::write(path, bytes).unwrap();
        }
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 16 * step] ^= 0x10;
        fs::write(&log, damaged).unwrap();
        let ended = place.run(["cat", "/memories/3"], "");
        let code = ended.code.unwrap();
        assert!([0, 1, 12, 14, 16].contains(&code), "{ended:?}");
        let ended = ended.expect(code);
        assert!(code != 0 || ended.out == text, "wrong text after damage at {step}/16");
        // It names the store, and no file in it.
        assert!(!ended.err.contains(&format!("{}/", place.store().display())), "{ended:?}");
    }
}
