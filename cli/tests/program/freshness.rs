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
