//! A deterministic simulator of several devices around the code that synchronises them.
//!
//! A schedule follows from its seed. Devices edit files while objects reach them late, in any order, in part or twice; they crash
//! at any step of store, state and place; backups of them are put back. At the end everything becomes visible and all devices
//! synchronise in turns. Then they must show the same files, publish nothing more, and have lost no line that nobody removed.
//!
//! `INMOST_SYNC_SEED` replays one schedule, `INMOST_SYNC_SCHEDULES` runs as many, and `INMOST_SYNC_RULE_SCHEDULES` runs as many at most
//! without each rule.

mod attacks;
mod forgetting;
mod model;
mod modelled;
mod simulator;
mod snapshots;
mod turns;

use inmost::Session;
use inmost_format::crypto::ids::StoreId;
use inmost_format::crypto::keys::CircleKey;
use inmost_format::secret::SecretBytes;

use self::model::{MemoryPlace, MemoryState};
use self::simulator::failure;
use crate::chains::{Dot, LogId, Tag, Vector};
use crate::device::Device;
use crate::error::SyncError;
use crate::object::{Change, Changes, Circle, seal};
use crate::place::Place;
use crate::pool::Pool;
use crate::rules::{Rule, switch};
use crate::state_file::StateStore;
use crate::store::Store;
use crate::sync::{self, Report};

#[test]
fn devices_show_the_same_files_and_lose_nothing() {
    if let Some(seed) = number("INMOST_SYNC_SEED") {
        let found = failure(seed, true);
        assert!(found.is_none(), "seed {seed}: {found:?}");
        return;
    }
    let first = number("INMOST_SYNC_FIRST").unwrap_or(0);
    let schedules = number("INMOST_SYNC_SCHEDULES").unwrap_or(300);
    let failed: Vec<(u64, String)> =
        (first..first + schedules).filter_map(|seed| Some((seed, failure(seed, false)?))).collect();
    let shown: Vec<_> = failed.iter().take(8).collect();
    assert!(failed.is_empty(), "{} of {schedules} schedules: {shown:#?}", failed.len());
}

/// Without any of its rules, synchronisation fails soon. A rule that could be left out would be one too many, or the simulator would
/// be blind.
#[test]
fn each_rule_prevents_a_failure() {
    let most = number("INMOST_SYNC_RULE_SCHEDULES");
    // The others take a minute.
    let rules = if most.is_some() { &Rule::ALL[..] } else { &Rule::ALL[..13] };
    let most = most.unwrap_or(500);
    let mut superfluous = Vec::new();
    for rule in rules {
        switch::OFF.set(Some(*rule));
        let fails = |seed: &u64| {
            let is_failure = || {
                failure(*seed, false).is_some()
                    || seed.is_multiple_of(10) && turns::failure(*seed / 10).is_some()
                    || forgetting::failure(*seed).is_some()
            };
            std::panic::catch_unwind(is_failure).unwrap_or(true)
        };
        let first = (0..most).find(fails);
        switch::OFF.set(None);
        eprintln!("{rule:?}: {first:?}");
        if first.is_none() {
            superfluous.push(*rule);
        }
    }
    assert!(superfluous.is_empty(), "{superfluous:?} can be left out");
}

#[test]
fn devices_in_turns_are_like_one_device() {
    let schedules = number("INMOST_SYNC_TURNS").unwrap_or(60);
    let failed: Vec<(u64, String)> =
        (0..schedules).filter_map(|seed| Some((seed, turns::failure(seed)?))).collect();
    let shown: Vec<_> = failed.iter().take(8).collect();
    assert!(failed.is_empty(), "{} of {schedules} schedules: {shown:#?}", failed.len());
}

