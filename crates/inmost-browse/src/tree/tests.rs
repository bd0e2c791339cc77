//! The windows of long folders.

use std::collections::HashMap;

use inmost::{Session, UnlockedStore};

use super::folder::{PAGE, WINDOW};
use super::*;

const HEIGHT: usize = 20;

/// A tree on a store with a folder `/memories/log` of so many files, and two files behind it.
struct Forest {
    session: Session,
    tree: Tree,
    ticket: Ticket,
    most_loaded: usize,
}

impl Forest {
    fn new(files: usize) -> Self {
        let session = Session::in_memory().unwrap();
        let paths = (0..files).map(|number| format!("/memories/{number:05}"));
        let paths: Vec<_> = paths.collect();
        let new: Vec<_> = paths.iter().map(|path| inmost::NewFile::new(path, "x")).collect();
        session.files().write_many(&new).unwrap();
        let mut forest = Self { session, tree: Tree::new(), ticket: 0, most_loaded: 0 };
        forest.settle();
        forest
    }

    /// Answers the wants of the tree until it has none.
    fn settle(&mut self) {
        loop {
            self.ticket += 1;
            let wants = self.tree.wants(HEIGHT, self.ticket);
            if wants.is_empty() {
                break;
            }
            for want in wants {
                self.answer(want);
            }
        }
    }

    fn answer(&mut self, want: Want) {
        let (start, most) = match &want.part {
            Part::After(cursor) => (cursor.clone(), PAGE),
            Part::Before(cursor, length) | Part::Again(cursor, length) => (cursor.clone(), *length),
            Part::First => (None, PAGE),
            Part::With(_) => unreachable!("no goal has a path here"),
        };
        let page = self.session.list(want.path.as_str(), start.as_ref(), most).unwrap();
        let (entries, next) = (page.items, page.next);
        let listing = Listing { part: want.part, passed: Vec::new(), start, entries, next };
        assert!(self.tree.listed(want.folder, self.ticket, listing));
        let loaded = self.tree.folders.values().map(|folder| folder.entries.len()).sum();
        self.most_loaded = self.most_loaded.max(loaded);
    }

    fn go(&mut self, motion: Motion) {
        self.tree.go(motion, HEIGHT);
        self.settle();
    }

    fn name(&self) -> String {
        self.tree.selected().unwrap().name.as_str().to_owned()
    }
}

#[test]
fn every_entry_is_reached_once_down_and_up() {
    let files = 2_600;
    let mut forest = Forest::new(files);
    for number in 0..files {
        assert_eq!(forest.name(), format!("{number:05}"));
        forest.go(Motion::Down);
    }
    for number in (0..files).rev() {
        assert_eq!(forest.name(), format!("{number:05}"));
        forest.go(Motion::Up);
    }
    assert!(forest.most_loaded <= WINDOW + PAGE, "{}", forest.most_loaded);
}

#[test]
fn the_ends_are_reached_and_the_window_stays_bounded() {
    let mut forest = Forest::new(6_000);
    for _ in 0..2 {
        forest.go(Motion::End);
        assert_eq!(forest.name(), "05999");
        forest.go(Motion::PageUp);
        assert_eq!(forest.name(), "05980");
        forest.go(Motion::Start);
        assert_eq!(forest.name(), "00000");
        forest.go(Motion::PageDown);
        assert_eq!(forest.name(), "00019");
    }
    assert!(forest.most_loaded <= WINDOW + PAGE, "{}", forest.most_loaded);
}

#[test]
fn the_selection_is_always_on_the_screen() {
    let mut forest = Forest::new(2_600);
    let motions = [Motion::PageDown, Motion::End, Motion::Up, Motion::PageUp, Motion::Start];
    for motion in motions.into_iter().cycle().take(60) {
        forest.go(motion);
        let lines = forest.tree.lines();
        let shown = lines.iter().skip(forest.tree.top).take(HEIGHT);
        let selected = shown.filter(|line| forest.tree.is_selected(line)).count();
        assert_eq!(selected, 1, "{motion:?}");
    }
}

#[test]
fn names_that_appear_meanwhile_are_neither_lost_nor_doubled() {
    let mut forest = Forest::new(3_000);
    forest.go(Motion::End);
    for number in [0, 700, 2_300, 2_999] {
        forest.session.files().write(&format!("/memories/{number:05}b"), "x").unwrap();
    }
    forest.ticket += 1;
    for want in forest.tree.again(forest.ticket) {
        forest.answer(want);
    }
    forest.settle();
    let mut seen: HashMap<String, usize> = HashMap::new();
    loop {
        let name = forest.name();
        *seen.entry(name.clone()).or_default() += 1;
        if name == "00000" {
            break;
        }
        forest.go(Motion::Up);
    }
    assert!(seen.values().all(|count| *count == 1));
    assert!(seen.contains_key("02300b") && seen.contains_key("00700b"));
    assert!(seen.len() >= 3_000, "{}", seen.len());
}
