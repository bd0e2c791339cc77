//! `inmost grep`

use std::io::{self, IsTerminal};

use inmost::{FileText, SearchMatch, SearchQuery};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::memory_path::{self, ROOT};
use crate::output::print;
use crate::store::opening::OpenOptions;
use crate::style::{Piece, Style};
use crate::wiped::Wiped;
use crate::{display, json_line};

/// Search the files of the memory for lines that match a pattern
///
/// Prints path:line:text for each match, in hidden files too. Text is decrypted only in memory. The pattern
/// is a regular expression in the syntax of Rust's regex crate. The line end, LF or CR LF, is not part of a line.
///
/// Exits with 1, and prints nothing, if there is no match.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost grep --store notes.inmost -i 'tea|coffee'\n  \
    inmost grep --store notes.inmost -lF 'f(x)' /memories/projects")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that has to be given or not")]
pub(crate) struct Grep {
    #[command(flatten)]
    store: StoreArgs,

    /// Ignore the difference of upper and lower case
    #[arg(short, long)]
    ignore_case: bool,

    /// Print only the paths of the files
    #[arg(short = 'l', long)]
    files_with_matches: bool,

    /// Print path:count for each file with a match
    #[arg(short, long, conflicts_with = "files_with_matches")]
    count: bool,

    /// Treat the pattern as plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Print one JSON object per line: path, and line and text, or count
    #[arg(long)]
    json: bool,

    /// The pattern
    pattern: String,

    /// Files and folders to search; folders are searched recursively
    #[arg(value_name = "PATH", default_value = ROOT, value_parser = memory_path::parse)]
    paths: Vec<String>,
}

impl Grep {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let query = self.query();
        // Before the prompt for a passphrase.
        query.check()?;
        let style = Style::of_output();
        let mut has_match = false;
        let store = self.store.open(&OpenOptions::default())?;
        for path in &self.paths {
            let mut output = Output::new(self, style);
            for found in store.files().search(path, query.clone()) {
                let found = found.map_err(|error| Failure::at(path, error))?;
                has_match = true;
                output.add(&found)?;
            }
            output.finish_file()?;
        }
        if has_match { Ok(()) } else { Err(Failure::NoMatch) }
    }

    fn query(&self) -> SearchQuery {
        let query = if self.fixed_strings {
            SearchQuery::text(&self.pattern)
        } else {
            SearchQuery::regex(&self.pattern)
        };
        let matches = if self.files_with_matches { 1 } else { u64::MAX };
        query.ignore_case(self.ignore_case).max_matches_per_file(matches)
    }
}

/// The matches of one search, printed file by file.
struct Output<'a> {
    args: &'a Grep,
    style: Style,
    /// The file of the last match, and the number of its matches.
    file: Option<(FileText, u64)>,
    lines: Wiped,
}

impl<'a> Output<'a> {
    fn new(args: &'a Grep, style: Style) -> Self {
        Self { args, style, file: None, lines: Wiped::default() }
    }

    fn add(&mut self, found: &SearchMatch) -> Result<(), Failure> {
        match &mut self.file {
            Some((file, count)) if *file == found.path => *count = count.saturating_add(1),
            _ => {
                self.finish_file()?;
                self.file = Some((found.path.clone(), 1));
            }
        }
        if self.args.files_with_matches || self.args.count {
            return Ok(());
        }
        let path = found.path.as_str();
        self.write(path, Some(found.line), Some(found))
    }

    /// Prints the lines of the last file.
    fn finish_file(&mut self) -> Result<(), Failure> {
        let Some((file, count)) = self.file.take() else { return Ok(()) };
        if self.args.files_with_matches {
            self.write(file.as_str(), None, None)?;
        } else if self.args.count {
            self.write(file.as_str(), Some(count), None)?;
        }
        print(std::mem::take(&mut self.lines).as_slice())
    }

    /// Appends one line of output. With a match, `number` is the line number; without, it is the count of matches.
    fn write(
        &mut self,
        path: &str,
        number: Option<u64>,
        found: Option<&SearchMatch>,
    ) -> Result<(), Failure> {
        if self.args.json {
            let (line, count) = if found.is_some() { (number, None) } else { (None, number) };
            let text = found.map(|found| found.text.as_str());
            return json_line::append(&Hit { path, line, text, count }, &mut self.lines);
        }
        let mut out = std::mem::take(&mut self.lines);
        self.style.paint(Piece::Path, display::path(path).as_bytes(), &mut out);
        if let Some(number) = number {
            out.append(b":");
            self.style.paint(Piece::Number, number.to_string().as_bytes(), &mut out);
        }
        if let Some(found) = found {
            out.append(b":");
            self.highlight(found, &mut out);
        }
        out.append(b"\n");
        self.lines = out;
        Ok(())
    }

    /// Appends the text with the matches highlighted.
    fn highlight(&self, found: &SearchMatch, out: &mut Wiped) {
        let text = found.text.as_str();
        let is_terminal = io::stdout().is_terminal();
        let mut piece = |part: Option<&str>, piece: Option<Piece>| {
            let part = part.unwrap_or_default();
            let escaped = is_terminal.then(|| display::text(part));
            let part = escaped.as_ref().map_or(part.as_bytes(), |escaped| escaped.as_slice());
            match piece {
                Some(piece) if !part.is_empty() => self.style.paint(piece, part, out),
                _ => out.append(part),
            }
        };
        let mut at = 0;
        for range in &found.ranges {
            piece(text.get(at..range.start), None);
            piece(text.get(range.clone()), Some(Piece::Match));
            at = range.end;
        }
        piece(text.get(at..), None);
    }
}

/// A match as a line of JSON.
#[derive(Serialize)]
struct Hit<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}