#[test]
fn a_text_that_was_forgotten_is_nowhere_once_all_have_synchronised() {
    let first = number("INMOST_SYNC_FIRST").unwrap_or(0);
    let schedules = number("INMOST_SYNC_FORGETTING").unwrap_or(60);
    let failed: Vec<(u64, String)> = (first..first + schedules)
        .filter_map(|seed| Some((seed, forgetting::failure(seed)?)))
        .collect();
    let shown: Vec<_> = failed.iter().take(8).collect();
    assert!(failed.is_empty(), "{} of {schedules} schedules: {shown:#?}", failed.len());
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// A run of what was saved.
fn run(
    states: &impl StateStore,
    store: &impl Store,
    place: &impl Place,
    now: (bool, u64),
    progress: &mut dyn FnMut(usize),
) -> Result<Report, SyncError> {
    sync::run(sync::load(states)?, states, store, place, now, progress)
}

fn circle(key: u8) -> Circle {
    let key = SecretBytes::init_with(|bytes| bytes.fill(key));
    Circle { id: StoreId([1; 16]), key: CircleKey::new(key) }
}

struct Laptop {
    session: Session,
    state: MemoryState,
}

impl Laptop {
    fn new(key: u8, label: &str) -> Self {
        let device = Device::new(circle(key), label.to_owned(), String::new()).unwrap();
        let state = MemoryState::default();
        state.set(device.encode().unwrap().as_slice());
        Self { session: Session::in_memory().unwrap(), state }
    }

    fn write(&self, path: &str, text: &str) {
        self.session.files().write(&format!("/memories/{path}"), text).unwrap();
    }

    fn sync(&self, place: &MemoryPlace) -> Report {
        run(&self.state, &self.session, &place.of(0), (false, DAY), &mut |_| ()).unwrap()
    }

    fn tree(&self) -> Vec<(String, String)> {
        let files = self.session.files().unwrap_files();
        files.into_iter().collect()
    }
}

/// A time on 2026-11-27.
const DAY: u64 = 1_795_737_600_000;

/// Reads everything.
trait UnwrapFiles {
    fn unwrap_files(&self) -> Vec<(String, String)>;
}

impl UnwrapFiles for inmost::Files<'_> {
    fn unwrap_files(&self) -> Vec<(String, String)> {
        let entries = self.walk("/memories").map(Result::unwrap);
        let files = entries.filter(|entry| !entry.metadata.is_folder());
        let read = |path: &str| self.read(path).unwrap().as_str().to_owned();
        files
            .map(|entry| (entry.path.as_str().replace("/memories/", ""), read(entry.path.as_str())))
            .collect()
    }
}

fn pair() -> (MemoryPlace, Laptop, Laptop) {
    (MemoryPlace::default(), Laptop::new(7, "laptop"), Laptop::new(7, "desk"))
}

fn quiet(place: &MemoryPlace, one: &Laptop, other: &Laptop) {
    for _ in 0..3 {
        one.sync(place);
        other.sync(place);
    }
    assert_eq!(one.tree(), other.tree());
    let sent = one.sync(place).sent + other.sync(place).sent;
    assert_eq!(sent, 0, "devices go on publishing");
}

fn files(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn two_devices_that_edited_one_list_offline_both_have_all_of_it() {
    let (place, laptop, desk) = pair();
    laptop.write("list.md", "milk\nbread\n");
    quiet(&place, &laptop, &desk);
    laptop.write("list.md", "milk\nrye bread\n");
    desk.write("list.md", "milk\nbread\neggs\n");
    quiet(&place, &laptop, &desk);
    assert_eq!(desk.tree(), files(&[("list.md", "milk\nrye bread\neggs\n")]));
}

#[test]
fn what_cannot_be_merged_is_shown_beside_it_until_somebody_chooses() {
    let (place, laptop, desk) = pair();
    laptop.write("name.md", "Ada\n");
    quiet(&place, &laptop, &desk);
    laptop.write("name.md", "Ada Lovelace\n");
    laptop.sync(&place);
    desk.write("name.md", "Ada King\n");
    quiet(&place, &laptop, &desk);
    let tree = desk.tree();
    assert_eq!(tree.len(), 2);
    assert!(tree[0].0.starts_with("name (from ") && tree[0].0.ends_with(" 2026-11-27).md"));
    let texts = std::collections::BTreeSet::from([tree[0].1.as_str(), tree[1].1.as_str()]);
    assert_eq!(texts, ["Ada King\n", "Ada Lovelace\n"].into());
    desk.write("name.md", "Ada King, Countess of Lovelace\n");
    desk.session.files().remove(&format!("/memories/{}", tree[0].0)).unwrap();
    quiet(&place, &laptop, &desk);
    assert_eq!(laptop.tree(), files(&[("name.md", "Ada King, Countess of Lovelace\n")]));
}

#[test]
fn renames_deletions_and_swaps_reach_the_other_device() {
    let (place, laptop, desk) = pair();
    for name in ["a/x", "a/y", "z"] {
        laptop.write(name, &format!("{name}\n"));
    }
    quiet(&place, &laptop, &desk);
    let session = laptop.session.files();
    session.rename("/memories/a", "/memories/b").unwrap();
    session.rename("/memories/z", "/memories/t").unwrap();
    session.rename("/memories/b/x", "/memories/z").unwrap();
    session.rename("/memories/t", "/memories/b/x").unwrap();
    session.remove("/memories/b/y").unwrap();
    desk.write("a/y", "a/y\nan edit survives a deletion\n");
    quiet(&place, &laptop, &desk);
    let expected = [("b/x", "z\n"), ("b/y", "a/y\nan edit survives a deletion\n"), ("z", "a/x\n")];
    let mut tree = laptop.tree();
    tree.sort();
    let paths: Vec<&str> = tree.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        tree.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().len(),
        3,
        "{paths:?}"
    );
    for (path, text) in expected.iter().filter(|(path, _)| *path != "b/y") {
        assert!(tree.contains(&((*path).to_owned(), (*text).to_owned())), "{tree:?}");
    }
    assert!(tree.iter().any(|(_, text)| text == expected[1].1), "{tree:?}");
}

