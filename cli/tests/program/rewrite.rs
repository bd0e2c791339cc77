//! Commands that rewrite or copy a store: purge, compact, backup, migrate.

use std::fs;

use crate::inmost::{CHEAP, PASSPHRASE, Place, run};

/// A store with 12 MiB of deleted text and a small file.
fn mostly_deleted() -> Place {
    let place = Place::with_files(&[("/memories/kept", "kept")]);
    place.run(["write", "/memories/a"], &"0123456789abcde\n".repeat(12 << 16)).expect(0);
    place.run(["rm", "/memories/a"], "").expect(0);
    place
}

fn size(place: &Place) -> u64 {
    let is_ballast = |path: &std::path::Path| path.file_name().unwrap() == "ballast";
    let files = place.files_on_disk();
    files
        .iter()
        .filter(|path| !is_ballast(path))
        .map(|path| fs::metadata(path).unwrap().len())
        .sum()
}

#[test]
fn purge_and_compact_free_disk_space_and_keep_live_files() {
    for command in ["purge", "compact"] {
        let place = mostly_deleted();
        let before = size(&place);
        let out = place.run([command], "").expect(0).out;
        assert!(out.contains("M on disk before, ") && out.contains(" now."), "{out}");
        assert!(before > 12 << 20 && size(&place) < 2 << 20, "{before} to {}", size(&place));
        assert!(!place.store().join("gen-0000000000000001").exists());
        assert_eq!(place.cat("/memories/kept"), "kept");
        place.run(["check"], "").expect(0);
    }
}

