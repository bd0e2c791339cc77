//! Merging two texts by lines, with a text that both come from.

use zeroize::Zeroizing;

use crate::diff::{Hunk, hunks};

/// The text with the changes of both texts since `base`. `None` if the changes overlap, if a text is longer than 1 MiB, or if too
/// many lines differ.
///
/// Two changes overlap if both replace a line of the base, or if one inserts strictly inside the range of the other. Insertions at
/// one point are both kept, their common lines once. The order of `first` and `second` does not matter. Does no I/O.
#[must_use]
pub fn merge(base: &str, first: &str, second: &str) -> Option<Zeroizing<String>> {
    if [base, first, second].iter().any(|text| text.len() > TEXT_BYTES) {
        return None;
    }
    if first == second || second == base {
        return Some(Zeroizing::new(first.to_owned()));
    }
    if first == base {
        return Some(Zeroizing::new(second.to_owned()));
    }
    let (base, first, second) = (Lines::of(base), Lines::of(first), Lines::of(second));
    let lines = merge_lines(&base.lines, &first.lines, &second.lines)?;
    // Of two different values, one is that of the base, and the other one was changed.
    let is_ended = if first.is_ended == second.is_ended { first.is_ended } else { !base.is_ended };
    Some(join(&lines, is_ended))
}

/// A text as lines without their ends. Whether the last line is ended is a value of its own, so that appending to a text without
/// a final newline changes no other line.
struct Lines<'t> {
    lines: Vec<&'t str>,
    is_ended: bool,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let is_ended = text.is_empty() || text.ends_with('\n');
        let body = text.strip_suffix('\n').unwrap_or(text);
        let lines = if text.is_empty() { Vec::new() } else { body.split('\n').collect() };
        Self { lines, is_ended }
    }
}

fn join(lines: &[&str], is_ended: bool) -> Zeroizing<String> {
    let bytes = lines.iter().map(|line| line.len() + 1).sum();
    let mut text = Zeroizing::new(String::with_capacity(bytes));
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(line);
    }
    if is_ended && !lines.is_empty() {
        text.push('\n');
    }
    text
}

fn merge_lines<'t>(
    base: &[&'t str],
    first: &[&'t str],
    second: &[&'t str],
) -> Option<Vec<&'t str>> {
    let (mut one, mut two) = (hunks(base, first)?, hunks(base, second)?);
    if one.iter().any(|hunk| two.iter().any(|other| overlap(hunk, other))) {
        return None;
    }
    let all = one.clone();
    one.retain(|hunk| !is_said(hunk, &two));
    two.retain(|hunk| !is_said(hunk, &all));
    let mut edits = Vec::with_capacity(one.len() + two.len());
    for hunk in two {
        if one.contains(&hunk) {
            continue;
        }
        let point = |other: &Hunk| is_point(other) && other.start == hunk.start;
        let twin = if is_point(&hunk) { one.iter().position(point) } else { None };
        let lines = match twin {
            Some(twin) => union(&one.remove(twin).lines, &hunk.lines)?,
            None => hunk.lines,
        };
        edits.push(Hunk { lines, ..hunk });
    }
    edits.append(&mut one);
    edits.sort_by_key(|hunk| (hunk.start, hunk.end));
    apply(base, edits)
}

fn apply<'t>(base: &[&'t str], edits: Vec<Hunk<'t>>) -> Option<Vec<&'t str>> {
    let (mut lines, mut at) = (Vec::new(), 0);
    for edit in edits {
        lines.extend_from_slice(base.get(at..edit.start)?);
        lines.extend(edit.lines);
        at = edit.end;
    }
    lines.extend_from_slice(base.get(at..)?);
    Some(lines)
}

/// Two insertions at one point: their common lines once, the lines of the one that sorts first before those of the other.
fn union<'t>(first: &[&'t str], second: &[&'t str]) -> Option<Vec<&'t str>> {
    let (first, second) = if second < first { (second, first) } else { (first, second) };
    let mut edits = hunks(first, second)?;
    for edit in &mut edits {
        let mut lines = first.get(edit.start..edit.end)?.to_vec();
        lines.append(&mut edit.lines);
        edit.lines = lines;
    }
    apply(first, edits)
}

fn is_point(hunk: &Hunk) -> bool {
    hunk.start == hunk.end
}

fn overlap(one: &Hunk, other: &Hunk) -> bool {
    if one == other || is_point(one) && is_point(other) && one.start == other.start {
        return false;
    }
    let is_inside = |point: &Hunk, range: &Hunk| {
        is_point(point) && range.start < point.start && point.start < range.end
    };
    one.start.max(other.start) < one.end.min(other.end)
        || is_inside(one, other)
        || is_inside(other, one)
}

/// Whether a change beside this insertion, of the other text, begins or ends with the same lines. A person who replaces a line by
/// two has then made the same insertion.
fn is_said(hunk: &Hunk, others: &[Hunk]) -> bool {
    let says = |other: &Hunk| {
        !is_point(other)
            && (other.end == hunk.start && other.lines.ends_with(&hunk.lines)
                || other.start == hunk.start && other.lines.starts_with(&hunk.lines))
    };
    is_point(hunk) && others.iter().any(says)
}

/// The most bytes of a text that is merged.
const TEXT_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base: &str, first: &str, second: &str, expected: Option<&str>) {
        for (first, second) in [(first, second), (second, first)] {
            let merged = merge(base, first, second);
            assert_eq!(merged.as_ref().map(|text| text.as_str()), expected, "{first:?} {second:?}");
        }
    }

    #[test]
    fn changes_of_different_lines_are_both_kept() {
        check("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", Some("A\nb\nC\n"));
        check("a\nb\n", "A\nb\n", "a\nB\n", Some("A\nB\n"));
    }

    #[test]
    fn two_appends_are_both_kept_in_an_order_that_both_sides_agree_on() {
        check("a\n", "a\nx\n", "a\nb\n", Some("a\nb\nx\n"));
        check("", "x\n", "b\n", Some("b\nx\n"));
        check("a\n", "a\nx\ny\n", "a\ny\nz\n", Some("a\nx\ny\nz\n"));
    }

    #[test]
    fn a_line_that_both_changed_is_a_conflict() {
        check("a\n", "b\n", "c\n", None);
        check("a\nb\nc\n", "a\nc\n", "a\nB\nc\n", None);
        check("a\nb\n", "", "a\nx\nb\n", None);
    }

    #[test]
    fn a_missing_final_newline_is_a_change_of_its_own() {
        check("a", "a\nb", "x\na", Some("x\na\nb"));
        check("a", "a\n", "x\na", Some("x\na\n"));
        check("a\n", "a", "b\n", Some("b"));
    }

    #[test]
    fn an_insertion_that_the_change_beside_it_holds_comes_once() {
        check("a\nb\n", "a\nx\nb\n", "a\nx\nB\n", Some("a\nx\nB\n"));
    }

    #[test]
    fn long_texts_are_not_merged() {
        let long = "a\n".repeat(TEXT_BYTES / 2 + 1);
        check(&long, &long, "a\n", None);
    }
}
