//! `inmost cat`

use std::io::{self, IsTerminal};
use std::str::FromStr;

use inmost::{FileError, FileText, Files};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::completion;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::json_line;
use crate::memory_path;
use crate::output::print;
use crate::store::opening::OpenOptions;
use inmost_console::Wiped;

/// Print files of the memory
///
/// If one of the files cannot be read, nothing is printed.
///
/// Prints the bytes unchanged to a file, a pipe or a pager. On a terminal, control characters other than tabs and line
/// ends are escaped, so that no text can send commands to the terminal.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost cat --store notes.inmost todo.md people/ada.md\n  \
    inmost cat --store notes.inmost --number --lines 10..20 /memories/log.md | less")]
pub(crate) struct Cat {
    #[command(flatten)]
    store: StoreArgs,

    /// Print line numbers
    #[arg(short, long)]
    number: bool,

    /// Print one JSON object per file: path, and text
    #[arg(long, conflicts_with = "number")]
    json: bool,

    /// Print only these lines; both ends are included, and either can be left out
    #[arg(long, value_name = "FROM..TO")]
    lines: Option<Lines>,

    /// The files
    #[arg(required = true, value_name = "PATH", value_parser = memory_path::of_file, add = completion::memory_path())]
    paths: Vec<String>,
}

impl Cat {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let store = self.store.open(&OpenOptions::reading())?;
        let texts = self.paths.iter().map(|path| self.read(store.files(), path));
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        // Before the reader of the output, such as a pager, takes its time.
        drop(store);
        for (path, text) in self.paths.iter().zip(texts) {
            let part = text.as_str();
            if self.json {
                json_line::print(&Object { path, text: part })?;
                continue;
            }
            let escaped = io::stdout().is_terminal().then(|| display::text(part));
            let part = escaped.as_ref().map_or(part.as_bytes(), |escaped| escaped.as_slice());
            if self.number {
                let first = self.lines.map_or(1, |lines| lines.from);
                print(numbered(first, part).as_slice())?;
            } else {
                print(part)?;
            }
        }
        Ok(())
    }

    fn read(&self, files: Files<'_>, path: &str) -> Result<FileText, Failure> {
        match self.lines {
            None => files.read(path).map_err(|error| Failure::at(path, error)),
            Some(lines) => lines.read(files, path),
        }
    }
}

/// A file as JSON.
#[derive(Serialize)]
struct Object<'a> {
    path: &'a str,
    text: &'a str,
}

/// The lines with their numbers, in the columns that the memory tool uses.
fn numbered(first: u64, text: &[u8]) -> Wiped {
    let mut lines = Wiped::new(Vec::with_capacity(text.len()));
    for (number, line) in (first..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        lines.append(format!("{number:>6}\t").as_bytes());
        lines.append(line);
    }
    lines
}

/// A range of lines with both ends included. The first line is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lines {
    from: u64,
    to: u64,
}

impl FromStr for Lines {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = "expected 10..20, 10.. or ..20; the first line is 1";
        let (from, to) = text.split_once("..").ok_or(expected)?;
        let number = |text: &str, default| match text {
            "" => Ok(default),
            text => text.parse().map_err(|_| expected),
        };
        let range = Self { from: number(from, 1)?, to: number(to, u64::MAX)? };
        if range.from == 0 || range.to < range.from { Err(expected) } else { Ok(range) }
    }
}

impl Lines {
    /// The lines of the range in a file.
    fn read(self, files: Files<'_>, path: &str) -> Result<FileText, Failure> {
        let range = inmost::LineRange::new(self.from, self.to);
        files.read_lines(path, range).map_err(|error| match error {
            FileError::NoSuchLine(lines) => Failure::new(
                Exit::Other,
                format!(
                    "Line {} does not exist: {} has {}.",
                    self.from,
                    display::path(path),
                    display::count(lines, "line", "lines")
                ),
                "Choose lines within the file.",
            ),
            error => Failure::at(path, error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_lines_with_both_ends() {
        let session = inmost::Session::in_memory().unwrap();
        let of = |range: &str, text: &str| {
            session.files().write("/memories/a", text).unwrap();
            range.parse::<Lines>().unwrap().read(session.files(), "/memories/a")
        };
        for (range, text, expected) in [
            ("..", "", ""),
            ("1..9", "a\r\nb\n", "a\r\nb\n"),
            ("2..3", "a\nb\nc\nd", "b\nc\n"),
            ("2..2", "a\nb\nc\nd", "b\n"),
            ("4..", "a\nb\nc\nd", "d"),
            ("..1", "a\n\n", "a\n"),
        ] {
            assert_eq!(of(range, text).unwrap().as_str(), expected, "{range} of {text:?}");
        }
        for (range, text) in [("2..", "a\n"), ("3..4", "a\nb"), ("2..", "")] {
            assert!(of(range, text).is_err(), "{range} of {text:?}");
        }
    }

    #[test]
    fn an_invalid_range_is_refused() {
        for range in ["", "3", "0..", "3..2", "a..b", "1..2..3", "-1..2"] {
            assert!(range.parse::<Lines>().is_err(), "{range}");
        }
    }
}
