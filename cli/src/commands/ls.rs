//! `inmost ls`

use std::cmp::Reverse;
use std::time::SystemTime;

use clap::ValueEnum;
use inmost::{EntryKind, WalkEntry};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::completion;
use crate::exit::Failure;
use crate::json_line::milliseconds;
use crate::memory_path::{self, ROOT};
use crate::pager;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;
use crate::style::{ColorArgs, Piece};
use crate::{display, json_line, times};
use inmost_console::Wiped;

/// List folders and files of the memory
///
/// Each entry, including hidden ones, is one line: the size of its text, its age since the last change, and its name.
/// -R or --depth lists what is in the folders too, as a tree. At a terminal a long list goes through $PAGER, else `less`.
/// The names of folders end in a slash; their size and age cover everything below them, listed or not. With --long there
/// are the number of lines and the time of the last change in place of the age.
///
/// With --json each line is an object: path, kind, bytes, modified, and for files lines and created. Times are in milliseconds
/// since 1970.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost ls --store notes.inmost\n  \
    inmost ls --store notes.inmost --long --sort time people projects\n  \
    inmost ls --store notes.inmost -R projects")]
pub(crate) struct Ls {
    #[command(flatten)]
    store: StoreArgs,

    /// List this many levels; 1 lists the folder itself
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    depth: u16,

    /// List all levels
    #[arg(short = 'R', long, conflicts_with = "depth")]
    recursive: bool,

    /// Print lines and the time of the last change
    #[arg(short, long)]
    long: bool,

    /// Sort the entries of each folder
    #[arg(long, value_name = "KEY", default_value = "name")]
    sort: SortKey,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    color: ColorArgs,

    /// Folders and files
    #[arg(value_name = "PATH", default_value = ROOT, value_parser = memory_path::parse, add = completion::memory_path())]
    paths: Vec<String>,
}

/// What the entries of a folder are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SortKey {
    Name,
    /// The largest first
    Size,
    /// The one that changed last first
    Time,
}

/// An entry with the time of its last change.
struct Item {
    entry: WalkEntry,
    changed: Option<SystemTime>,
}

impl Ls {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::reading())?;
        let lists = self.paths.iter().map(|path| self.items(&store, path));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        drop(store);
        let mut text = Wiped::default();
        for (path, items) in self.paths.iter().zip(&lists) {
            if self.json {
                items.iter().try_for_each(|item| json_line::append(&Line::of(item), &mut text))?;
                continue;
            }
            let is_file = items.first().is_some_and(|item| item.entry.path.as_str() == path);
            if lists.len() > 1 && !is_file {
                let gap = if text.as_slice().is_empty() { "" } else { "\n" };
                text.append(format!("{gap}{}:\n", display::path(path)).as_bytes());
            }
            self.draw(items, &mut text);
        }
        pager::page(text.as_slice())
    }

    fn items(&self, store: &OpenStore, path: &str) -> Result<Vec<Item>, Failure> {
        // All levels, because a folder changed when anything below it did.
        let entries = store.files().walk(path).collect::<Result<Vec<_>, _>>();
        let entries = entries.map_err(|error| Failure::at(path, error))?;
        let changes = last_changes(&entries);
        let items = entries.into_iter().zip(changes);
        let mut items: Vec<Item> = items.map(|(entry, changed)| Item { entry, changed }).collect();
        sort(&mut items, self.sort);
        let deepest = if self.recursive { usize::MAX } else { usize::from(self.depth) - 1 };
        items.retain(|item| item.entry.depth <= deepest);
        Ok(items)
    }

    fn draw(&self, items: &[Item], text: &mut Wiped) {
        let (now, style) = (SystemTime::now(), self.color.style());
        for (item, guides) in items.iter().zip(guides(items)) {
            let metadata = &item.entry.metadata;
            let size = display::size(metadata.bytes);
            let columns = if self.long {
                let lines = match metadata.kind {
                    EntryKind::File { lines, .. } => lines.to_string(),
                    _ => "-".to_owned(),
                };
                let changed = item.changed.map_or_else(|| "-".to_owned(), times::local_minute);
                format!("{size:>7} {lines:>7}  {changed:<16}  ")
            } else {
                let age = item.changed.map(|changed| display::age(now, changed));
                format!("{size:>7} {:>5}  ", age.unwrap_or_else(|| "-".to_owned()))
            };
            text.append(columns.as_bytes());
            text.append(guides.as_bytes());
            // Only a damaged store has names with control characters.
            let name = display::path(item.entry.name());
            if metadata.is_folder() {
                style.paint(Piece::Folder, format!("{name}/").as_bytes(), text);
            } else {
                text.append(name.as_bytes());
            }
            text.append(b"\n");
        }
    }
}

