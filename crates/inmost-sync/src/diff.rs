//! The one longest common subsequence of lines that merging is defined by.
//!
//! Among the shortest edit scripts, the one that is taken keeps a line wherever the two next lines are equal, and deletes
//! before it inserts. So a second implementation finds the same hunks with any algorithm. This one is that of Myers ("An O(ND)
//! Difference Algorithm and Its Variations", 1986), run from the end: it knows for each point how far the end is.

/// A replaced range of lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hunk<'t> {
    /// The first line of the base that is replaced.
    pub(crate) start: usize,
    /// The line after the last one; `start` for an insertion.
    pub(crate) end: usize,
    /// The lines in their place.
    pub(crate) lines: Vec<&'t str>,
}

/// The changes from `base` to `new`, in order. `None` if more than [`DISTANCE`] lines differ. Does no I/O.
pub(crate) fn hunks<'t>(base: &[&str], new: &[&'t str]) -> Option<Vec<Hunk<'t>>> {
    let reach = Reach::new(base, new)?;
    let mut hunks = Vec::new();
    let (mut i, mut j, mut start, mut new_start) = (0, 0, 0, 0);
    let mut distance = reach.0.len().saturating_sub(1);
    while let (Some(old_line), Some(new_line)) = (base.get(i), new.get(j)) {
        if old_line == new_line {
            push(&mut hunks, (start, i), new.get(new_start..j));
            (i, j) = (i + 1, j + 1);
            (start, new_start) = (i, j);
            continue;
        }
        distance = distance.saturating_sub(1);
        if reach.is_near(distance, i + 1, j) {
            i += 1;
        } else {
            j += 1;
        }
    }
    push(&mut hunks, (start, base.len()), new.get(new_start..));
    Some(hunks)
}

fn push<'t>(hunks: &mut Vec<Hunk<'t>>, (start, end): (usize, usize), lines: Option<&[&'t str]>) {
    let lines = lines.unwrap_or_default().to_vec();
    if start < end || !lines.is_empty() {
        hunks.push(Hunk { start, end, lines });
    }
}

/// For each distance from the end, from 0: the first line of the base, on each diagonal, from which the end is that near. A
/// diagonal is a line of the base minus a line of the new text.
struct Reach(Vec<Diagonals>);

struct Diagonals {
    first: isize,
    lines: Vec<Option<usize>>,
}

impl Reach {
    /// Stops at the distance of the beginning.
    fn new(base: &[&str], new: &[&str]) -> Option<Self> {
        let corner = diagonal(base.len(), new.len())?;
        let mut all: Vec<Diagonals> = Vec::new();
        for distance in 0..=DISTANCE {
            let first = corner.checked_sub_unsigned(distance)?;
            let mut lines = Vec::with_capacity(distance + 1);
            for step in 0..=distance {
                let diagonal = first.checked_add_unsigned(2 * step)?;
                let line = match all.last() {
                    None => Some(base.len()),
                    Some(before) => {
                        let deleted =
                            before.line(diagonal + 1).and_then(|line| line.checked_sub(1));
                        let inserted = before
                            .line(diagonal - 1)
                            .filter(|line| line.checked_add_signed(-diagonal).is_some());
                        deleted.into_iter().chain(inserted).min()
                    }
                };
                lines.push(line.map(|line| slide(base, new, line, diagonal)));
            }
            all.push(Diagonals { first, lines });
            if all.last().and_then(|last| last.line(0)) == Some(0) {
                return Some(Self(all));
            }
        }
        None
    }

    /// Whether the end is at most `distance` away from before these lines.
    fn is_near(&self, distance: usize, line: usize, new_line: usize) -> bool {
        let reach = self.0.get(distance).zip(diagonal(line, new_line));
        reach.and_then(|(reach, diagonal)| reach.line(diagonal)).is_some_and(|first| first <= line)
    }
}

impl Diagonals {
    /// `None` beyond the diagonals that this distance reaches.
    fn line(&self, diagonal: isize) -> Option<usize> {
        let offset = usize::try_from(diagonal.checked_sub(self.first)?).ok()?;
        if offset % 2 == 1 {
            return None;
        }
        self.lines.get(offset / 2).copied().flatten()
    }
}

fn diagonal(line: usize, new_line: usize) -> Option<isize> {
    isize::try_from(line).ok()?.checked_sub(isize::try_from(new_line).ok()?)
}

/// The first line of the run of equal lines that ends before this line.
fn slide(base: &[&str], new: &[&str], line: usize, diagonal: isize) -> usize {
    let Some(new_line) = line.checked_add_signed(-diagonal) else { return line };
    let (before, new_before) = (base.get(..line), new.get(..new_line));
    let pairs =
        before.unwrap_or_default().iter().rev().zip(new_before.unwrap_or_default().iter().rev());
    line - pairs.take_while(|(old, new)| old == new).count()
}

/// The most lines in which two texts that are merged may differ: finding the hunks takes memory in its square.
const DISTANCE: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(base: &str, new: &str) -> Vec<(usize, usize, String)> {
        let lines = |text: &'static str| text.split_terminator(' ').collect::<Vec<_>>();
        let (base, new) = (lines(base.to_owned().leak()), lines(new.to_owned().leak()));
        let hunks = hunks(&base, &new).unwrap();
        hunks.into_iter().map(|hunk| (hunk.start, hunk.end, hunk.lines.join(" "))).collect()
    }

    #[test]
    fn equal_lines_are_kept_and_deleting_comes_first() {
        assert_eq!(found("", ""), []);
        assert_eq!(found("a b", "a b"), []);
        assert_eq!(found("", "a b"), [(0, 0, "a b".to_owned())]);
        assert_eq!(found("a b", ""), [(0, 2, String::new())]);
        assert_eq!(found("a b c", "a x c"), [(1, 2, "x".to_owned())]);
        // "a" and "b" are equally long common subsequences; deleting first keeps "b".
        assert_eq!(found("a b", "b a"), [(0, 1, String::new()), (2, 2, "a".to_owned())]);
        assert_eq!(found("x x", "x"), [(1, 2, String::new())]);
    }

    #[test]
    fn too_many_differences_have_no_hunks() {
        let old: Vec<String> = (0..=DISTANCE / 2).map(|line| format!("old {line}")).collect();
        let new: Vec<String> = (0..=DISTANCE / 2).map(|line| format!("new {line}")).collect();
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        assert!(hunks(&old, &new).is_none());
        assert_eq!(hunks(&old[1..], &new[1..]).unwrap().len(), 1);
    }
}
