//! Text functions of the simple peers, without I/O. The messages are those of the tool, so that no peer
//! writes less text than another.

use std::fmt::Write as _;

/// Returns the numbered lines of a file, all of them or a range.
#[must_use]
pub fn view(path: &str, text: &str, range: Option<[usize; 2]>) -> String {
    let [first, last] = range.unwrap_or([1, usize::MAX]);
    let mut shown = format!("Here's the content of {path} with line numbers:");
    number(&mut shown, text, first, last);
    shown
}

/// Replaces the only occurrence of `old`. Returns the new text and the message for the model.
///
/// # Errors
/// If `old` occurs nowhere or more than once.
pub fn str_replace(text: &str, old: &str, new: &str) -> Result<(String, String), String> {
    let mut places = text.match_indices(old);
    let (Some((place, _)), None) = (places.next(), places.next()) else {
        return Err(format!("No replacement was performed: {old}"));
    };
    let edited = [&text[..place], new, &text[place + old.len()..]].concat();
    let line = 1 + text[..place].matches('\n').count();
    let last = line + new.matches('\n').count();
    let mut told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):".to_owned();
    number(&mut told, &edited, line.saturating_sub(2).max(1), last + 2);
    Ok((edited, told))
}

/// Inserts text after a line. Both texts end in a newline, like all texts in a trace.
///
/// # Errors
/// If the line does not exist.
pub fn insert(text: &str, line: usize, more: &str) -> Result<String, String> {
    let place = match line {
        0 => Some(0),
        _ => text.match_indices('\n').nth(line - 1).map(|(place, _)| place + 1),
    };
    let place = place.ok_or_else(|| format!("Error: Invalid `insert_line` parameter: {line}"))?;
    Ok([&text[..place], more, &text[place..]].concat())
}

/// Returns the listing of a folder from its entries up to two levels below, each with path and size, in any
/// order.
#[must_use]
pub fn listing(path: &str, bytes: u64, mut entries: Vec<(String, u64)>) -> String {
    entries.sort_unstable();
    let mut shown = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    );
    let _ = write!(shown, "\n{}\t{path}", size(bytes));
    for (path, bytes) in entries {
        let _ = write!(shown, "\n{}\t{path}", size(bytes));
    }
    shown
}

/// Returns whether listings omit a name.
#[must_use]
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules"
}

fn number(shown: &mut String, text: &str, first: usize, last: usize) {
    let lines = text.split_terminator('\n').enumerate().skip(first - 1);
    for (index, line) in lines.take(last.saturating_sub(first).saturating_add(1)) {
        let _ = write!(shown, "\n{:6}\t{line}", index + 1);
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes}B"),
        1_024..1_048_576 => format!("{:.1}K", bytes as f64 / 1_024.0),
        _ => format!("{:.1}M", bytes as f64 / 1_048_576.0),
    }
}
