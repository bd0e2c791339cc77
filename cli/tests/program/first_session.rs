//! The session of the README: the agent reads its memory, and the files are encrypted.

use std::fs;
use std::path::Path;

use memchr::memmem;

use crate::inmost::{CHEAP, Place, run};

fn session() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join("examples/first-session.jsonl")).unwrap()
}

#[test]
fn the_first_session_returns_what_the_contract_says() {
    let place = Place::vacant();
    let args = ["call", "--create"].iter().chain(&CHEAP);
    let ended = run(&mut place.command(args), session().as_bytes()).expect(0);
    assert!(session().lines().count() >= 15);
    for (number, (answer, expected)) in
        ended.out.lines().zip(include_str!("first_session.answers.jsonl").lines()).enumerate()
    {
        assert_eq!(answer, expected, "line {}", number + 1);
    }
    assert_eq!(ended.out.lines().count(), session().lines().count());
    for command in ["view", "create", "str_replace", "insert", "delete", "rename"] {
        assert!(session().contains(&format!("\"command\": \"{command}\"")), "{command}");
    }
}

#[test]
fn nothing_of_the_first_session_is_readable_in_the_folder() {
    let place = Place::vacant();
    let args = ["call", "--create"].iter().chain(&CHEAP);
    run(&mut place.command(args), session().as_bytes()).expect(0);

    // Shorter words can occur in random bytes.
    let session = session();
    let mut words: Vec<&str> =
        session.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 6).collect();
    words.extend(["correct horse", "ada.md", "/memories"]);
    assert!(words.contains(&"penicillin") && words.contains(&"Okonkwo"));
    let files = place.files_on_disk();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for word in &words {
            let found = memmem::find(&bytes, word.as_bytes());
            assert!(found.is_none(), "{word:?} can be read in {}", file.display());
            assert!(!file.strip_prefix(place.store()).unwrap().to_string_lossy().contains(word));
        }
    }
}
