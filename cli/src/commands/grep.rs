//! `inmost grep`

use std::io::{self, IsTerminal};

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::store::facts::Text;
use crate::store::opening::OpenOptions;
use crate::style::{Piece, Style};
use crate::tree::{self, WalkEntry};
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
    #[arg(value_name = "PATH", default_value = "/memories")]
    paths: Vec<String>,
}

impl Grep {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let search = Search { args: self, pattern: self.pattern()?, style: Style::of_output() };
        let mut has_match = false;
        let store = self.store.open(&OpenOptions::default())?;
        for path in &self.paths {
            tree::walk_files(&store, path, |file, text| {
                let lines = search.file(file, text)?;
                has_match |= lines.is_some();
                lines.map_or(Ok(()), |lines| print(lines.expose()))
            })?;
        }
        if has_match { Ok(()) } else { Err(Failure::NoMatch) }
    }

    fn pattern(&self) -> Result<Regex, Failure> {
        let escaped = self.fixed_strings.then(|| regex::escape(&self.pattern));
        RegexBuilder::new(escaped.as_ref().unwrap_or(&self.pattern))
            .case_insensitive(self.ignore_case)
            .build()
            .map_err(|error| {
                // Only the last line names the reason. The lines before it mark a position in the pattern.
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                Failure::usage(
                    format!("Invalid pattern: {}.", reason.trim_start_matches("error: ")),
                    "Add -F if it is plain text.",
                )
            })
    }
}

struct Search<'a> {
    args: &'a Grep,
    pattern: Regex,
    style: Style,
}

impl Search<'_> {
    /// The output for a file; `None` if it has no match.
    fn file(&self, file: &WalkEntry, text: &Text) -> Result<Option<Wiped>, Failure> {
        let mut hits =
            (1..).zip(lines(text.as_str())).filter(|(_, line)| self.pattern.is_match(line));
        let Some(first) = hits.next() else { return Ok(None) };
        let mut out = Wiped::new();
        if self.args.files_with_matches {
            self.write_match(file, None, None, &mut out)?;
        } else if self.args.count {
            let count = hits.count().saturating_add(1);
            self.write_match(file, Some(count), None, &mut out)?;
        } else {
            for (number, line) in std::iter::once(first).chain(hits) {
                self.write_match(file, Some(number), Some(line), &mut out)?;
            }
        }
        Ok(Some(out))
    }

    /// Appends one line of output. With a text, `number` is the line number; without, it is the count of matches.
    fn write_match(
        &self,
        file: &WalkEntry,
        number: Option<usize>,
        text: Option<&str>,
        out: &mut Wiped,
    ) -> Result<(), Failure> {
        if self.args.json {
            let (line, count) = if text.is_some() { (number, None) } else { (None, number) };
            return json_line::append(&Hit { path: &file.path, line, text, count }, out);
        }
        self.style.paint(Piece::Path, display::path(&file.path).as_bytes(), out);
        if let Some(number) = number {
            out.append(b":");
            self.style.paint(Piece::Number, number.to_string().as_bytes(), out);
        }
        if let Some(text) = text {
            out.append(b":");
            self.highlight(text, out);
        }
        out.append(b"\n");
        Ok(())
    }

    /// Appends the text with the matches highlighted.
    fn highlight(&self, text: &str, out: &mut Wiped) {
        let is_terminal = io::stdout().is_terminal();
        let mut piece = |part: Option<&str>, piece: Option<Piece>| {
            let part = part.unwrap_or_default();
            let escaped = is_terminal.then(|| display::text(part));
            let part = escaped.as_ref().map_or(part.as_bytes(), Wiped::expose);
            match piece {
                Some(piece) if !part.is_empty() => self.style.paint(piece, part, out),
                _ => out.append(part),
            }
        };
        let mut at = 0;
        for hit in self.pattern.find_iter(text) {
            piece(text.get(at..hit.start()), None);
            piece(Some(hit.as_str()), Some(Piece::Match));
            at = hit.end();
        }
        piece(text.get(at..), None);
    }
}

/// The lines without their ends. There is no line after a final line feed. Does no I/O.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(|line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    })
}

/// A match as a line of JSON.
#[derive(Serialize)]
struct Hit<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
}
