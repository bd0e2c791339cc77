//! `inmost ls`

use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::store::facts::EntryKind;
use crate::style::{Piece, Style};
use crate::tree::{self, WalkEntry};
use crate::wiped::Wiped;
use crate::{clock, display, json_line};

/// Show a folder of the memory, and everything below it, as a tree
///
/// One line for each entry, hidden ones too: the size of its text, how long ago it last changed, and its name; folders
/// end in a slash, and their size and age are those of everything below.
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

    /// Look no deeper than this: 1 shows what is in the folder itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    depth: Option<u16>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    /// The folder, or a file
    #[arg(default_value = "/memories")]
    path: String,
}

impl Ls {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let deepest = self.depth.map_or(usize::MAX, |depth| usize::from(depth) - 1);
        let found = self.store.with_store(Input::Free, |store| {
            let mut found = Vec::new();
            tree::walk(store, &self.path, deepest, |entry| {
                found.push(entry);
                Ok(())
            })?;
            Ok(found)
        })?;
        let mut text = Wiped::new();
        if self.json {
            for found in &found {
                json_line::append(&Line::of(found), &mut text)?;
            }
        } else {
            draw(&found, Style::of_output(), &mut text);
        }
        print(text.expose())
    }
}

fn draw(all: &[WalkEntry], style: Style, text: &mut Wiped) {
    let now = clock::now();
    for (found, changed) in all.iter().zip(changes(all)) {
        let size = display::size(found.entry.bytes);
        let age = changed.map_or_else(|| "-".to_owned(), |changed| display::age(now, changed));
        text.append(format!("{size:>7} {age:>5}  ").as_bytes());
        text.append("  ".repeat(found.depth).as_bytes());
        // Names hold no control characters unless the store is damaged.
        let name = display::path(&found.entry.name);
        if found.is_folder() {
            style.paint(Piece::Folder, format!("{name}/").as_bytes(), text);
        } else {
            text.append(name.as_bytes());
        }
        text.append(b"\n");
    }
}

/// When each last changed: a folder with the newest file that was found below it.
fn changes(all: &[WalkEntry]) -> Vec<Option<u64>> {
    // From the end, so that what is below a folder comes before it; `newest` has one place for each depth on the way.
    let mut newest: Vec<Option<u64>> = Vec::new();
    let mut changes: Vec<_> = all
        .iter()
        .rev()
        .map(|found| {
            newest.resize(newest.len().max(found.depth + 2), None);
            let below = newest.drain(found.depth + 1..).flatten().max();
            let changed = match found.entry.kind {
                EntryKind::File { modified, .. } => Some(modified),
                EntryKind::Folder => below,
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
        let (kind, file) = match found.entry.kind {
            EntryKind::File { lines, created, modified, .. } => {
                ("file", Some((lines, created, modified)))
            }
            EntryKind::Folder => ("folder", None),
        };
        Self {
            path: &found.path,
            kind,
            bytes: found.entry.bytes,
            lines: file.map(|(lines, ..)| lines),
            created: file.map(|(_, created, _)| created),
            modified: file.map(|(.., modified)| modified),
        }
    }
}
