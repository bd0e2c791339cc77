//! Commands that change keyslots.

use std::fs;

use crate::inmost::{CHEAP, Ended, PASSPHRASE, Place, assert_private, run};

/// A store with one file, and a new passphrase.
fn place() -> Place {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    fs::write(place.beside("new"), "battery staple\n").unwrap();
    place
}

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

/// Whether the file can be read with this passphrase, and these arguments.
fn opens(place: &Place, passphrase: &str, args: &[&str]) -> bool {
    place.lock();
    let mut cat = place.command(with(&["cat", "/memories/a"], args));
    let ended = run(cat.env("INMOST_PASSPHRASE", passphrase), b"");
    if ended.code == Some(0) {
        assert_eq!(ended.out, "kept");
        return true;
    }
    ended.expect(11);
    false
}

fn recovery_key(printed: &Ended) -> String {
    printed.out.lines().map(str::trim).find(|line| line.len() == 77).unwrap().to_owned()
}

const NEW: [&str; 2] = ["--new-passphrase-file", "new"];

#[test]
fn a_passphrase_is_changed() {
    let place = place();
    let out = place.run(with(&["passwd"], &[&NEW[..], &CHEAP].concat()), "").expect(0).out;
    assert!(out.contains("keyslot 0") && out.contains("inmost rotate"), "{out}");
    assert!(!opens(&place, PASSPHRASE, &[]));
    assert!(opens(&place, "battery staple", &[]));
}

#[test]
fn a_forgotten_passphrase_is_changed_with_the_recovery_key() {
    let place = place();
    let key = recovery_key(&place.run(["slot", "add", "--recovery-key"], "").expect(0));
    fs::write(place.beside("paper"), key.to_lowercase().replace('1', "l") + "\n").unwrap();
    let by_recovery = ["--recovery", "--passphrase-file", "paper"];
    assert!(opens(&place, "forgotten", &by_recovery));
    let mut passwd = place.command(with(&["passwd"], &[&by_recovery[..], &NEW, &CHEAP].concat()));
    run(passwd.env("INMOST_PASSPHRASE", "forgotten"), b"").expect(0);
    assert!(opens(&place, "battery staple", &[]) && !opens(&place, PASSPHRASE, &[]));

    let typo = key.replacen(&key[12..13], if &key[12..13] == "Z" { "Y" } else { "Z" }, 1);
    let group = typo.split('-').zip(key.split('-')).position(|(one, other)| one != other).unwrap();
    fs::write(place.beside("paper"), typo).unwrap();
    place
        .run(with(&["ls"], &by_recovery), "")
        .expect_failure(2, &format!("group {} of the recovery key has a typo", group + 1));
}

