//! Builds states of a recording and checks each.

use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab_worker::plan::{Random, Settings};
use lab_worker::verify::{self, Acknowledged, Found, Wrong};

use crate::cut::{Cut, Kind, Tree};
use crate::disk::Disk;
use crate::log::Event;
use crate::recording::{self, Recording, STORE};

/// Which states are made. The same values make the same ones.
#[derive(Clone, Copy)]
pub struct Choice {
    pub seed: u64,
    pub states: usize,
    /// The worker goes on after one state in so many; 0 means never.
    pub again: usize,
}

struct State {
    /// The number of the first event that did not happen.
    moment: usize,
    kind: Kind,
    /// Of the random numbers of this state.
    seed: u64,
}

/// The states of a recording, in the order of their moments, of all kinds equally many.
fn choose(recording: &Recording, choice: Choice, first: usize, end: usize) -> Vec<State> {
    let (mut random, kinds) = (Random::of(choice.seed, 0), Kind::of_environment());
    let places = |wanted: &dyn Fn(&Event) -> bool| -> Vec<usize> {
        (first..end).filter(|at| wanted(&recording.events[*at])).collect()
    };
    let acknowledged =
        places(&|it| matches!(it, Event::Acknowledge { text } if text.starts_with('A')));
    // Openings, closings, rewrites and checkpoints: names and lengths change, or nothing is acknowledged for long.
    let rare: Vec<usize> = (first..end)
        .filter(|at| {
            let around = at.saturating_sub(ALONE)..(at + ALONE).min(recording.events.len());
            let is_call = |event: &Event| matches!(event, Event::Acknowledge { .. });
            recording.events[*at].is_rare() || !recording.events[around].iter().any(is_call)
        })
        .collect();
    let mut states: Vec<State> = (0..choice.states)
        .map(|number| {
            // A third of the moments directly after an acknowledgement, a third near what is rare.
            let moment = match number % 3 {
                0 if !acknowledged.is_empty() => acknowledged[random.below(acknowledged.len())] + 1,
                1 if !rare.is_empty() => rare[random.below(rare.len())] + random.below(8),
                _ => first + random.below(end - first) + 1,
            };
            let kind = kinds[random.below(kinds.len())];
            State { moment: moment.min(end), kind, seed: random.draw() }
        })
        .collect();
    states.sort_by_key(|state| state.moment);
    states
}

/// A recording at moments that only grow.
struct Player<'a> {
    recording: &'a Recording,
    disk: Disk,
    acknowledged: Acknowledged,
    lines: String,
}

impl<'a> Player<'a> {
    fn new(recording: &'a Recording) -> Self {
        let mut acknowledged = Acknowledged::default();
        acknowledged.add(&recording.before);
        let lines = recording.before.clone();
        Self { recording, disk: recording.disk(), acknowledged, lines }
    }

    /// With LAB_LIES, one sync in so many makes nothing durable, as a control.
    fn advance(&mut self, moment: usize) {
        let lies = std::env::var("LAB_LIES").map_or(0, |it| it.parse::<u64>().expect("LAB_LIES"));
        while self.disk.at < moment {
            let event = &self.recording.events[self.disk.at];
            if let Event::Acknowledge { text } = event {
                self.acknowledged.add(text);
                self.lines += text;
            }
            let is_lie = matches!(event, Event::SyncEnds { sync } if lies > 0 && sync % lies == 0);
            self.disk.apply(if is_lie { &Event::Kill } else { event }, &self.recording.log);
        }
    }

    fn tree(&self, state: &State) -> Tree {
        let next = self.recording.events.get(state.moment);
        let cut = Cut { disk: &self.disk, log: &self.recording.log, next };
        cut.tree(state.kind, &mut Random::of(state.seed, 1))
    }
}

/// Where and how a batch of states is checked.
pub struct Batch<'a> {
    pub recording: &'a Recording,
    /// A folder for files of this batch.
    pub folder: PathBuf,
    /// Where states that are wrong are kept.
    pub keep: PathBuf,
    pub settings: Settings,
    /// For messages: the state that this recording began from.
    pub name: String,
    /// The events to cut at.
    pub range: std::ops::Range<usize>,
    pub phase: &'static str,
}

