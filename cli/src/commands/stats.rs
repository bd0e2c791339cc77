//! `inmost stats`

use std::fmt::Write;

use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::store::facts::EntryKind;
use crate::tree::{self, WalkEntry};
use crate::wiped::Wiped;
use crate::{clock, display, json_line};

/// Show what a memory is made of: how many files, how much text, what is largest, oldest and newest
///
/// `inmost status` is about the store itself. With --json one object is printed; times in it are milliseconds since
/// 1970.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost stats --store notes.inmost")]
pub(crate) struct Stats {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let counts = self.store.with_store(Input::Free, |store| {
            let mut counts = Counts { disk_bytes: store.status()?.disk_bytes, ..Counts::default() };
            tree::walk(store, "/memories", usize::MAX, |found| {
                counts.add(found);
                Ok(())
            })?;
            Ok(counts)
        })?;
        let mut text = Wiped::new();
        if self.json {
            json_line::append(&counts, &mut text)?;
        } else {
            text.append(counts.told(clock::now()).as_bytes());
        }
        print(text.expose())
    }
}

#[derive(Default, Serialize)]
struct Counts {
    files: u64,
    folders: u64,
    bytes: u64,
    lines: u64,
    disk_bytes: u64,
    largest: Option<File>,
    oldest: Option<File>,
    newest: Option<File>,
}

#[derive(Clone, Serialize)]
struct File {
    path: String,
    bytes: u64,
    modified: u64,
}

impl Counts {
    fn add(&mut self, found: WalkEntry) {
        let EntryKind::File { lines, modified, .. } = found.entry.kind else {
            self.folders += 1;
            return;
        };
        self.files += 1;
        self.bytes = self.bytes.saturating_add(found.entry.bytes);
        self.lines = self.lines.saturating_add(lines);
        let file = File { path: found.path, bytes: found.entry.bytes, modified };
        // Of several that are alike, the first stays.
        if self.largest.as_ref().is_none_or(|largest| file.bytes > largest.bytes) {
            self.largest = Some(file.clone());
        }
        if self.newest.as_ref().is_none_or(|newest| file.modified > newest.modified) {
            self.newest = Some(file.clone());
        }
        if self.oldest.as_ref().is_none_or(|oldest| file.modified < oldest.modified) {
            self.oldest = Some(file);
        }
    }

    fn told(&self, now: u64) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<11} {value}");
        };
        line("files", self.files.to_string());
        line("folders", self.folders.to_string());
        line(
            "text",
            format!("{} bytes in {}", self.bytes, display::count(self.lines, "line", "lines")),
        );
        line("on disk", format!("{} bytes", self.disk_bytes));
        if let Some(file) = &self.largest {
            line("largest", format!("{} bytes, {}", file.bytes, display::path(&file.path)));
        }
        for (name, file) in [("oldest", &self.oldest), ("newest", &self.newest)] {
            if let Some(file) = file {
                let (age, path) = (display::age(now, file.modified), display::path(&file.path));
                line(name, format!("changed {age} ago, {path}"));
            }
        }
        text
    }
}
