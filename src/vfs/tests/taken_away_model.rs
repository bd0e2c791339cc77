//! A model of what was taken away: random changes and forgetting, a crash in the middle of the last of them, damage, and a
//! repair. Whatever could not be read before it cannot be read after it.

use std::collections::BTreeSet;

use super::history_repair::{damage, of_history, repair};
use super::model::{dump, parse};
use super::older_root::OnDisk;
use super::versions::{assert_whole, keeps, log};
use crate::session::Session;
use crate::session::tests::store::TestStore;
use crate::vfs::edit;
use crate::vfs::error::FileError;
use inmost_format::record::Kind;
use inmost_format::record::plain::Random;

const PATHS: [&str; 7] = [
    "/memories/a",
    "/memories/b/c",
    "/memories/b/d/e",
    "/memories/b/d/f",
    "/memories/g/h",
    "/memories/b/long",
    "/memories/moved/x",
];
const FOLDERS: [&str; 4] = ["/memories/b", "/memories/b/d", "/memories/moved", "/memories/g"];

fn one_of<'a>(random: &mut Random, paths: &[&'a str]) -> &'a str {
    paths[random.below(paths.len())]
}

/// Lines that all begin with this word.
fn lines(word: &str, bytes: usize) -> String {
    format!("<{word}> and more\n").repeat(1 + bytes / 20)
}

/// Refused requests are a part of the model; damage is not.
fn expect_no_damage<T>(done: Result<T, FileError>) {
    if let Err(error @ FileError::Store(_)) = done {
        panic!("{error}");
    }
}

fn change(session: &Session, random: &mut Random, step: usize) {
    let (files, path) = (session.files(), one_of(random, &PATHS));
    let word = format!("step {step}");
    expect_no_damage(match random.below(14) {
        0 | 1 => files.write(path, &lines(&word, random.below(9_000))),
        2..6 => edit::insert(session, &parse(path), 0, &lines(&word, 1)),
        6..8 => edit::insert(session, &parse(path), 0, &lines(&word, random.below(40_000))),
        8..10 => match files.read(path) {
            // Takes the first line out, so that its word is in the past alone.
            Ok(text) => files.write(path, text.as_str().split_once('\n').map_or("", |it| it.1)),
            Err(error) => Err(error),
        },
        10 => files.remove(path),
        11 => files.remove(one_of(random, &FOLDERS)),
        12 => files.rename(path, one_of(random, &PATHS)),
        _ => files.rename(one_of(random, &FOLDERS), one_of(random, &FOLDERS)),
    });
    let numbers: Vec<u64> = log(session).iter().map(|version| version.number).collect();
    if random.below(9) == 0 && !numbers.is_empty() {
        let to = (random.below(3) == 0).then_some("/memories/restored");
        expect_no_damage(session.history().restore(numbers[random.below(numbers.len())], to));
    }
}

fn take_away(session: &Session, random: &mut Random) -> Result<(), FileError> {
    let numbers: Vec<u64> = log(session).iter().map(|version| version.number).collect();
    let history = session.history();
    let Some(first) = numbers.get(random.below(numbers.len().max(1))) else { return Ok(()) };
    match random.below(4) {
        0 => history.forget(one_of(random, &PATHS), Some(*first), |_| {}),
        1 => history.forget(one_of(random, &FOLDERS), Some(*first), |_| {}),
        2 => history.forget(one_of(random, &PATHS), None, |_| {}),
        _ => history.forget(one_of(random, &FOLDERS), None, |_| {}),
    }
    .map(drop)
}

/// The words of all texts that can be read or brought back.
fn words(session: &Session) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |text: &str| {
        let found = text.lines().filter_map(|line| line.split_once('>'));
        words.extend(found.map(|(word, _)| word.to_owned()));
    };
    for version in log(session) {
        for number in [Some(version.number), version.previous].into_iter().flatten() {
            match session.history().text(number) {
                Ok(text) => add(text.as_str()),
                Err(error @ FileError::Store(_)) => panic!("{number}: {error}"),
                Err(_) => {}
            }
        }
    }
    for version in log(session) {
        let to = format!("/memories/back {}", version.number);
        expect_no_damage(session.history().restore(version.number, Some(&to)));
    }
    dump(session).unwrap().iter().for_each(|(_, text)| add(text));
    words
}

/// Makes random changes, and takes something away now and then.
fn fill(session: &Session, random: &mut Random) {
    let is_long = random.below(3) == 0;
    for step in 0..10 + random.below(50) {
        change(session, random, step);
        if is_long && step % 5 == 0 {
            let text = lines(&format!("long {step}"), 60_000);
            drop(edit::insert(session, &parse("/memories/b/long"), 1, &text));
        }
        if random.below(12) == 0 {
            expect_no_damage(take_away(session, random));
        }
    }
}

#[test]
fn what_was_taken_away_does_not_come_back_after_a_crash_and_a_repair() {
    for seed in 0..24 {
        let random = &mut Random(seed);
        let prepared = TestStore::create();
        let session = keeps(prepared.unlock().unwrap());
        fill(&session, random);
        drop(session);
        for cut in [1, 2, 3, 5, 8, 12, 18, 27] {
            let store = prepared.duplicate();
            let session = store.unlock_to_stop_at(cut);
            let done = take_away(&session, &mut Random(seed + 1_000));
            drop(session);
            let before = words(&store.duplicate().unlock().unwrap());
            let held: Vec<_> =
                of_history(&store).into_iter().filter(|id| id.kind != Kind::History).collect();
            let count = if held.is_empty() { 0 } else { random.below(3) };
            let mut victims: Vec<_> = (0..count).map(|_| held[random.below(held.len())]).collect();
            victims.dedup();
            damage(&store, &victims);
            let context = format!("seed {seed}, cut {cut}, {victims:?}");
            repair(&store, &context);
            let session = store.unlock().unwrap();
            assert_whole(&session, &context);
            assert_eq!(words(&session).difference(&before).next(), None, "{context}");
            session.history().forget("/memories", None, |_| {}).unwrap();
            assert_whole(&session, &context);
            if done.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn what_was_taken_away_does_not_come_back_with_an_older_root() {
    for seed in 0..24 {
        let random = &mut Random(seed);
        let (store, session) = OnDisk::create();
        fill(&session, random);
        let commit = session.status().unwrap().commit;
        expect_no_damage(take_away(&session, random));
        let commits = session.status().unwrap().commit - commit;
        if random.below(2) == 0 {
            session.lock();
        }
        drop(session);
        let allowed = words(&store.duplicate().unlock());
        let lost = usize::try_from(commits).unwrap() + random.below(2);
        let has_anchor = random.below(2) == 0;
        let report = store.repair_without_roots(lost, has_anchor);
        let context = format!("seed {seed}, anchor {has_anchor}: {report:?}");
        let session = store.unlock();
        assert_whole(&session, &context);
        assert_eq!(words(&session).difference(&allowed).next(), None, "{context}");
    }
}
