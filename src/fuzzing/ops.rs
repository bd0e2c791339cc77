//! What can be done to a store: operations as data, read from bytes.
//!
//! An operation is written without knowing the store. What depends on it, as a part of a file to search for does, is
//! worked out when it runs.

use serde_json::{Value, json};

use super::input::Input;
use super::model::Rules;
use super::rope::floor;
use inmost_engines::faulty::Fault;

/// The options of a store and its tool.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(super) rules: Rules,
    pub(super) cache_bytes: usize,
}

/// One operation.
///
/// A new one (a change of passphrase) is a variant here, a way to read it in
/// [`Op::read`], and an arm in `stateful::Run::step`.
#[derive(Clone, Debug)]
pub enum Op {
    /// A call of the tool, the path of its file text and needle still open.
    #[doc(hidden)]
    Tool(Sketch),
    /// A call of the file API.
    #[doc(hidden)]
    Files(FilesCall),
    /// Many small files at once, so that folders grow trees.
    #[doc(hidden)]
    Fill { folder: String, first: usize, count: usize, long: usize, text: String },
    /// Locks the session and calls it once more before it is opened again.
    #[doc(hidden)]
    Lock,
    /// Drops the session and opens the store again, with another cache, perhaps with a fault on the way.
    #[doc(hidden)]
    Reopen { cache_bytes: usize, fault: Option<PlannedFault> },
    /// Lets a write from now on fail.
    #[doc(hidden)]
    Fail(PlannedFault),
    /// Rewrites the generation.
    #[doc(hidden)]
    Purge,
    /// Takes away what is not synced, with the process that held the store.
    #[doc(hidden)]
    LosePower,
}

/// A fault at a write to come.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFault {
    pub(super) writes: u64,
    pub(super) fault: Fault,
    /// Whether the machine goes down too, so that what is not synced is lost.
    pub(super) power: bool,
}

/// A tool call whose needle may be a part of the file.
#[derive(Clone, Debug)]
pub enum Sketch {
    /// Complete.
    #[doc(hidden)]
    Whole(Call),
    /// A replacement of so many bytes of the file from a place on.
    #[doc(hidden)]
    Part { path: String, place: usize, bytes: usize, new: Option<String> },
    /// An insertion after a line that is counted from the end.
    #[doc(hidden)]
    FromEnd { path: String, lines: usize, text: String },
}

/// A tool call.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Call {
    View { path: String, range: Range },
    Create { path: String, text: String },
    StrReplace { path: String, old: String, new: Option<String> },
    Insert { path: String, line: i64, text: String },
    Delete { path: String },
    Rename { old: String, new: String },
}

/// A `view_range`.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum Range {
    None,
    /// Two integers in whatever spelling.
    Lines {
        start: i64,
        end: i64,
        as_strings: bool,
    },
    /// Something else, and how it is quoted.
    Other {
        json: &'static str,
        compact: &'static str,
    },
}

/// A call of the file API.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub enum FilesCall {
    Read { path: String },
    Write { path: String, text: String },
    List { path: String },
    Remove { path: String },
    Rename { old: String, new: String },
}

impl Setup {
    /// The options that these bytes stand for.
    #[must_use]
    pub fn from_bytes(data: &[u8]) -> Self {
        Self::read(&mut Input::new(data))
    }

    pub(super) fn read(input: &mut Input<'_>) -> Self {
        let rules = Rules {
            create_overwrites: input.one_in(4),
            read_only: input.one_in(64),
            view_characters: input.pick(&[16_000, 20, 1, 5_000]),
            ranged_view_characters: input.pick(&[64_000, 30, 2, 9_000]),
            listing_entries: input.pick(&[1_000, 1, 5, 40]),
            file_bytes: input.pick(&[16 << 20, 16 << 20, 60, 5_000]),
            store_files: input.pick(&[1_000_000, 1_000_000, 3, 60]),
            store_bytes: input.pick(&[4 << 30, 4 << 30, 300, 60_000]),
        };
        Self { rules, cache_bytes: cache_bytes(input) }
    }
}