/// A note became a folder that two others moved into. Where the first id was that of a file that is in nobody's way, no rename was made.
/// The ids are random, so eight tries are made.
#[test]
fn files_that_want_paths_below_one_another_all_arrive() {
    for _ in 0..8 {
        let (place, laptop, desk) = pair();
        for name in ["a", "b", "c"] {
            laptop.write(name, &format!("{name}\n"));
        }
        quiet(&place, &laptop, &desk);
        let session = laptop.session.files();
        for (old, new) in [("b", "t"), ("a", "b"), ("t", "a/y"), ("c", "a/x")] {
            session.rename(&format!("/memories/{old}"), &format!("/memories/{new}")).unwrap();
        }
        quiet(&place, &laptop, &desk);
        assert_eq!(desk.tree(), files(&[("a/x", "c\n"), ("a/y", "b\n"), ("b", "a\n")]));
    }
}

#[test]
fn files_that_were_swapped_or_edited_after_an_interrupted_round_are_not_made_again() {
    let mut made = 0;
    for (steps, is_swap) in (0..6).flat_map(|steps| [(steps, true), (steps, false)]) {
        let (place, laptop, desk) = pair();
        let (one, other) = (("a", "one\n"), ("b", "two\n"));
        laptop.write(one.0, one.1);
        laptop.write(other.0, other.1);
        laptop.sync(&place);
        desk.state.0.set(Some((steps, false)));
        let _ = run(&desk.state, &desk.session, &place.of(0), (false, DAY), &mut |_| ());
        desk.state.0.set(None);
        let mut expected = files(&[one, other]);
        if desk.tree() == expected {
            let desk = desk.session.files();
            if is_swap {
                for (old, new) in [("a", "t"), ("b", "a"), ("t", "b")] {
                    desk.rename(&format!("/memories/{old}"), &format!("/memories/{new}")).unwrap();
                }
                expected = files(&[("a", other.1), ("b", one.1)]);
            } else {
                desk.append("/memories/a", "more\n").unwrap();
                expected = files(&[("a", "one\nmore\n"), other]);
            }
            made += 1;
        }
        quiet(&place, &laptop, &desk);
        assert_eq!(desk.tree(), expected, "{steps}");
    }
    assert!(made > 2, "no round was interrupted after it had made the files");
}

#[test]
fn a_file_of_the_same_text_is_not_taken_for_one_that_a_round_did_not_make() {
    for steps in 0..6 {
        let (place, laptop, desk) = pair();
        laptop.write("a", "text\n");
        laptop.sync(&place);
        desk.state.0.set(Some((steps, true)));
        let _ = run(&desk.state, &desk.session, &place.of(0), (false, DAY), &mut |_| ());
        desk.state.0.set(None);
        let was_made = desk.tree().iter().any(|(path, _)| path == "a");
        desk.write("copy", "text\n");
        laptop.session.files().remove("/memories/a").unwrap();
        laptop.sync(&place);
        quiet(&place, &laptop, &desk);
        let paths: Vec<String> = desk.tree().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["copy"], "{steps}, {was_made}");
    }
}

#[test]
fn a_place_of_another_circle_shows_nothing() {
    let (place, laptop, _) = pair();
    let stranger = Laptop::new(8, "stranger");
    laptop.write("secret", "text\n");
    laptop.sync(&place);
    let report = stranger.sync(&place);
    assert_eq!((report.received, report.waiting), (0, 1));
    assert_eq!(stranger.tree(), []);
    stranger.write("other", "text\n");
    stranger.sync(&place);
    laptop.sync(&place);
    assert_eq!(laptop.tree(), files(&[("secret", "text\n")]));
}

#[test]
fn a_device_that_joins_with_a_copy_of_the_store_makes_no_second_files() {
    let (place, laptop, desk) = pair();
    laptop.write("a.md", "one\n");
    laptop.sync(&place);
    laptop.write("a.md", "one\ntwo\n");
    laptop.sync(&place);
    desk.write("a.md", "one\ntwo\n");
    quiet(&place, &laptop, &desk);
    assert_eq!(desk.tree(), files(&[("a.md", "one\ntwo\n")]));
}

