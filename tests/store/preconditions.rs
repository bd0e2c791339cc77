//! Conditional changes: of callers that race, one wins, the others learn what is there, and nothing is lost.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use inmost::{FileError, Precondition, Session};

const PATH: &str = "/memories/count.md";

/// Adds one to the number in a file, as often as it takes. Returns how often someone else was faster.
fn add_one(session: &Session, by_hash: bool) -> u32 {
    let files = session.files();
    let mut lost = 0;
    loop {
        let text = files.read(PATH).unwrap().into_string();
        let seen = files.version(PATH).unwrap().unwrap();
        let condition = if by_hash {
            // Of the text that was read, which the state may not have any more.
            Precondition::Sha256(sha256(&text))
        } else {
            if files.read(PATH).unwrap().as_str() != text {
                continue;
            }
            Precondition::Version(seen.version)
        };
        let next = format!("{}\n{}", text.trim().lines().count(), text);
        match files.write_if(PATH, &next, &condition) {
            Ok(now) => {
                assert_eq!(now.bytes, u64::try_from(next.len()).unwrap());
                assert_eq!(now.sha256, sha256(&next));
                return lost;
            }
            Err(FileError::Changed(Some(_))) => lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

fn sha256(text: &str) -> [u8; 32] {
    // The state of a file in another store: the same function, reached by another way.
    let session = Session::in_memory().unwrap();
    session.files().write("/memories/a", text).unwrap();
    session.files().version("/memories/a").unwrap().unwrap().sha256
}

#[test]
fn eight_threads_that_count_together_lose_nothing() {
    let session = Session::in_memory().unwrap();
    session.files().write_if(PATH, "0\n", &Precondition::Absent).unwrap();
    let lost = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..8 {
            let (session, lost) = (&session, &lost);
            scope.spawn(move || {
                for _ in 0..25 {
                    lost.fetch_add(add_one(session, number % 2 == 0), Ordering::Relaxed);
                }
            });
        }
    });
    let text = session.files().read(PATH).unwrap().into_string();
    assert_eq!(text.lines().count(), 201);
    let numbers: Vec<usize> = text.lines().rev().map(|line| line.parse().unwrap()).collect();
    assert!(numbers.iter().skip(1).copied().eq(1..=200), "{numbers:?}");
}

#[test]
fn a_long_text_is_conditional_too() {
    let session = Session::in_memory().unwrap();
    let files = session.files();
    let text = "a long line of text\n".repeat(20_000);
    let first = files.write_if(PATH, &text, &Precondition::Absent).unwrap();
    assert_eq!(files.version(PATH).unwrap(), Some(first));
    let refused = files.write_if(PATH, &text, &Precondition::Absent);
    assert!(matches!(refused, Err(FileError::Changed(Some(now))) if *now == first));
}
