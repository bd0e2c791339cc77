//! `inmost ls`

use std::time::SystemTime;

use inmost::{EntryKind, WalkEntry, human_size};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::json_line::milliseconds;
use crate::memory_path::{self, ROOT};
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::style::{Piece, Style};
use crate::wiped::Wiped;
use crate::{display, json_line};

/// List a folder of the memory, and everything below it, as a tree
///
/// Each entry, including hidden ones, is one line: the size of its text, its age since the last change, and its name.
/// The names of folders end in a slash; their size and age cover everything below them.
///
/// With --json each line is an object: path, kind, bytes, and for files lines, created and modified, in milliseconds
/// since 1970.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost ls --store notes.inmost\n  \
    inmost ls --store notes.inmost --depth 1 /memories/projects")]
pub(crate) struct Ls {
    #[command(flatten)]
    store: StoreArgs,

    /// List only this many levels; 1 lists the folder itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    depth: Option<u16>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// The folder, or a file
    #[arg(default_value = ROOT, value_parser = memory_path::parse)]
    path: String,
}

impl Ls {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let deepest = self.depth.map_or(usize::MAX, |depth| usize::from(depth) - 1);
        let store = self.store.open(&OpenOptions::default())?;
        let entries = store.files().walk_to(&self.path, deepest).collect::<Result<Vec<_>, _>>();
        let entries = entries.map_err(|error| Failure::at(&self.path, error))?;
        drop(store);
        let mut text = Wiped::default();
        if self.json {
            for entry in &entries {
                json_line::append(&Line::of(entry), &mut text)?;
            }
        } else {
            draw(&entries, Style::of_output(), &mut text);
        }
        print(text.as_slice())
    }
}

fn draw(entries: &[WalkEntry], style: Style, text: &mut Wiped) {
    let now = SystemTime::now();
    for (found, changed) in entries.iter().zip(last_changes(entries)) {
        let size = human_size(found.metadata.bytes);
        let age = changed.map_or_else(|| "-".to_owned(), |changed| display::age(now, changed));
        text.append(format!("{size:>7} {age:>5}  ").as_bytes());
        text.append("  ".repeat(found.depth).as_bytes());
        // Only a damaged store has names with control characters.
        let name = display::path(found.name());
        if found.metadata.is_folder() {
            style.paint(Piece::Folder, format!("{name}/").as_bytes(), text);
        } else {
            text.append(name.as_bytes());
        }
        text.append(b"\n");
    }
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
    fn of(found: &'a WalkEntry) -> Self {
        let (kind, file) = match found.metadata.kind {
            EntryKind::File { lines, created, modified, .. } => {
                ("file", Some((lines, milliseconds(created), milliseconds(modified))))
            }
            _ => ("folder", None),
        };
        Self {
            path: found.path.as_str(),
            kind,
            bytes: found.metadata.bytes,
            lines: file.map(|(lines, ..)| lines),
            created: file.map(|(_, created, _)| created),
            modified: file.map(|(.., modified)| modified),
        }
    }
}