/// Sorts the entries of each folder, and keeps them below it.
fn sort(items: &mut Vec<Item>, key: SortKey) {
    if key == SortKey::Name {
        return;
    }
    // The keys of the folders above an entry, then its own. The number keeps equal entries in order.
    let mut above: Vec<(Reverse<u128>, usize)> = Vec::new();
    let mut keyed: Vec<_> = std::mem::take(items)
        .into_iter()
        .enumerate()
        .map(|(number, item)| {
            let value = if key == SortKey::Size {
                u128::from(item.entry.metadata.bytes)
            } else {
                let changed = item.changed.unwrap_or(SystemTime::UNIX_EPOCH);
                changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
            };
            above.truncate(item.entry.depth);
            above.push((Reverse(value), number));
            (above.clone(), item)
        })
        .collect();
    keyed.sort_by(|(one, _), (other, _)| one.cmp(other));
    items.extend(keyed.into_iter().map(|(_, item)| item));
}

/// The lines that lead from a folder to its entries.
fn guides(items: &[Item]) -> Vec<String> {
    // Backwards: whether another entry of the same folder follows, for each level.
    let mut follows: Vec<bool> = Vec::new();
    let mut guides: Vec<String> = items
        .iter()
        .rev()
        .map(|item| {
            let depth = item.entry.depth;
            follows.resize(depth + 1, false);
            let levels = follows.iter().enumerate().skip(1);
            let guide = levels.map(|(level, follows)| match (level == depth, follows) {
                (false, true) => "\u{2502}   ",
                (false, false) => "    ",
                (true, true) => "\u{251c}\u{2500}\u{2500} ",
                (true, false) => "\u{2514}\u{2500}\u{2500} ",
            });
            let guide = guide.collect();
            if let Some(own) = follows.last_mut() {
                *own = true;
            }
            guide
        })
        .collect();
    guides.reverse();
    guides
}

/// When each entry last changed. The time of a folder is that of the newest listed file below it.
fn last_changes(entries: &[WalkEntry]) -> Vec<Option<SystemTime>> {
    // Backwards, so that the entries below a folder come before it. `newest` has one element for each depth.
    let mut newest: Vec<Option<SystemTime>> = Vec::new();
    let mut changes: Vec<_> = entries
        .iter()
        .rev()
        .map(|found| {
            newest.resize(newest.len().max(found.depth + 2), None);
            let below = newest.drain(found.depth + 1..).flatten().max();
            let changed = match found.metadata.kind {
                EntryKind::File { modified, .. } => Some(modified),
                _ => below,
            };
            if let Some(level) = newest.get_mut(found.depth) {
                *level = (*level).max(changed);
            }
            changed
        })
        .collect();
    changes.reverse();
    changes
}

/// An entry as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    path: &'a str,
    kind: &'static str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<u64>,
}

impl<'a> Line<'a> {
    fn of(item: &'a Item) -> Self {
        let metadata = &item.entry.metadata;
        let (kind, file) = match metadata.kind {
            EntryKind::File { lines, created, .. } => {
                ("file", Some((lines, milliseconds(created))))
            }
            _ => ("folder", None),
        };
        Self {
            path: item.entry.path.as_str(),
            kind,
            bytes: metadata.bytes,
            lines: file.map(|(lines, _)| lines),
            created: file.map(|(_, created)| created),
            modified: item.changed.map(milliseconds),
        }
    }
}