#[test]
fn what_a_doubtful_store_lacks_is_not_deleted_elsewhere() {
    let (place, laptop, desk) = pair();
    laptop.write("a.md", "one\n");
    laptop.write("b.md", "two\n");
    quiet(&place, &laptop, &desk);
    // As after a repair that did not find everything.
    laptop.session.files().remove("/memories/a.md").unwrap();
    run(&laptop.state, &laptop.session, &place.of(0), (true, DAY), &mut |_| ()).unwrap();
    quiet(&place, &laptop, &desk);
    assert_eq!(laptop.tree(), files(&[("a.md", "one\n"), ("b.md", "two\n")]));
}

#[test]
fn what_the_store_does_not_take_is_kept_and_not_deleted() {
    let (place, laptop, _) = pair();
    let desk = small_desk();
    laptop.write("long", "more than eight bytes\n");
    laptop.write("short", "s\n");
    laptop.sync(&place);
    assert_eq!(desk.sync(&place).held, ["long"]);
    desk.sync(&place);
    laptop.sync(&place);
    assert_eq!(laptop.tree().len(), 2);
    assert_eq!(desk.tree(), files(&[("short", "s\n")]));
}

/// A device whose store takes no more than eight bytes a file.
fn small_desk() -> Laptop {
    let options = inmost::SessionOptions::new().max_file_bytes(8);
    Laptop { session: options.in_memory().unwrap(), ..Laptop::new(7, "desk") }
}

const LONG: &str = "more than eight bytes\n";

/// A conflict whose copy the desk cannot show.
fn pair_with_a_hidden_copy() -> (MemoryPlace, Laptop, Laptop) {
    let (place, laptop, desk) = (MemoryPlace::default(), Laptop::new(7, "laptop"), small_desk());
    laptop.write("a.md", "a\n");
    quiet(&place, &laptop, &desk);
    // The last text wins, so the desk is to know a later time.
    desk.write("other", "o\n");
    desk.sync(&place);
    laptop.write("a.md", LONG);
    laptop.sync(&place);
    desk.write("a.md", "d\n");
    assert_eq!(desk.sync(&place).held.len(), 1);
    (place, laptop, desk)
}

fn has(device: &Laptop, text: &str) -> bool {
    device.tree().iter().any(|(_, found)| found == text)
}

#[test]
fn a_text_that_a_store_could_not_show_survives_an_edit_and_a_deletion() {
    let (place, laptop, desk) = pair_with_a_hidden_copy();
    desk.write("a.md", "e\n");
    desk.sync(&place);
    laptop.sync(&place);
    assert!(has(&laptop, LONG) && has(&laptop, "e\n"), "{:?}", laptop.tree());

    let (place, laptop, desk) = pair_with_a_hidden_copy();
    desk.session.files().remove("/memories/a.md").unwrap();
    desk.sync(&place);
    laptop.sync(&place);
    assert!(has(&laptop, LONG), "{:?}", laptop.tree());
}

#[test]
fn a_deletion_leaves_a_text_that_only_moved_the_file() {
    let (place, laptop, desk) = (MemoryPlace::default(), Laptop::new(7, "laptop"), small_desk());
    laptop.write("a.md", "a\n");
    quiet(&place, &laptop, &desk);
    laptop.session.files().rename("/memories/a.md", "/memories/b.md").unwrap();
    laptop.write("b.md", LONG);
    laptop.sync(&place);
    desk.sync(&place);
    assert_eq!(desk.tree(), files(&[("b.md", "a\n")]));
    desk.session.files().remove("/memories/b.md").unwrap();
    desk.sync(&place);
    laptop.sync(&place);
    assert!(has(&laptop, LONG), "{:?}", laptop.tree());
}

#[test]
fn many_changes_become_several_objects() {
    let (place, laptop, desk) = pair();
    for number in 0..8 {
        laptop.write(&format!("{number}"), &format!("{number}\n").repeat(50));
    }
    assert!(laptop.sync(&place).sent > 2);
    quiet(&place, &laptop, &desk);
    assert_eq!(desk.tree().len(), 8);
}

#[test]
fn an_error_of_the_place_ends_the_round_and_the_next_one_goes_on() {
    let (place, laptop, desk) = pair();
    laptop.write("a.md", "a\n");
    laptop.sync(&place);
    desk.write("b.md", "b\n");
    let objects = place.0.borrow().truth.keys().copied().collect();
    place.0.borrow_mut().unreadable = objects;
    let round = run(&desk.state, &desk.session, &place.of(0), (false, DAY), &mut |_| ());
    assert!(matches!(round, Err(SyncError::PlaceUnavailable(_))));
    place.0.borrow_mut().unreadable.clear();
    assert_eq!(desk.sync(&place).received, 1);
    assert_eq!(desk.tree(), files(&[("a.md", "a\n"), ("b.md", "b\n")]));
}

