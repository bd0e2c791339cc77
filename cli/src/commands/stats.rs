//! `inmost stats`

mod shares;

use std::fmt::Write;
use std::time::SystemTime;

use inmost::{EntryKind, WalkEntry};
use serde::{Serialize, Serializer};

use self::shares::{Age, Folder, Shares};
use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::memory_path::ROOT;
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::{display, json_line};

/// Show statistics of the memory: files, folders, size of the text, and the largest, oldest and newest file
///
/// Then it shows how much text each folder has, and when the text was changed last. `inmost status` shows the state of the store
/// itself. With --json one object is printed; its times are in milliseconds since 1970, and its lists `by_folder` and `by_age`
/// have the same numbers, for every folder.
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
        let store = self.store.open(&OpenOptions::reading())?;
        let disk_bytes = self.store.stored_bytes(&store)?;
        let mut counts = Counts { disk_bytes, ..Counts::default() };
        let (now, mut shares) = (SystemTime::now(), Shares::default());
        for entry in store.files().walk(ROOT) {
            let entry = entry?;
            if let EntryKind::File { modified, .. } = entry.metadata.kind {
                let age = shares::age(now, modified);
                shares.add(entry.path.as_str(), entry.metadata.bytes, age);
            }
            counts.add(entry);
        }
        drop(store);
        if self.json {
            let (by_folder, by_age) = (shares.folders(), shares.ages());
            return json_line::print(&Object { counts: &counts, by_folder, by_age });
        }
        print(counts.as_text(now).as_bytes())?;
        print(shares.as_text().as_bytes())
    }
}

#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    counts: &'a Counts,
    by_folder: Vec<Folder>,
    by_age: Vec<Age>,
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
    #[serde(serialize_with = "in_milliseconds")]
    modified: SystemTime,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn in_milliseconds<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(json_line::milliseconds(*time))
}

impl Counts {
    fn add(&mut self, found: WalkEntry) {
        let EntryKind::File { lines, modified, .. } = found.metadata.kind else {
            self.folders += 1;
            return;
        };
        self.files += 1;
        self.bytes = self.bytes.saturating_add(found.metadata.bytes);
        self.lines = self.lines.saturating_add(lines);
        let file = File { path: found.path.into_string(), bytes: found.metadata.bytes, modified };
        // Among equal files, the first one is kept.
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

    fn as_text(&self, now: SystemTime) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<11} {value}");
        };
        line("files", self.files.to_string());
        line("folders", self.folders.to_string());
        line(
            "text",
            format!(
                "{} in {}",
                display::size(self.bytes),
                display::count(self.lines, "line", "lines")
            ),
        );
        line("on disk", display::size(self.disk_bytes));
        if let Some(file) = &self.largest {
            line(
                "largest",
                format!("{}, {}", display::size(file.bytes), display::path(&file.path)),
            );
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
