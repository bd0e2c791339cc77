//! The matches of a search, printed file by file.

use std::io::{self, IsTerminal};
use std::ops::Range;

use inmost::{FileText, Files, SearchMatch};
use serde::Serialize;

use super::Grep;
use crate::exit::Failure;
use crate::output::print;
use crate::style::{Piece, Style};
use crate::{display, json_line};
use inmost_console::Wiped;

pub(super) struct Output<'a> {
    args: &'a Grep,
    files: Files<'a>,
    style: Style,
    is_terminal: bool,
    /// The matches of the last file, without its lines if only files are printed.
    matches: Vec<SearchMatch>,
    count: u64,
    lines: Wiped,
    pub(super) has_match: bool,
    /// Whether lines were printed, so that the next ones are set apart.
    has_group: bool,
}

/// A line of output.
struct Line<'l> {
    path: &'l str,
    /// The number of the line, or of the matches.
    number: Option<u64>,
    text: Option<&'l str>,
    /// Where the matches are; `None` for a line beside a match.
    ranges: Option<&'l [Range<usize>]>,
}

impl<'a> Output<'a> {
    pub(super) fn new(args: &'a Grep, files: Files<'a>) -> Self {
        Self {
            args,
            files,
            style: args.color.style(),
            is_terminal: io::stdout().is_terminal(),
            matches: Vec::new(),
            count: 0,
            lines: Wiped::default(),
            has_match: false,
            has_group: false,
        }
    }

    pub(super) fn add(&mut self, found: SearchMatch) -> Result<(), Failure> {
        self.has_match = true;
        if self.matches.last().is_some_and(|last| last.path != found.path) {
            self.finish_file()?;
        }
        self.count += 1;
        if self.args.prints_files() {
            // One match has the path; the count has the rest.
            self.matches.truncate(0);
        }
        self.matches.push(found);
        Ok(())
    }

    /// Prints the lines of the last file.
    pub(super) fn finish_file(&mut self) -> Result<(), Failure> {
        let (matches, count) = (std::mem::take(&mut self.matches), std::mem::take(&mut self.count));
        let Some(first) = matches.first() else { return Ok(()) };
        let path = first.path.as_str();
        if self.args.prints_files() {
            let number = self.args.count.then_some(count);
            self.write(&Line { path, number, text: None, ranges: None })?;
        } else if self.args.around() == (0, 0) {
            for found in &matches {
                self.write_match(found)?;
            }
        } else {
            // A file that was deleted since has no lines around its matches.
            let text = self.files.read(path).ok();
            self.write_groups(&matches, text.as_ref().map_or("", FileText::as_str))?;
        }
        let lines = std::mem::take(&mut self.lines);
        if self.args.quiet { Ok(()) } else { print(lines.as_slice()) }
    }

    /// The matches with the lines around them. Groups that are apart have a line between them.
    fn write_groups(&mut self, matches: &[SearchMatch], text: &str) -> Result<(), Failure> {
        let lines: Vec<&str> = text.lines().collect();
        let (before, after) = self.args.around();
        let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        let mut next = 0;
        for (at, found) in matches.iter().enumerate() {
            let line = number(found.line);
            let from = line.saturating_sub(before.saturating_add(1)).max(next);
            if (from > next || at == 0) && self.has_group && !self.args.json {
                self.lines.append(b"--\n");
            }
            self.has_group = true;
            self.write_context(found.path.as_str(), &lines, from..line.saturating_sub(1))?;
            self.write_match(found)?;
            let following = matches.get(at + 1).map_or(usize::MAX, |next| number(next.line) - 1);
            let end = line.saturating_add(after).min(following).min(lines.len().max(line));
            self.write_context(found.path.as_str(), &lines, line..end)?;
            next = end;
        }
        Ok(())
    }