/// Checks every `of`-th state from `first` on. Prints a line before and after each.
pub fn run(batch: &Batch<'_>, choice: Choice, first: usize, of: usize) -> io::Result<()> {
    let states = choose(batch.recording, choice, batch.range.start, batch.range.end);
    let mut player = Player::new(batch.recording);
    for (number, state) in states.iter().enumerate().skip(first).step_by(of) {
        player.advance(state.moment);
        let name = format!("{}{number}", batch.name);
        println!("begin {number} {name}");
        let tree = player.tree(state);
        check(batch, &player, &tree, state, &name)?;
        // After a kill, the next worker builds on what was not synced; the first recording has such kills.
        if choice.again > 0
            && (number / of).is_multiple_of(choice.again)
            && state.kind != Kind::Kill
        {
            go_on(batch, &player, &tree, state, &name)?;
        }
    }
    Ok(())
}

/// Builds one state in a folder.
pub fn build(recording: &Recording, choice: Choice, number: usize, out: &Path) -> io::Result<()> {
    let states = choose(recording, choice, 0, recording.events.len());
    let mut player = Player::new(recording);
    player.advance(states[number].moment);
    fs::create_dir_all(out)?;
    keep(out, &player, &player.tree(&states[number]))
}

fn keep(out: &Path, player: &Player<'_>, tree: &Tree) -> io::Result<()> {
    fs::create_dir_all(out)?;
    fs::write(out.join("ack"), &player.lines)?;
    recording::write_tree(&out.join("home"), tree)
}

fn check(
    batch: &Batch<'_>,
    player: &Player<'_>,
    tree: &Tree,
    state: &State,
    name: &str,
) -> io::Result<()> {
    let home = batch.folder.join("home");
    recording::write_tree(&home, tree)?;
    PANICKED.store(false, Ordering::Relaxed);
    let checked = panic::catch_unwind(AssertUnwindSafe(|| {
        verify::check(&home.join(STORE), &batch.settings, &player.acknowledged)
    }));
    let (word, details) = match checked {
        _ if PANICKED.load(Ordering::Relaxed) => ("panicked".to_owned(), String::new()),
        Err(_) => ("panicked".to_owned(), String::new()),
        Ok(Ok(Found::Store)) => ("ok".to_owned(), String::new()),
        Ok(Ok(found)) => (found.words().replace(' ', "-"), String::new()),
        Ok(Err(Wrong(word, details))) => (word.replace(' ', "-"), details),
    };
    if !word.starts_with("ok") {
        keep(&batch.keep.join(name), player, tree)?;
    }
    fs::remove_dir_all(&home)?;
    let details: String = details.replace('\n', " ").chars().take(400).collect();
    let (moment, pending) = (state.moment, player.disk.pending());
    println!(
        "result {word} {:?}{} {pending} {name} at {moment} {details}",
        state.kind, batch.phase
    );
    Ok(())
}

/// A worker goes on with a state, which is recorded, and the power is cut again.
fn go_on(
    batch: &Batch<'_>,
    player: &Player<'_>,
    tree: &Tree,
    state: &State,
    name: &str,
) -> io::Result<()> {
    let folder = batch.folder.join("again");
    fs::create_dir(&folder)?;
    recording::begin(&folder, tree, &player.lines)?;
    let mut random = Random::of(state.seed, 2);
    let time = Duration::from_millis(random.below(300) as u64 + 30);
    if let Err(error) = recording::run_worker(&folder, time, None, true) {
        keep(&batch.keep.join(name), player, tree)?;
        println!("result not-recorded {:?}-again 0 {name} {error}", state.kind);
        return fs::remove_dir_all(&folder);
    }
    let again = Recording::open(&folder)?;
    again.verify(&folder)?;
    let (end, open) = (again.events.len(), again.is_open_at());
    let ranges = [(0..open.unwrap_or(end), "-opening"), (open.unwrap_or(end)..end, "-reopened")];
    for (range, phase) in ranges.into_iter().filter(|it| !it.0.is_empty()) {
        let second = Batch {
            recording: &again,
            folder: folder.clone(),
            keep: batch.keep.clone(),
            settings: batch.settings,
            name: format!("{name}{phase}-"),
            range,
            phase,
        };
        fs::rename(folder.join("home"), folder.join(format!("first{phase}")))?;
        let choice = Choice { seed: random.draw(), states: CUTS_AGAIN, again: 0 };
        run(&second, choice, 0, 1)?;
        fs::create_dir(folder.join("home"))?;
    }
    fs::remove_dir_all(&folder)
}

/// Whether any thread has panicked.
pub static PANICKED: AtomicBool = AtomicBool::new(false);
/// Events before and after one without an acknowledgement that make it rare.
const ALONE: usize = 12;
/// Second cuts in each phase of a worker that goes on.
const CUTS_AGAIN: usize = 8;
