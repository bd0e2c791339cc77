//! The plan of each thread, and the content of its folder after any number of steps.
//!
//! A plan depends only on the settings, the thread and the number of the round, so the last acknowledged step
//! determines the expected content. Every round ends with an empty folder.

use std::collections::BTreeMap;

/// The path and text of all files below the folder of one thread.
pub type Files = BTreeMap<String, String>;

/// The amount of work in a round.
#[derive(Clone, Copy)]
pub struct Settings {
    pub threads: u64,
    /// The length of the longest file, in bytes.
    pub long: usize,
    /// The number of files in the folder that is deleted as a whole.
    pub fill: u64,
    /// Milliseconds between purges.
    pub purge_every: u64,
    /// Whether a round also rotates the keys, changes the engine, and makes a backup.
    pub does_more: bool,
}

impl Settings {
    pub fn of_environment() -> Self {
        let number = |name: &str, usual: u64| {
            std::env::var(name).map_or(usual, |value| value.parse().expect(name))
        };
        Self {
            threads: number("LAB_THREADS", 5),
            long: number("LAB_LONG", 16 << 20) as usize,
            fill: number("LAB_FILL", 120),
            purge_every: number("LAB_PURGE_MS", 2500),
            does_more: number("LAB_MORE", 0) == 1,
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Copy, Default)]
pub struct Position {
    pub round: u64,
    pub step: usize,
}

pub enum Step {
    Create(String, String),
    Insert(String, usize, String),
    Replace(String, String, String),
    Delete(String),
    Rename(String, String),
    Purge,
    /// A rewrite that keeps the versions.
    Compact,
    /// A rewrite under new keys, which drops every other keyslot.
    Rotate,
    /// A rewrite to the other engine, or to the first one again.
    Migrate {
        back: bool,
    },
    /// A copy of the store beside it, with this number.
    Backup(u64),
    /// Destroys the copy.
    DestroyCopy(u64),
    /// Forgets the versions below a path, which changes no file.
    Forget(String),
    /// Brings back the version of a file before the last change of it, which had this text.
    Restore(String, String),
    /// Forgets the earlier versions of a file, which changes no file.
    ForgetOld(String),
    /// A second credential gets a keyslot.
    AddSlot,
    /// The passphrase is wrapped again in its keyslot.
    ReplaceSlot,
    /// The second credential loses its keyslot.
    RemoveSlot,
}

/// Represents the second keyslot among the files of the thread that changes keyslots, and must exist or not
/// like a file.
pub const SLOT: &str = "/memories/t1/<slot>";
/// Represents the copy of the store.
pub const COPY: &str = "/memories/t1/<copy>";

impl Step {
    pub fn make_in(&self, files: &mut Files) {
        match self {
            Self::Create(path, text) | Self::Restore(path, text) => {
                files.insert(path.clone(), text.clone());
            }
            Self::Insert(path, line, text) => {
                let old = &files[path];
                let at = old.split_inclusive('\n').take(*line).map(str::len).sum();
                files.insert(path.clone(), [&old[..at], text, &old[at..]].concat());
            }
            Self::Replace(path, old, new) => {
                let text = files[path].replacen(old, new, 1);
                files.insert(path.clone(), text);
            }
            Self::Delete(path) => {
                let below = format!("{path}/");
                files.retain(|name, _| name != path && !name.starts_with(&below));
            }
            Self::Rename(from, to) => {
                let below = format!("{from}/");
                for (name, text) in std::mem::take(files) {
                    let name = match name.strip_prefix(&below) {
                        Some(rest) => format!("{to}/{rest}"),
                        None if name == *from => to.clone(),
                        None => name,
                    };
                    files.insert(name, text);
                }
            }
            Self::AddSlot => {
                files.insert(SLOT.to_owned(), String::new());
            }
            Self::RemoveSlot | Self::Rotate => {
                files.remove(SLOT);
            }
            Self::Backup(_) => {
                files.insert(COPY.to_owned(), String::new());
            }
            Self::DestroyCopy(_) => {
                files.remove(COPY);
            }
            Self::Purge
            | Self::Compact
            | Self::Migrate { .. }
            | Self::Forget(_)
            | Self::ForgetOld(_)
            | Self::ReplaceSlot => {}
        }
    }
}

pub fn folder(thread: u64) -> String {
    format!("/memories/t{thread}")
}

/// Returns the steps of one round. Thread 0 has the longest files, thread 1 purges and changes keyslots, and
/// the others work like agents.
pub fn round(settings: &Settings, thread: u64, round: u64) -> Vec<Step> {
    let mut plan = Plan { random: Random::of(thread, round), steps: Vec::new(), texts: 0 };
    let folder = format!("{}/{round}", folder(thread));
    match thread {
        0 => plan.long_files(&folder, settings.long),
        1 => plan.purges(&folder, settings.does_more.then_some(round)),
        _ => plan.notes(&folder, settings.fill),
    }
    plan.steps.push(Step::Delete(folder));
    plan.steps
}

/// The steps of a round that ends before the step `end`, because the disk is full: those before it, and what empties
/// the folder again.
pub fn ended(mut steps: Vec<Step>, end: usize) -> Vec<Step> {
    let Some(Step::Delete(folder)) = steps.pop() else {
        unreachable!("a round ends with a deletion")
    };
    steps.truncate(end);
    let mut files = Files::new();
    steps.iter().for_each(|step| step.make_in(&mut files));
    if files.remove(SLOT).is_some() {
        steps.push(Step::RemoveSlot);
    }
    if !files.is_empty() {
        steps.push(Step::Delete(folder));
    }
    steps
}

struct Plan {
    random: Random,
    steps: Vec<Step>,
    texts: u64,
}

impl Plan {
    fn long_files(&mut self, folder: &str, long: usize) {
        let path = |name: &str| format!("{folder}/{name}");
        self.restore(&path("earlier"), long / 4);
        let mark = self.create(&path("longest"), long);
        self.replace(&path("longest"), &mark, long / LINE / 2);
        self.steps.push(Step::Rename(path("longest"), path("renamed")));
        self.create(&path("note"), 700);
        self.steps.push(Step::Delete(path("renamed")));
        let mark = self.create(&path("long"), long / 4);
        self.insert(&path("long"), long / 4 / LINE / 2, 30_000);
        self.replace(&path("long"), &mark, 3);
        self.insert(&path("long"), 0, 200);
    }

