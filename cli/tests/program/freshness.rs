//! A store that is older than its rollback anchor opens only after a person accepts it.

use std::fs;

use crate::inmost::{CHEAP, Place, run};

const WRITE: [&str; 2] = ["write", "/memories/a"];

/// The line that names both commit numbers.
const BOTH: &str = "it is at commit 2, but commit 4 was seen before";

#[test]
fn a_rollback_is_detected_by_an_anchor_outside_the_store_and_can_be_accepted() {
    let place = Place::vacant();
    let anchor = ["--anchor", "newest"];
    place.run(["init"].iter().chain(&CHEAP).chain(&anchor), "").expect(0);
    place.run(WRITE.iter().chain(&anchor), "first").expect(0);
    place.copy_store("copy");
    place.run(WRITE.iter().chain(&anchor), "second").expect(0);
    place.run(WRITE.iter().chain(&anchor), "third").expect(0);
    place.put_back("copy");

    let cat = ["cat", "/memories/a"];
    place.run(cat.iter().chain(&anchor), "").expect_failure(16, BOTH);
    let mut by_variable = place.command(cat);
    run(by_variable.env("INMOST_ANCHOR", "newest"), b"").expect_failure(16, BOTH);

    let accept = ["accept-rollback"];
    let asked =
        place.run(accept.iter().chain(&anchor), "yes\n").expect_failure(2, "needs a confirmation");
    let numbers = "The store is at commit 2, but the anchor recorded commit 4.";
    assert!(asked.out.contains(numbers), "{asked:?}");
    for cause in ["restored from a backup", "second device", "was copied"] {
        assert!(asked.out.contains(cause), "{asked:?}");
    }
    let valid = "are valid again, also those that were replaced or removed since";
    assert!(asked.out.contains(valid) && asked.out.contains("0* "), "{asked:?}");
    place.run(cat.iter().chain(&anchor), "").expect(16);

    place.run(accept.iter().chain(&anchor).chain(&["--yes"]), "").expect(0);
    assert_eq!(place.run(cat.iter().chain(&anchor), "").expect(0).out, "first");
    place.run(WRITE.iter().chain(&anchor), "fourth").expect(0);
    assert_eq!(place.run(cat.iter().chain(&anchor), "").expect(0).out, "fourth");
    let again = place.run(accept.iter().chain(&anchor), "").expect(0).out;
    assert!(again.contains("not older than its rollback anchor"), "{again}");

    // The abandoned state counts as older now.
    place.put_back("copy");
    place.run(cat.iter().chain(&anchor), "").expect(16);
}

#[test]
fn old_records_are_detected_by_the_anchor_beside_them() {
    let place = Place::with_files(&[("/memories/a", "first")]);
    place.copy_store("copy");
    place.run(WRITE, "second").expect(0);
    place.run(WRITE, "third").expect(0);
    let anchor = fs::read(place.store().join("anchor")).unwrap();
    place.put_back("copy");
    fs::write(place.store().join("anchor"), anchor).unwrap();
    place.run(["cat", "/memories/a"], "").expect_failure(16, BOTH);
    place.run(["accept-rollback", "--yes"], "").expect(0);
    assert_eq!(place.cat("/memories/a"), "first");
}

/// Without an anchor outside the store, a copy of the whole store cannot be detected, as the README says.
#[test]
fn a_rollback_is_not_detected_without_an_anchor_outside_the_store() {
    let place = Place::with_files(&[("/memories/a", "first")]);
    place.copy_store("copy");
    place.run(WRITE, "second").expect(0);
    place.put_back("copy");
    assert_eq!(place.cat("/memories/a"), "first");
}