#[test]
fn slots_are_added_listed_and_removed() {
    let place = place();
    place.run(["slot", "add", "--recovery-key", "--label", "in the safe"], "").expect(0);
    let out = place
        .run(with(&["slot", "add", "--label", "tablet"], &[&NEW[..], &CHEAP].concat()), "")
        .expect(0)
        .out;
    assert_eq!(out, "Added keyslot 2.\n");
    let out = place.run(["slot", "list"], "").expect(0).out;
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    for (line, parts) in lines.iter().zip([
        ["0* 20", "passphrase ", "19 MiB x 2", " passphrase"],
        ["1  20", "recovery key", " - ", " in the safe"],
        ["2  20", "passphrase ", "19 MiB x 2", " tablet"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    let current = place.run(["slot", "remove", "0"], "");
    current.expect_failure(2, "needs a confirmation");
    let slots = place.run(["slot", "list", "--json"], "").expect(0).out;
    let first: serde_json::Value = serde_json::from_str(slots.lines().next().unwrap()).unwrap();
    assert_eq!((&first["slot"], &first["current"]), (&0.into(), &true.into()), "{slots}");
    assert_eq!((&first["kind"], &first["kdf_memory_mib"]), (&"passphrase".into(), &19.into()));
    let out = place.run(["slot", "remove", "--yes", "0"], "").expect(0).out;
    assert!(out.contains("older copies") && out.contains("inmost rotate"), "{out}");
    assert!(!opens(&place, PASSPHRASE, &[]) && opens(&place, "battery staple", &[]));
}

#[test]
fn removing_the_last_slot_or_adding_a_ninth_is_refused() {
    let place = Place::with_store();
    place.run(["slot", "remove", "0"], "").expect_failure(1, "last keyslot");
    place.run(["slot", "remove", "5"], "").expect_failure(1, "Keyslot 5 is not in use");
    for _ in 0..7 {
        place.run(["slot", "add", "--recovery-key"], "").expect(0);
    }
    place.run(["slot", "add", "--recovery-key"], "").expect_failure(1, "eight keyslots");
    place
        .run(["slot", "add", "--recovery-key", "--label", "a\tb"], "")
        .expect_failure(2, "Invalid label");
    place.run(["passwd", "--slot", "3"], "").expect_failure(2, "for a recovery key");
}

#[test]
fn a_keyfile_is_made_and_needed() {
    let place = Place::vacant();
    let keyfile = ["--keyfile", "inmost.key"];
    place.run(with(&["init"], &[&keyfile[..], &CHEAP].concat()), "").expect(0);
    let path = place.beside("inmost.key");
    let made = fs::read(&path).unwrap();
    assert_eq!(made.len(), 80);
    assert_private(&path);
    place.run(with(&["write", "/memories/a"], &keyfile), "kept").expect(0);
    assert!(opens(&place, PASSPHRASE, &keyfile));
    assert!(!opens(&place, PASSPHRASE, &[]) && !opens(&place, "correct", &keyfile));
    assert_eq!(fs::read(&path).unwrap(), made, "one that is there is used as it is");

    fs::write(place.beside("new"), "battery staple\n").unwrap();
    let passwd = with(&["passwd"], &[&keyfile[..], &NEW, &CHEAP].concat());
    // The key daemon has not tried this keyfile.
    place.unlock(&keyfile);
    place.run(&passwd, "").expect_failure(2, "needs a keyfile");
    place.lock();
    place.run(&passwd, "").expect(0);
    assert!(opens(&place, "battery staple", &keyfile));
    assert!(!opens(&place, "battery staple", &[]), "a keyfile goes on being needed");

    fs::write(&path, "something else").unwrap();
    place.run(with(&["ls"], &keyfile), "").expect_failure(2, "not a keyfile");
    fs::write(&path, &made[..79]).unwrap();
    place.run(with(&["ls"], &keyfile), "").expect_failure(2, "damaged");
    fs::remove_file(&path).unwrap();
    place.run(with(&["ls"], &keyfile), "").expect(14);
    assert!(!path.exists(), "a store that is there makes none");
}

#[test]
fn a_rotation_lists_the_dropped_keyslots() {
    let place = place();
    let key = recovery_key(
        &place.run(["slot", "add", "--recovery-key", "--label", "safe"], "").expect(0),
    );
    fs::write(place.beside("paper"), &key).unwrap();
    let before = fs::read(place.store().join("header.a")).unwrap();
    place.run(["rotate"], "").expect_failure(2, "needs a confirmation");
    let out = place.run(["rotate", "--yes"], "").expect(0).out;
    assert!(out.contains("recovery key  safe") && !out.contains("passphrase  "), "{out}");
    assert!(opens(&place, PASSPHRASE, &[]));
    assert!(!opens(&place, "", &["--recovery", "--passphrase-file", "paper"]));
    fs::write(place.store().join("header.a"), &before).unwrap();
    fs::write(place.store().join("header.b"), &before).unwrap();
    place.run(["ls"], "").expect(12);
}

#[test]
fn a_recovery_key_comes_with_a_new_store_if_it_is_asked_for() {
    let place = Place::vacant();
    let ended = place.run(with(&["init", "--recovery-key"], &CHEAP), "").expect(0);
    fs::write(place.beside("paper"), recovery_key(&ended)).unwrap();
    place.run(["ls", "--recovery", "--passphrase-file", "paper"], "").expect(0);
    let vacant = Place::vacant();
    vacant.run(["call", "--create", "--recovery"], "").expect_failure(2, "needs a passphrase");
}

#[test]
fn calibration_chooses_a_cost_and_status_shows_it() {
    let place = Place::with_store();
    let out = place.run(["status"], "").expect(0).out;
    assert!(out.contains("below the current default"), "{out}");
    fs::write(place.beside("new"), PASSPHRASE).unwrap();
    place.run(with(&["passwd", "--calibrate", "0.01"], &NEW), "").expect(0);
    let out = place.run(["status"], "").expect(0).out;
    assert!(out.contains("64 MiB, 3 passes") && !out.contains("below"), "{out}");
    place.run(["passwd", "--calibrate", "1", "--kdf-passes", "4"], "").expect(2);
    place.run(["passwd", "--calibrate", "forever"], "").expect(2);
}

#[test]
fn commands_on_slots_have_help_with_an_example() {
    let place = Place::vacant();
    for action in ["list", "add", "remove"] {
        let help = run(&mut place.bare_command(["slot", action, "--help"]), b"").expect(0).out;
        assert!(help.contains(&format!("inmost slot {action} --store ")), "{help}");
    }
}

/// Regression: the keyslot was kept although its key was never printed.
#[cfg(target_os = "linux")]
#[test]
fn a_recovery_key_that_cannot_be_printed_is_taken_back() {
    let place = Place::with_store();
    let mut add = place.command(["slot", "add", "--recovery-key"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = add.stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(ended.status.code(), Some(14));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("its keyslot was removed"), "{said}");
    let listed = place.run(["slot", "list"], "").expect(0).out;
    assert!(!listed.contains("recovery"), "{listed}");
}
