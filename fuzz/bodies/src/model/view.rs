//! The output of `view`, and the snippet after an edit.

use std::collections::{BTreeMap, BTreeSet};

use super::outcome::Outcome;
use super::tree::{Memory, Rules};
use crate::naive::{lines, numbered, size};
use crate::tool_call::Range;

/// The view of a file, or of the requested lines.
pub(crate) fn file(
    rules: &Rules,
    path: &str,
    text: &str,
    range: &Range,
) -> Result<String, Outcome> {
    let header = format!("Here's the content of {path} with line numbers:");
    let lines = lines(text);
    let n = lines.len();
    let refuse = |sent: &str| {
        Outcome::Failed(format!(
            "Error: Invalid `view_range`: {sent}. It should be two integers within the lines of the file: [1, {n}]"
        ))
    };
    let (first, last, limit) = match range {
        Range::None { .. } => (1, n, rules.view_characters),
        Range::Other { compact, .. } => return Err(refuse(compact)),
        Range::Lines { start, end, .. } => {
            let a = (*start).max(1);
            let total = i64::try_from(n).unwrap();
            let b = if *end == -1 || *end > total { total } else { *end };
            let is_valid = if n == 0 {
                a <= 1 && (*end == -1 || *end >= 1)
            } else {
                *end != 0 && *end >= -1 && b >= a && a <= total && (*end == -1 || *end >= a)
            };
            if !is_valid {
                return Err(refuse(&format!("[{start},{end}]")));
            }
            (usize::try_from(a).unwrap(), usize::try_from(b).unwrap(), rules.range_characters)
        }
    };
    if n == 0 {
        return Ok(header);
    }
    Ok(format!("{header}\n{}", shown(&lines, (first, last), limit)))
}

/// The lines around a change that starts on line `start` and ends on line `end` of the new text.
pub(crate) fn snippet(rules: &Rules, text: &str, start: usize, end: usize) -> String {
    let header = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n";
    let lines = lines(text);
    let (first, last) = (start.saturating_sub(2).max(1), (end + 2).min(lines.len()));
    if first > last {
        return header.to_owned();
    }
    format!("{header}{}", shown(&lines, (first, last), rules.range_characters))
}

/// The lines `first` to `last` with their numbers, and a notice if some are truncated.
fn shown(lines: &[&str], (first, last): (usize, usize), limit: usize) -> String {
    let n = lines.len();
    let asked = &lines[first - 1..last];
    let characters = |line: &&str| line.chars().count();
    if asked.iter().map(characters).sum::<usize>() <= limit {
        return numbered(first, asked);
    }
    let mut sum = 0;
    let fitting = asked
        .iter()
        .take_while(|line| {
            sum += characters(line);
            sum <= limit
        })
        .count();
    if fitting == 0 {
        let line = asked[0].strip_suffix('\n').unwrap_or(asked[0]);
        let m = line.chars().count();
        let part: String = line.chars().take(limit).collect();
        let k = part.chars().count();
        let more = if first < last {
            format!(" Use view_range [{}, {last}] to see more.", first + 1)
        } else {
            String::new()
        };
        let line = numbered(first, &[&part]);
        return format!("{line}\n[Line {first} has {m} characters; showing the first {k}.{more}]");
    }
    let end = first + fitting - 1;
    format!(
        "{}\n[Showing lines {first}-{end} of {n}. Use view_range [{}, {last}] to see more.]",
        numbered(first, &asked[..fitting]),
        end + 1
    )
}

impl Memory {
    pub(crate) fn view_folder(&self, path: &str) -> String {
        let mut content = format!(
            "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n{}\t{path}",
            size(self.visible_bytes(path))
        );
        let mut entries = Vec::new();
        for (name, is_folder) in self.visible_names(path) {
            let child = format!("{path}/{name}");
            entries.push(self.entry(&child, is_folder));
            if is_folder {
                for (name, is_folder) in self.visible_names(&child) {
                    entries.push(self.entry(&format!("{child}/{name}"), is_folder));
                }
            }
        }
        let limit = self.rules.listing_entries;
        for entry in entries.iter().take(limit) {
            content.push('\n');
            content.push_str(entry);
        }
        if entries.len() > limit {
            let more = entries.len() - limit;
            content.push_str("\n[");
            content.push_str(&more.to_string());
            content.push_str(" more entries not shown. View a sub-directory to see them.]");
        }
        content
    }

    fn entry(&self, path: &str, is_folder: bool) -> String {
        if is_folder {
            return format!("{}\t{path}/", size(self.visible_bytes(path)));
        }
        format!("{}\t{path}", size(u64::try_from(self.files[path].len()).unwrap()))
    }

    fn visible_names(&self, folder: &str) -> BTreeMap<&str, bool> {
        self.names(folder).into_iter().filter(|(name, _)| !is_hidden(name)).collect()
    }

    /// The names in a folder, and whether each is a folder.
    pub(crate) fn names(&self, folder: &str) -> BTreeMap<&str, bool> {
        self.below(folder)
            .map(|(rest, _)| rest.split_once('/').map_or((rest, false), |(name, _)| (name, true)))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn visible_bytes(&self, folder: &str) -> u64 {
        let visible = self.below(folder).filter(|(rest, _)| !rest.split('/').any(is_hidden));
        visible.map(|(_, text)| u64::try_from(text.len()).unwrap()).sum()
    }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "node_modules"
}
