//! `inmost search`

use std::time::SystemTime;

use inmost::{FileError, RankQuery, RankedFile};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::completion;
use crate::exit::{Exit, Failure};
use crate::json_line::{self, milliseconds};
use crate::memory_path::{self, ROOT};
use crate::pager;
use crate::store::opening::{OpenOptions, Readings};
use crate::style::{ColorArgs, Piece};
use crate::{display, streams, times};
use inmost_console::Wiped;

/// Find the files that say most about some words
///
/// Prints the best files first, each with the age of its text and up to three of its lines. Words are found in other forms of the
/// same stem, in any case, with or without accents; a file need not have all of them. The words of a path count too. Rare words
/// count most; `grep` finds exact text.
///
/// With --json each line is an object: path, score, modified (in milliseconds since 1970), and lines, each with line and text.
///
/// Exits with 1 if no file has any of the words.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost search --store notes.inmost flight to lisbon\n  \
    inmost search --store notes.inmost --in projects --since 30d -n 3 deadlines")]
pub(crate) struct Search {
    #[command(flatten)]
    store: StoreArgs,

    /// Search this folder
    #[arg(long = "in", value_name = "PATH", default_value = ROOT, value_parser = memory_path::parse, add = completion::memory_path())]
    folder: String,

    /// Print so many files, 1 to 100
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,

    /// Leave out so many of the best files
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: usize,

    /// Find only files that have changed at this time or later: 2h or 3d ago, or a day such as 2026-11-21
    #[arg(long, value_name = "TIME", value_parser = times::parse_moment)]
    since: Option<SystemTime>,

    /// Print one JSON object per file
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    color: ColorArgs,

    /// The words
    #[arg(required = true)]
    words: Vec<String>,
}

impl Search {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let query = RankQuery::new(self.words.join(" "));
        let query = query.most(self.limit.into()).skip(self.skip);
        let query = self.since.into_iter().fold(query, RankQuery::since);
        let store = self
            .store
            .open(&OpenOptions { readings: Readings::DoNotCount, ..OpenOptions::reading() })?;
        let ranked = store.files().rank(&self.folder, &query);
        let ranked = ranked.map_err(|error| match error {
            FileError::EmptySearch => Failure::new(
                Exit::Usage,
                "There is no word to search for.",
                "Give words, or use `inmost grep -F` for other text.",
            ),
            error => Failure::at(&self.folder, error),
        })?;
        drop(store);
        let mut text = Wiped::default();
        for file in &ranked.files {
            if self.json {
                json_line::append(&Line::of(file), &mut text)?;
            } else {
                self.draw(file, &mut text);
            }
        }
        pager::page(text.as_slice())?;
        for path in &ranked.damaged {
            streams::warn(&format!(
                "{} was not searched, because it is damaged. `inmost check` says more.",
                display::path(path.as_str())
            ));
        }
        if ranked.files.is_empty() { Err(Failure::NoMatch) } else { Ok(()) }
    }

    fn draw(&self, file: &RankedFile, text: &mut Wiped) {
        let style = self.color.style();
        style.paint(Piece::Path, display::path(file.path.as_str()).as_bytes(), text);
        let age = display::age(SystemTime::now(), file.modified);
        text.append(format!("  {age}\n").as_bytes());
        for (number, line) in &file.lines {
            text.append(format!("{number:>6}\t").as_bytes());
            text.append(display::text(line.as_str()).as_slice());
            text.append(b"\n");
        }
    }
}

/// A file as JSON.
#[derive(Serialize)]
struct Line<'f> {
    path: &'f str,
    score: f64,
    modified: u64,
    lines: Vec<Found<'f>>,
}

#[derive(Serialize)]
struct Found<'f> {
    line: u64,
    text: &'f str,
}

impl<'f> Line<'f> {
    fn of(file: &'f RankedFile) -> Self {
        let lines =
            file.lines.iter().map(|(line, text)| Found { line: *line, text: text.as_str() });
        Self {
            path: file.path.as_str(),
            score: file.score,
            modified: milliseconds(file.modified),
            lines: lines.collect(),
        }
    }
}