#[test]
fn an_object_that_was_cut_is_put_again() {
    let (place, laptop, desk) = pair();
    laptop.write("a.md", "a\n");
    laptop.sync(&place);
    place.0.borrow_mut().truth.values_mut().for_each(|bytes| bytes.truncate(9));
    assert_eq!(desk.sync(&place).received, 0);
    assert_eq!(laptop.sync(&place).sent, 1);
    assert_eq!(desk.sync(&place).received, 1);
}

#[test]
fn a_state_that_replaces_what_its_device_had_not_read_is_not_taken() {
    let (place, laptop, desk) = pair();
    laptop.write("a.md", "a\n");
    quiet(&place, &laptop, &desk);
    let state = Device::decode(&laptop.state.get()).unwrap();
    let (file, over) = (*state.heads.keys().next().unwrap(), state.vector);
    let none = Vector::default();
    let changes = Changes {
        label: "member".to_owned(),
        lamport: 9,
        time: 0,
        seen: none.clone(),
        pool: Pool::default(),
        states: vec![Change::Delete { file, over, paths: none }],
        snapshot: None,
    };
    let sealed = seal(&circle(7), (LogId([3; 16]), 1, None), &changes).unwrap();
    place.0.borrow_mut().truth.insert(sealed.dot, sealed.bytes);
    assert_eq!(desk.sync(&place).waiting, 1);
    assert_eq!(desk.tree(), files(&[("a.md", "a\n")]));
}

#[test]
fn each_object_is_read_once_and_a_log_in_one_pass() {
    let (place, laptop, desk) = pair();
    desk.write("b.md", "b\n");
    desk.sync(&place);
    for number in 0..3 {
        laptop.write("a.md", &format!("{number}\n"));
        laptop.sync(&place);
    }
    let log = Device::decode(&laptop.state.get()).unwrap().log;
    for tag in 0..20 {
        let dot = Dot { log, number: 1, tag: Tag([tag; 16]) };
        place.0.borrow_mut().truth.insert(dot, vec![1; 9]);
    }
    place.0.borrow_mut().gets = 0;
    assert_eq!(desk.sync(&place).received, 3);
    // And the one of its own, which nobody is known to have read.
    assert_eq!(place.0.borrow().gets, 3 + 20 + 1);
}

#[test]
fn a_full_folder_is_read_all_the_same() {
    let (place, laptop, desk) = pair();
    laptop.write("a.md", "a\n");
    laptop.sync(&place);
    desk.write("b.md", "b\n");
    place.0.borrow_mut().is_full = true;
    assert!(run(&desk.state, &desk.session, &place.of(0), (false, DAY), &mut |_| ()).is_err());
    assert!(has(&desk, "a\n"));
    place.0.borrow_mut().is_full = false;
    quiet(&place, &laptop, &desk);
    assert_eq!(laptop.tree().len(), 2);
}

#[test]
fn a_path_that_the_store_would_list_otherwise_is_held_and_hides_nothing() {
    let place = MemoryPlace::default();
    let (state, store) = (MemoryState::default(), self::model::ModelStore::default());
    let device = Device::new(circle(7), "model".to_owned(), String::new()).unwrap();
    state.set(device.encode().unwrap().as_slice());
    let put = |number, path: &str| {
        let file = (path.to_owned(), format!("{number}\n"), store.next());
        store.files.borrow_mut().insert(number, file);
    };
    // A name that is not in NFC, which only another implementation publishes, and one in NFC.
    put(1, "a");
    put(2, "b");
    run(&state, &store, &place.of(0), (false, DAY), &mut |_| ()).unwrap();
    let desk = Laptop::new(7, "desk");
    desk.sync(&place);
    put(1, "e\u{301}");
    put(2, "a");
    put(3, "o\u{301}");
    run(&state, &store, &place.of(0), (false, DAY), &mut |_| ()).unwrap();
    for _ in 0..2 {
        let mut held = desk.sync(&place).held;
        held.sort();
        assert_eq!(held, ["a", "e\u{301}", "o\u{301}"]);
        assert_eq!(desk.tree(), files(&[("a", "1\n"), ("b", "2\n")]));
    }
    assert_eq!(run(&state, &store, &place.of(0), (false, DAY), &mut |_| ()).unwrap().received, 0);
}
