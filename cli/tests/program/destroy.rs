//! `inmost destroy`: asks for confirmation and leaves nothing readable.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::inmost::{Place, create};

#[test]
fn destroying_needs_no_passphrase_but_a_confirmation() {
    let place = Place::with_files(&[("/memories/a", "1")]);
    place.run(["destroy"], "store\n").expect_failure(2, "needs a confirmation");
    assert_eq!(place.cat("/memories/a"), "1");

    let out = place.run(["destroy", "--yes"], "").expect(0).out;
    assert!(out.contains("Destroyed the store at"), "{out}");
    assert!(!place.store().exists());
    place.run(["destroy", "--yes"], "").expect_failure(10, "There is no store at ");
}

/// Reads the old blocks through a file that was opened before, as an undelete tool would.
#[test]
fn both_copies_of_the_header_are_overwritten_first() {
    let place = Place::with_store();
    let headers = ["header.a", "header.b"].map(|name| File::open(place.store().join(name)));
    place.run(["destroy", "--yes"], "").expect(0);
    for header in headers {
        let mut bytes = Vec::new();
        header.unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes == [0; 4_096]);
    }
}

#[test]
fn destroy_removes_only_stores_and_only_their_files() {
    let place = Place::vacant();
    fs::create_dir(place.store()).unwrap();
    fs::write(place.store().join("letter"), "mine").unwrap();
    place.run(["destroy", "--yes"], "").expect_failure(10, "There is no store at ");
    assert!(place.store().join("letter").exists());

    let place = Place::with_store();
    fs::write(place.store().join("letter"), "mine").unwrap();
    let out = place.run(["destroy", "--yes"], "").expect(0).out;
    assert!(out.contains("Other files"), "{out}");
    let left: Vec<_> =
        fs::read_dir(place.store()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["letter"]);
}

#[test]
fn a_store_that_lost_its_header_can_be_destroyed() {
    let place = Place::with_store();
    for name in ["header.a", "header.b"] {
        fs::remove_file(place.store().join(name)).unwrap();
    }
    place.run(["destroy", "--yes"], "").expect(0);
    assert!(!place.store().exists());
}

#[test]
fn a_store_in_use_is_not_destroyed() {
    let place = Place::with_store();
    let mut holder = place
        .command(["call"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut calls = holder.stdin.take().unwrap();
    let mut answers = BufReader::new(holder.stdout.take().unwrap());
    let mut answer = String::new();
    calls.write_all(create("/memories/a", "kept").as_bytes()).unwrap();
    answers.read_line(&mut answer).unwrap();
    let pid = holder.id().to_string();
    place.run(["destroy", "--yes"], "").expect_failure(13, &pid);
    drop(calls);
    assert!(holder.wait().unwrap().success());
    assert_eq!(place.cat("/memories/a"), "kept");
}