    fn purges(&mut self, folder: &str, more: Option<u64>) {
        self.create(&format!("{folder}/before"), 9_000);
        self.steps.push(Step::AddSlot);
        self.steps.push(Step::Purge);
        self.create(&format!("{folder}/after"), 3_000);
        self.steps.extend([Step::ReplaceSlot, Step::RemoveSlot]);
        self.steps.push(Step::Rename(format!("{folder}/after"), format!("{folder}/moved")));
        // The folder of another thread, whose files change meanwhile.
        self.steps.push(Step::Forget("/memories/t2".to_owned()));
        self.steps.push(Step::Compact);
        self.steps.push(Step::Forget(folder.to_owned()));
        if let Some(round) = more {
            self.steps.extend([
                Step::AddSlot,
                Step::Rotate,
                Step::Backup(round),
                Step::Migrate { back: false },
                Step::DestroyCopy(round),
                Step::Migrate { back: true },
            ]);
        }
    }

    fn notes(&mut self, folder: &str, fill: u64) {
        let path = |name: &str| format!("{folder}/{name}");
        let size = self.random.below(3_000) + 300;
        let note = self.create(&path("note"), size);
        self.restore(&path("draft"), size);
        let lines = self.random.below(4_000) + 2_500;
        let journal = self.create(&path("journal"), lines * LINE);
        for number in 0..fill {
            let size = if number % 10 == 9 { 40_000 } else { self.random.below(9_000) };
            self.create(&path(&format!("many/{number}")), size);
            if number % 5 == 4 {
                let line = self.random.below(lines / 2);
                self.insert(&path("journal"), line, 100 + line % 3_000);
            }
            if number % 7 == 6 {
                // Every line is replaced at most once, because the replacement removes its mark.
                self.replace(&path("journal"), &journal, (number / 7) as usize);
            }
        }
        self.replace(&path("note"), &note, 1);
        self.steps.push(Step::Rename(path("many"), path("moved")));
        self.steps.push(Step::Delete(path(&format!("moved/{}", fill / 2))));
        self.steps.push(Step::Delete(path("moved")));
    }

    /// Creates a file, changes it, goes back, and forgets what was before.
    fn restore(&mut self, path: &str, bytes: usize) {
        let (_, text) = self.text(bytes);
        self.steps.push(Step::Create(path.to_owned(), text.clone()));
        self.insert(path, 0, 300);
        self.steps.push(Step::Restore(path.to_owned(), text));
        self.insert(path, 1, 100);
        self.steps.push(Step::ForgetOld(path.to_owned()));
    }

    /// Creates a file. Returns the mark with which [`replace`](Self::replace) finds its lines.
    fn create(&mut self, path: &str, bytes: usize) -> String {
        let (mark, text) = self.text(bytes);
        self.steps.push(Step::Create(path.to_owned(), text));
        mark
    }

    fn insert(&mut self, path: &str, line: usize, bytes: usize) {
        let (_, text) = self.text(bytes);
        self.steps.push(Step::Insert(path.to_owned(), line, text));
    }

    fn replace(&mut self, path: &str, mark: &str, line: usize) {
        self.texts += 1;
        let new = format!("edit {}", self.texts);
        self.steps.push(Step::Replace(path.to_owned(), format!("{mark}:{line:06} "), new));
    }

    /// Returns whole lines with exactly the requested number of bytes, and at least one line.
    fn text(&mut self, bytes: usize) -> (String, String) {
        self.texts += 1;
        let mark = format!("{:08x}.{}", self.random.draw() as u32, self.texts);
        let mut text = String::with_capacity(bytes + LINE);
        let mut number = 0;
        while text.len() + LINE <= bytes {
            let from = text.len();
            text.push_str(&format!("{mark}:{number:06} {:016x} ", self.random.draw()));
            let padding = LINE - 1 - (text.len() - from);
            text.extend(std::iter::repeat_n('.', padding));
            text.push('\n');
            number += 1;
        }
        if text.len() < bytes.max(1) {
            let padding = bytes.max(1) - 1 - text.len();
            text.extend(std::iter::repeat_n('~', padding));
            text.push('\n');
        }
        (mark, text)
    }
}

/// The length of a line, in bytes.
const LINE: usize = 64;

/// The SplitMix64 generator.
pub struct Random(u64);

impl Random {
    pub fn of(first: u64, second: u64) -> Self {
        Self(first.wrapping_mul(0xd134_2543_de82_ef95) ^ second.wrapping_mul(0xaf25_1af3_b0f0_25b5))
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % end as u64) as usize
    }
}