/// A damaged anchor shows nothing. The program says so at each unlock, until somebody accepts the store.
#[test]
fn a_damaged_anchor_is_a_warning_at_each_unlock_until_it_is_accepted() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.run(["slot", "add", "--recovery-key", "--label", "paper in the safe"], "").expect(0);
    place.lock();
    let status = |place: &Place| place.run(["status"], "").out;
    assert!(status(&place).contains("freshness   known: "));
    let anchor = place.store().join("anchor");
    let mut bytes = fs::read(&anchor).unwrap();
    // Both slots of the pair.
    for at in [60, 188] {
        bytes[at] ^= 1;
    }
    fs::write(&anchor, bytes).unwrap();
    for _ in 0..2 {
        let ended = place.run(["cat", "/memories/a"], "");
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), "kept"));
        let warning = ended.err.lines().next().unwrap();
        assert!(warning.starts_with("inmost: warning: It is unknown whether"), "{ended:?}");
        assert!(warning.contains("inmost accept-rollback"), "{ended:?}");
        assert_eq!(place.run(WRITE, "kept").code, Some(0));
        assert!(status(&place).contains("freshness   unknown: "));
    }
    for command in [["cat", "/memories/a"].as_slice(), &["unlock"]] {
        let strict = command.iter().chain(&["--require-fresh"]);
        place.run(strict, "").expect_failure(16, "It is unknown whether this is the newest state");
    }
    let unlocked = place.run(["unlock"], "");
    assert!(unlocked.err.starts_with("inmost: warning: It is unknown whether"), "{unlocked:?}");
    assert!(status(&place).contains("freshness   unknown: "), "through the key daemon");
    place.run(["cat", "/memories/a", "--require-fresh"], "").expect(16);
    place.lock();
    let asked = place.run(["accept-rollback"], "yes\n").expect_failure(2, "needs a confirmation");
    assert!(asked.out.contains("damaged, incomplete or older"), "{asked:?}");
    for keyslot in ["passphrase", "recovery key", "paper in the safe"] {
        assert!(asked.out.contains(keyslot), "{asked:?}");
    }
    assert!(asked.out.contains("Everyone with one of these keyslots"), "{asked:?}");
    assert!(status(&place).contains("freshness   unknown: "));
    place.run(["accept-rollback", "--yes"], "").expect(0);
    assert!(status(&place).contains("freshness   known: "));
    assert!(status(&place).contains("cannot tell whether the whole folder was replaced"));
    place.run(["cat", "/memories/a", "--require-fresh"], "").expect(0);
    let ended = place.run(["cat", "/memories/a"], "");
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("kept", ""));
    let again = place.run(["accept-rollback"], "").expect(0).out;
    assert!(again.contains("not older than its rollback anchor"), "{again}");
}

/// The records of an older copy under the newest header, after two changes of keyslots.
#[test]
fn records_behind_their_header_are_refused_and_can_be_accepted() {
    let place = Place::with_files(&[("/memories/a", "first")]);
    place.lock();
    place.copy_store("copy");
    for label in ["one", "two"] {
        place.run(["slot", "add", "--recovery-key", "--label", label], "").expect(0);
    }
    place.lock();
    let headers = ["header.a", "header.b", "anchor"];
    let newest = headers.map(|name| fs::read(place.store().join(name)).unwrap());
    place.put_back("copy");
    for (name, bytes) in headers.iter().zip(newest) {
        fs::write(place.store().join(name), bytes).unwrap();
    }
    let refused = place.run(["cat", "/memories/a"], "");
    let refused = refused.expect_failure(16, "The records are older than the header");
    assert!(refused.err.contains("inmost accept-rollback"), "{refused:?}");
    let accepted = place.run(["accept-rollback", "--yes"], "").expect(0);
    assert!(accepted.out.contains("none that was removed before it becomes valid"), "{accepted:?}");
    assert!(
        accepted.out.contains("two"),
        "the keyslots are those of the newer header: {accepted:?}"
    );
    let ended = place.run(["cat", "/memories/a"], "");
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("first", ""));
}

#[test]
fn an_anchor_that_could_not_detect_a_rollback_is_refused() {
    let place = Place::with_store();
    let inside = place.store().join("newest");
    let inside = inside.to_str().unwrap();
    place.run(["ls", "--anchor", inside], "").expect_failure(2, "in the folder of the store");
    place.run(["ls", "--anchor", "not/there"], "").expect_failure(2, "does not exist");
    // The anchor of another store must not be overwritten.
    fs::write(place.beside("newest"), "of another store").unwrap();
    let mut init = place.bare_command(["init", "--store", "other", "--anchor", "newest"]);
    init.env("INMOST_PASSPHRASE", "x").args(CHEAP);
    run(&mut init, b"").expect_failure(2, "exists already");
    assert!(!place.beside("other").exists());
    assert_eq!(fs::read(place.beside("newest")).unwrap(), b"of another store");
}

#[test]
fn the_anchor_of_another_store_is_refused_and_left_as_it_is() {
    let place = Place::with_store();
    place.lock();
    let mut init = place.bare_command(["init", "--store", "other", "--anchor", "newest"]);
    init.env("INMOST_PASSPHRASE", "x").args(CHEAP);
    run(&mut init, b"").expect(0);
    let before = fs::read(place.beside("newest")).unwrap();
    place.run(["ls", "--anchor", "newest"], "").expect_failure(16, "not this store's");
    assert_eq!(fs::read(place.beside("newest")).unwrap(), before);
}

#[test]
fn an_anchor_that_cannot_be_written_is_a_warning_only() {
    let place = Place::with_files(&[("/memories/a", "kept")]);
    place.lock();
    fs::create_dir(place.beside("newest")).unwrap();
    let ended = place.run(["cat", "/memories/a", "--anchor", "newest"], "");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "kept"));
    assert!(ended.err.starts_with("inmost: warning: "), "{ended:?}");
}