    /// The lines of these indexes, from 0.
    fn write_context(
        &mut self,
        path: &str,
        lines: &[&str],
        range: Range<usize>,
    ) -> Result<(), Failure> {
        for (index, text) in lines.iter().enumerate().take(range.end).skip(range.start) {
            let number = u64::try_from(index).ok().map(|index| index + 1);
            self.write(&Line { path, number, text: Some(text), ranges: None })?;
        }
        Ok(())
    }

    fn write_match(&mut self, found: &SearchMatch) -> Result<(), Failure> {
        if self.args.only_matching {
            for range in found.ranges.iter().filter(|range| !range.is_empty()) {
                let text = found.text.as_str().get(range.clone()).unwrap_or_default();
                let (path, number) = (found.path.as_str(), Some(found.line));
                let whole = 0..text.len();
                let ranges = Some(std::slice::from_ref(&whole));
                self.write(&Line { path, number, text: Some(text), ranges })?;
            }
            return Ok(());
        }
        self.write(&Line {
            path: found.path.as_str(),
            number: Some(found.line),
            text: Some(found.text.as_str()),
            ranges: Some(&found.ranges),
        })
    }

    fn write(&mut self, line: &Line<'_>) -> Result<(), Failure> {
        let Line { path, number, text, ranges } = *line;
        if self.args.json {
            let (line, count) = if text.is_some() { (number, None) } else { (None, number) };
            let context = text.is_some() && ranges.is_none();
            return json_line::append(&Hit { path, line, text, count, context }, &mut self.lines);
        }
        let separator: &[u8] = if text.is_some() && ranges.is_none() { b"-" } else { b":" };
        let out = &mut self.lines;
        self.style.paint(Piece::Path, display::path(path).as_bytes(), out);
        if let Some(number) = number {
            out.append(separator);
            self.style.paint(Piece::Number, number.to_string().as_bytes(), out);
        }
        if let Some(text) = text {
            out.append(separator);
            self.highlight(text, ranges.unwrap_or_default());
        }
        self.lines.append(b"\n");
        Ok(())
    }

    /// Appends the text with the matches highlighted, cut around the first one if it is long.
    fn highlight(&mut self, text: &str, ranges: &[Range<usize>]) {
        let shown = window(text, ranges.first(), self.args.columns());
        let cut = |is_cut| if is_cut { "\u{2026}" } else { "" };
        self.lines.append(cut(shown.start > 0).as_bytes());
        let (is_terminal, style, out) = (self.is_terminal, self.style, &mut self.lines);
        let mut piece = |part: Option<&str>, piece: Option<Piece>| {
            let part = part.unwrap_or_default();
            let escaped = is_terminal.then(|| display::text(part));
            let part = escaped.as_ref().map_or(part.as_bytes(), |escaped| escaped.as_slice());
            match piece {
                Some(piece) if !part.is_empty() => style.paint(piece, part, out),
                _ => out.append(part),
            }
        };
        let mut at = shown.start;
        for range in
            ranges.iter().filter(|range| range.start < shown.end && range.end > shown.start)
        {
            let range = range.start.max(at)..range.end.min(shown.end);
            piece(text.get(at..range.start), None);
            piece(text.get(range.clone()), Some(Piece::Match));
            at = range.end;
        }
        piece(text.get(at..shown.end), None);
        if shown.end < text.len() {
            let all = text.chars().count();
            self.lines.append(format!("\u{2026} [{all} characters]").as_bytes());
        }
    }
}

/// The part of a line that is shown: its beginning, or from shortly before a match that would not be seen then.
fn window(text: &str, first: Option<&Range<usize>>, columns: usize) -> Range<usize> {
    let after = |from: usize, characters: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.char_indices().nth(characters).map_or(text.len(), |(at, _)| from + at)
    };
    let end = after(0, columns);
    let Some(first) = first.filter(|first| first.end > end) else { return 0..end };
    let before = text.get(..first.start).unwrap_or_default().char_indices();
    let start = before.rev().nth(columns / 4).map_or(0, |(at, _)| at);
    start..after(start, columns)
}

/// A line of output as JSON.
#[derive(Serialize)]
struct Hit<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    context: bool,
}
