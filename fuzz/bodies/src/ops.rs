//! The operations on a store as data, read from bytes.
//!
//! An operation is built without looking at the store. Anything that depends on the store, such as a part of
//! a file to search for, is computed when the operation runs.

use crate::input::Input;
use crate::model::Rules;
use crate::naive::{self, floor};
use crate::tool_call::{Range, ToolCall};
use inmost_engines::faulty::Fault;

/// The options of a store and its tool.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) rules: Rules,
    pub(crate) cache_bytes: usize,
}

/// One operation.
///
/// A new operation (a change of passphrase, for example) needs a variant here, a way to read it in [`Op::read`], and an
/// arm in `stateful::Run::step`.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A call of the tool.
    Tool(Sketch),
    /// A call of the file API.
    Files(FilesCall),
    /// Many small files at once, so that folders grow trees.
    Fill { folder: String, first: usize, count: usize, long: usize, text: String },
    /// Locks the session and calls it once more before it is opened again.
    Lock,
    /// Drops the session and opens the store again with another cache size, perhaps with a fault while it opens.
    Reopen { cache_bytes: usize, fault: Option<PlannedFault> },
    /// Makes a later write fail.
    Fail(PlannedFault),
    /// Rewrites the generation.
    Purge,
    /// A request to the history.
    Past(PastCall),
    /// A power cut: the process ends, and unsynced writes are lost.
    LosePower,
    /// Moves the clock, by milliseconds.
    Clock(i64),
    /// Makes small changes until no version is left to drop.
    Settle,
}

/// A request to the history. A version is picked by its place in the log, from the newest.
#[derive(Clone, Debug)]
pub(crate) enum PastCall {
    /// Turns it on or off.
    Keep(bool),
    /// Keeps versions for these milliseconds, in so much room.
    Set {
        keep: u64,
        room: u64,
    },
    /// Rewrites the generation with all versions.
    Compact,
    Restore {
        pick: usize,
        to: Option<String>,
    },
    /// Forgets what is or was at the path of a version, up to this version.
    ForgetUntil {
        pick: usize,
    },
    Forget {
        path: String,
    },
    /// Undoes the changes of one file, of a path, or all.
    Undo {
        pick: usize,
        path: Option<String>,
    },
}

/// A fault at a later write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedFault {
    pub(crate) writes: u64,
    pub(crate) fault: Fault,
    /// Whether the power fails too, so that unsynced writes are lost.
    pub(crate) power: bool,
}

/// A tool call whose needle may be a part of the file.
#[derive(Clone, Debug)]
pub(crate) enum Sketch {
    /// A complete call.
    Whole(ToolCall),
    /// A replacement of a part of the file: this many bytes from a place on.
    Part { path: String, place: usize, bytes: usize, new: Option<String> },
    /// An insertion after a line that is counted from the end of the file.
    FromEnd { path: String, lines: usize, text: String },
}

/// A call of the file API.
#[derive(Clone, Debug)]
pub(crate) enum FilesCall {
    Read { path: String },
    Write { path: String, text: String },
    List { path: String },
    Remove { path: String },
    Rename { old: String, new: String },
}

impl Setup {
    pub(crate) fn read(input: &mut Input<'_>) -> Self {
        let rules = Rules {
            create_overwrites: input.one_in(4),
            read_only: input.one_in(64),
            view_characters: input.pick(&[16_000, 20, 1, 5_000]),
            range_characters: input.pick(&[64_000, 30, 2, 9_000]),
            listing_entries: input.pick(&[1_000, 1, 5, 40]),
            file_bytes: input.pick(&[16 << 20, 16 << 20, 60, 5_000]),
            store_files: input.pick(&[1_000_000, 1_000_000, 3, 60]),
            store_bytes: input.pick(&[4 << 30, 4 << 30, 300, 60_000]),
        };
        Self { rules, cache_bytes: cache_bytes(input) }
    }
}

impl Op {
    pub(crate) fn read(input: &mut Input<'_>) -> Self {
        // The first 240 values have had their meaning for long: older inputs are made of them.
        match input.byte() {
            240..=246 => Self::Past(PastCall::read_settings(input)),
            247..=252 => Self::Clock(input.pick(&MOVES)),
            253..=255 => Self::Settle,
            byte => Self::read_older(byte % 40, input),
        }
    }

    fn read_older(kind: u8, input: &mut Input<'_>) -> Self {
        match kind {
            0..=23 => Self::Tool(Sketch::read(input)),
            24 | 25 | 32 | 37 => Self::Past(PastCall::read(input)),
            26..=30 => Self::Files(FilesCall::read(input)),
            31 => Self::Fill {
                folder: path(input),
                first: input.below(256),
                count: 1 + input.below(40),
                long: input.pick(&[0, 0, 40, 240]),
                text: input.text().chars().take(40).collect(),
            },
            33 => Self::Lock,
            34 | 35 => {
                let cache_bytes = cache_bytes(input);
                let fault = input.one_in(3).then(|| PlannedFault::read(input));
                Self::Reopen { cache_bytes, fault }
            }
            36 => Self::Fail(PlannedFault::read(input)),
            38 => Self::Purge,
            _ => Self::LosePower,
        }
    }
}

impl PlannedFault {
    fn read(input: &mut Input<'_>) -> Self {
        Self {
            writes: 1 + u64::try_from(input.below(12)).unwrap(),
            fault: input.pick(&[Fault::Stopped, Fault::Refused, Fault::Unreported]),
            power: input.one_in(2),
        }
    }
}