impl Op {
    /// The operation that these bytes stand for.
    #[must_use]
    pub fn from_bytes(data: &[u8]) -> Self {
        Self::read(&mut Input::new(data))
    }

    pub(super) fn read(input: &mut Input<'_>) -> Self {
        match input.below(40) {
            0..=25 => Self::Tool(Sketch::read(input)),
            26..=30 => Self::Files(FilesCall::read(input)),
            31 | 32 => Self::Fill {
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
            36 | 37 => Self::Fail(PlannedFault::read(input)),
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
            0 | 1 => Call::View { path: path(input), range: Range::read(input) },
            2..=4 => Call::Create { path: path(input), text: input.text() },
            5 => Call::StrReplace {
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
            7 => Call::Insert { path: path(input), line: input.line(), text: input.text() },
            8 => {
                let lines = input.below(4);
                return Self::FromEnd { path: path(input), lines, text: input.text() };
            }
            9 => Call::Delete { path: path(input) },
            _ => Call::Rename { old: path(input), new: path(input) },
        };
        Self::Whole(call)
    }

    /// The call, for a file of this text.
    pub(super) fn resolve(&self, text: impl Fn(&str) -> Option<String>) -> Call {
        match self {
            Self::Whole(call) => call.clone(),
            Self::Part { path, place, bytes, new } => {
                let text = text(path).unwrap_or_default();
                let place = if text.is_empty() { 0 } else { floor(&text, place % text.len()) };
                let end = floor(&text, place + bytes).max(place);
                let old = text[place..end].to_owned();
                Call::StrReplace { path: path.clone(), old, new: new.clone() }
            }
            Self::FromEnd { path, lines, text: new } => {
                let count = text(path).map_or(0, |text| super::model::lines(&text).len());
                let line = i64::try_from(count.saturating_sub(*lines)).unwrap();
                Call::Insert { path: path.clone(), line, text: new.clone() }
            }
        }
    }
}

impl Call {
    /// The call as a model would send it.
    pub(super) fn json(&self) -> String {
        let value = match self {
            Self::View { path, range } => return view_json(path, range),
            Self::Create { path, text } => {
                json!({"command": "create", "path": path, "file_text": text})
            }
            Self::StrReplace { path, old, new } => {
                let new = new.as_ref().map_or(Value::Null, |new| new.as_str().into());
                json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
            }
            Self::Insert { path, line, text } => {
                json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
            }
            Self::Delete { path } => json!({"command": "delete", "path": path}),
            Self::Rename { old, new } => {
                json!({"command": "rename", "old_path": old, "new_path": new})
            }
        };
        value.to_string()
    }
}

fn view_json(path: &str, range: &Range) -> String {
    let path = Value::from(path);
    let range = match range {
        Range::None => "null".to_owned(),
        Range::Lines { start, end, as_strings: false } => format!("[ {start}, {end}]"),
        Range::Lines { start, end, as_strings: true } => format!("[\"{start}\",{end}]"),
        Range::Other { json, .. } => (*json).to_owned(),
    };
    format!("{{\"command\":\"view\",\"path\":{path},\"view_range\":{range}}}")
}

impl Range {
    fn read(input: &mut Input<'_>) -> Self {
        match input.below(8) {
            0 | 1 => Self::None,
            2 => {
                let (json, compact) = input.pick(&OTHER_RANGES);
                Self::Other { json, compact }
            }
            _ => {
                Self::Lines { start: input.line(), end: input.line(), as_strings: input.one_in(8) }
            }
        }
    }
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

/// A path from few names, so that paths meet; mostly one that is accepted.
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
/// What is no range, as sent and as it comes back.
const OTHER_RANGES: [(&str, &str); 7] = [
    ("[1, 2.5]", "[1,2.5]"),
    ("[ 1 ]", "[1]"),
    ("[1,2,3]", "[1,2,3]"),
    ("\"[1, 2]\"", "\"[1, 2]\""),
    ("{ \"start\": 1 }", "{\"start\":1}"),
    ("[true, null]", "[true,null]"),
    ("7", "7"),
];