#[test]
fn backups_in_one_folder_are_listed_and_restored() {
    let place = Place::with_files(&[("/memories/a", "kept"), ("/memories/b/c", "too")]);
    let out = place.run(["backup", "copies"], "").expect(0).out;
    assert!(
        out.starts_with("Made backup 1 in copies: 2 files with 7B of text, read back"),
        "{out}"
    );
    place.run(["rm", "/memories/a"], "").expect(0);
    let out = place.run(["backup", "--json", "copies"], "").expect(0).out;
    assert!(out.starts_with(r#"{"backup":2,"files":1,"bytes":3,"added_bytes":"#), "{out}");

    let list = run(&mut place.bare_command(["backup", "list", "copies"]), b"").expect(0).out;
    assert_eq!(list.lines().count(), 2, "{list}");
    let list = run(&mut place.bare_command(["backup", "list", "--json", "copies"]), b"").expect(0);
    assert!(list.out.starts_with(r#"{"backup":1,"time":"#), "{}", list.out);

    let ls = run(&mut place.bare_command(["ls", "--store", "copies"]), b"");
    ls.expect_failure(10, "copies is a folder of backups, not a store");
    let restore = |args: &[&str], passphrase: &str| {
        let args = [&["backup", "restore"][..], args].concat();
        run(place.bare_command(args).env("INMOST_PASSPHRASE", passphrase), b"")
    };
    restore(&["copies", "new"], "another").expect_failure(11, "does not open copies");
    restore(&["copies", "new", "--number", "3"], PASSPHRASE).expect_failure(10, "no backup 3");
    restore(&["none", "new"], PASSPHRASE).expect_failure(10, "no backups in none");
    assert!(!place.beside("new").exists());
    restore(&["copies", "new"], PASSPHRASE).expect(0);
    restore(&["copies", "new"], PASSPHRASE).expect_failure(1, "There is a store at new");
    let old = restore(&["copies", "old", "--number", "1", "--json"], PASSPHRASE).expect(0).out;
    assert_eq!(old, "{\"backup\":1,\"store\":\"old\",\"files\":2,\"bytes\":7}\n");
    let check =
        |code| place.run(["backup", "check", "copies", "--number", "1"], "").expect(code).out;
    assert!(check(0).contains("2 files, 7B of text.\nNo problems found"));
    let records = place.beside("copies/records-0000000000000001");
    let mut bytes = fs::read(&records).unwrap();
    bytes.fill(0);
    fs::write(&records, bytes).unwrap();
    check(12);
    place.put_back("old");
    assert_eq!(place.cat("/memories/a"), "kept");
    place.run(["check"], "").expect(0);

    let inside = place.store().join("copy");
    place.run(["backup", inside.to_str().unwrap()], "").expect_failure(2, "is inside the store");
    place.run(["backup", "not/there"], "").expect(14);
}

/// The newest one was restored, of whichever store it was.
#[test]
fn among_backups_of_several_stores_one_is_chosen_by_its_number() {
    let (place, other) = (Place::with_store(), Place::with_store());
    let copies = place.beside("copies").display().to_string();
    for from in [&place, &other] {
        from.run(["backup", &copies], "").expect(0);
    }
    for args in [&["check", "copies"][..], &["restore", "copies", "new"]] {
        let refused = place.run([&["backup"][..], args].concat(), "");
        let refused = refused.expect_failure(2, "copies has backups of several stores");
        assert!(refused.err.contains("--number"), "{refused:?}");
        place.run([&["backup"][..], args, &["--number", "2"]].concat(), "").expect(0);
    }
}

#[test]
fn a_backup_needs_a_folder_and_keeps_itself() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.run(["backup"], "").expect(2);
    place.run(["backup", "--keep", "0", "copies"], "").expect(2);
    for _ in 0..2 {
        place.run(["backup", "--keep", "1", "--keep-within", "1d", "copies"], "").expect(0);
    }
    let list = place.run(["backup", "list", "copies"], "").expect(0).out;
    assert_eq!(list.lines().count(), 2, "both are younger than a day: {list}");
}

#[test]
fn a_damaged_store_is_neither_copied_nor_rewritten() {
    let place = Place::with_files(&[("/memories/a", &"long\n".repeat(600))]);
    place.damage_longest_record();
    for args in
        [&["backup", "copy"][..], &["purge"], &["compact"], &["migrate", "--engine", "sled"]]
    {
        place.run(args, "").expect_failure(12, "tampered with");
    }
    assert!(!place.beside("copy").exists());
    assert!(place.store().join("gen-0000000000000001").exists());
}

#[test]
fn moving_to_the_engine_it_has_is_a_purge() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.run(["migrate", "--engine", "sled"], "").expect(0);
    assert_eq!(place.cat("/memories/a"), "kept");
    place.run(["migrate"], "").expect(2);
    place.run(["migrate", "--engine", "paper"], "").expect(2);
}

#[cfg(not(feature = "redb"))]
#[test]
fn an_engine_missing_from_this_build_is_15_and_changes_nothing() {
    let place = Place::vacant();
    let init = ["init", "--engine", "redb"];
    place.run(init.iter().chain(&CHEAP), "").expect_failure(15, "engine");
    assert!(!place.store().exists());
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.run(["migrate", "--engine", "redb"], "").expect_failure(15, "engine");
    assert_eq!(place.cat("/memories/a"), "kept");
}

#[cfg(feature = "redb")]
#[test]
fn a_store_moves_from_one_engine_to_the_other_and_back() {
    let place = Place::vacant();
    place.run(["init", "--engine", "redb"].iter().chain(&CHEAP), "").expect(0);
    place.run(["write", "/memories/a"], "kept").expect(0);
    for engine in ["redb", "sled", "redb"] {
        place.run(["migrate", "--engine", engine], "").expect(0);
        let out = place.run(["status"], "").expect(0).out;
        assert!(out.contains(&format!("engine      {engine}\n")), "{out}");
        assert_eq!(place.cat("/memories/a"), "kept");
        place.run(["check"], "").expect(0);
    }
}

#[test]
fn a_missing_store_is_10_for_every_one_of_them() {
    let place = Place::vacant();
    for args in [
        &["check"][..],
        &["repair"],
        &["purge"],
        &["compact"],
        &["migrate", "--engine", "sled"],
        &["backup", "copy"],
        &["salvage", "--to", "saved"],
        &["accept-rollback"],
        &["discard"],
        &["destroy"],
    ] {
        run(&mut place.command(args), b"").expect_failure(10, "There is no store at ");
    }
    assert_eq!(fs::read_dir(place.beside("")).unwrap().count(), 0);
}