impl Sketch {
    fn read(input: &mut Input<'_>) -> Self {
        let call = match input.below(12) {
            0 | 1 => ToolCall::View { path: path(input), range: Range::read(input) },
            2..=4 => ToolCall::Create { path: path(input), text: input.text() },
            5 => ToolCall::StrReplace {
                path: path(input),
                old: input.text(),
                new: input.one_in(4).then(|| input.text()),
            },
            6 => {
                let places = [0, 1, 3, 4_060, 4_070, 32_768, 40_000];
                let place = input.pick(&places) + input.below(20);
                let bytes = input.pick(&[1, 2, 7, 40, 4_100, 33_000, 100_000]) + input.below(3);
                let new = (!input.one_in(3)).then(|| input.text());
                return Self::Part { path: path(input), place, bytes, new };
            }
            7 => ToolCall::Insert { path: path(input), line: input.line(), text: input.text() },
            8 => {
                let lines = input.below(4);
                return Self::FromEnd { path: path(input), lines, text: input.text() };
            }
            9 => ToolCall::Delete { path: path(input) },
            _ => ToolCall::Rename { old: path(input), new: path(input) },
        };
        Self::Whole(call)
    }

    /// Returns the complete call; `text` returns the text of a file.
    pub(crate) fn resolve(&self, text: impl Fn(&str) -> Option<String>) -> ToolCall {
        match self {
            Self::Whole(call) => call.clone(),
            Self::Part { path, place, bytes, new } => {
                let text = text(path).unwrap_or_default();
                let place = if text.is_empty() { 0 } else { floor(&text, place % text.len()) };
                let end = floor(&text, place + bytes).max(place);
                let old = text[place..end].to_owned();
                ToolCall::StrReplace { path: path.clone(), old, new: new.clone() }
            }
            Self::FromEnd { path, lines, text: new } => {
                let count = text(path).map_or(0, |text| naive::lines(&text).len());
                let line = i64::try_from(count.saturating_sub(*lines)).unwrap();
                ToolCall::Insert { path: path.clone(), line, text: new.clone() }
            }
        }
    }
}

impl PastCall {
    fn read_settings(input: &mut Input<'_>) -> Self {
        Self::Set { keep: input.pick(&TIMES), room: input.pick(&ROOMS) }
    }

    fn read(input: &mut Input<'_>) -> Self {
        match input.below(16) {
            0 => Self::Keep(input.one_in(2)),
            1 => Self::Compact,
            2..=6 => {
                let pick = place(input);
                Self::Restore { pick, to: input.one_in(3).then(|| path(input)) }
            }
            7..=9 => Self::ForgetUntil { pick: place(input) },
            10 | 11 => Self::Forget { path: path(input) },
            _ => {
                let pick = place(input);
                Self::Undo { pick, path: input.one_in(3).then(|| path(input)) }
            }
        }
    }
}

/// A place in the log, mostly a new one.
fn place(input: &mut Input<'_>) -> usize {
    let most = input.pick(&[1, 3, 6, 12, 200]);
    input.below(most)
}

impl FilesCall {
    fn read(input: &mut Input<'_>) -> Self {
        match input.below(6) {
            0 => Self::Read { path: path(input) },
            1 | 2 => Self::Write { path: path(input), text: input.text() },
            3 => Self::List { path: path(input) },
            4 => Self::Remove { path: path(input) },
            _ => Self::Rename { old: path(input), new: path(input) },
        }
    }
}

fn cache_bytes(input: &mut Input<'_>) -> usize {
    input.pick(&[16 << 20, 0, 700, 20_000])
}

/// A path of a few names, so that different calls often use the same path. Most are valid.
fn path(input: &mut Input<'_>) -> String {
    let mut path = if input.one_in(40) { input.pick(&ROOTS) } else { "/memories" }.to_owned();
    let depth = input.pick(&[1, 1, 2, 2, 3, 0, 4, 19]);
    let odd = input.one_in(12);
    for _ in 0..depth {
        path.push('/');
        path.push_str(if odd { input.pick(&ODD_NAMES) } else { input.pick(&NAMES) });
        if depth > 4 && input.one_in(4) {
            path.push_str(&"x".repeat(input.below(250)));
        }
    }
    if input.one_in(12) {
        path.push('/');
    }
    path
}

const SECOND: i64 = 1_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;
/// Moves of the clock, which goes on by a second with each operation. The last one leads to 1970.
const MOVES: [i64; 10] = [
    4 * SECOND,
    60 * SECOND,
    DAY,
    40 * DAY,
    40_000 * DAY,
    -4 * SECOND,
    -60 * SECOND,
    -DAY,
    -40 * DAY,
    i64::MIN,
];
/// How long versions are kept, in milliseconds: for some operations, past most moves of the clock, or for good.
const TIMES: [u64; 6] = [6_000, 2_592_000_000, 1, 30_000, 3_600_000, u64::MAX];
/// Rooms that hold nothing, a short text, some, a long one, or everything.
const ROOMS: [u64; 8] = [0, 268_435_456, 1, 12, 80, 600, 9_000, 200_000];
const ROOTS: [&str; 6] = ["/memories/", "/Memories", "/memoriesx", "", "memories", "/"];
const NAMES: [&str; 12] = [
    "a",
    "b",
    "c",
    "d",
    "a-b",
    "a.txt",
    ".h",
    "node_modules",
    "\u{e9}",
    "e\u{301}",
    "notes for later.md",
    "B",
];
const ODD_NAMES: [&str; 16] = [
    "a",
    "b",
    "",
    "..",
    ".",
    "%2e%2E",
    "a%2fb",
    "a\\b",
    "a\0",
    "%00",
    "\u{202e}a",
    "\n",
    "100%",
    "...",
    "\u{2028}",
    "\u{958}\u{958}",
];
