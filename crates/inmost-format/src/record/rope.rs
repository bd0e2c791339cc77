//! The text of one file: a string in the head while it is short, a rope of chunks when it is long.
//!
//! One primitive, [`splice`], serves every edit. It rewrites the chunks in the range and their path to the head, so its
//! cost does not grow with the file.

use std::ops::Range;

use super::node::{Text, TextCount};
use super::tree::{Body, Owner, by_position};
use super::{Flaw, Kind, NodeSink, NodeSource, ObjectId, RecordError, read_text};
use crate::limits::{CHUNK_BYTES, CHUNK_BYTES_MIN, FILE_INLINE, FILE_INLINE_AGAIN};
use crate::secret::join;

/// Replaces the bytes of `range` by `text`. Both ends must be character boundaries within the file.
pub fn splice(
    owner: &mut Owner<'_, impl NodeSink>,
    body: &mut Body<Text>,
    range: Range<u64>,
    text: &str,
) -> Result<(), RecordError> {
    if let Body::Inline(old) = body {
        let new = join(&[before(old, range.start)?, text, after(old, range.end)?]);
        *body = whole(owner, &new)?;
        return Ok(());
    }

    let total = body.count().bytes;
    let (first_start, first) = body.find(owner.sink, owner.object, by_position(range.start))?;
    let last_byte = range.end.saturating_sub(1).max(range.start);
    let (last_start, last) = body.find(owner.sink, owner.object, by_position(last_byte))?;
    let head = before(&first, range.start.saturating_sub(first_start.bytes))?;
    let tail = after(&last, range.end.saturating_sub(last_start.bytes))?;
    let mut covered =
        first_start.bytes..last_start.bytes.saturating_add(TextCount::of(last.as_str()).bytes);
    let mut new = join(&[head, text, tail]);

    if new.len() < CHUNK_BYTES_MIN {
        if covered.end < total {
            let (_, right) = body.find(owner.sink, owner.object, by_position(covered.end))?;
            covered.end = covered.end.saturating_add(TextCount::of(right.as_str()).bytes);
            new = join(&[&new, right.as_str()]);
        } else if let Some(byte) = covered.start.checked_sub(1) {
            let (left_start, left) = body.find(owner.sink, owner.object, by_position(byte))?;
            covered.start = left_start.bytes;
            new = join(&[left.as_str(), &new]);
        }
    }
    drop((first, last));
    body.replace(owner, covered, chunks(&new))?;
    if body.count().bytes < FILE_INLINE_AGAIN {
        let whole = read_text(owner.sink, owner.object, body)?;
        if matches!(body, Body::Tree(_)) {
            body.replace(owner, 0..body.count().bytes, Vec::new())?;
        }
        *body = Body::Inline(Text::new(&whole));
    }
    Ok(())
}

/// The body of a file with this text.
fn whole(owner: &mut Owner<'_, impl NodeSink>, text: &str) -> Result<Body<Text>, RecordError> {
    if text.len() <= FILE_INLINE {
        return Ok(Body::Inline(Text::new(text)));
    }
    Body::build(owner, chunks(text))
}

/// Appends a long text in full chunks, for writing a file in steps.
pub fn append(
    owner: &mut Owner<'_, impl NodeSink>,
    body: &mut Body<Text>,
    text: &str,
) -> Result<(), RecordError> {
    if let Body::Inline(old) = body {
        *body = whole(owner, &join(&[old.as_str(), text]))?;
        return Ok(());
    }
    let end = body.count().bytes;
    if text.len() < CHUNK_BYTES_MIN {
        return splice(owner, body, end..end, text);
    }
    body.replace(owner, end..end, chunks(text))
}

/// The offset at which a line begins, counted from 1. For a line past the last, the end of the file.
pub fn line_start(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
    line: u64,
) -> Result<u64, RecordError> {
    let newlines = line.saturating_sub(1);
    let count = body.count();
    if newlines == 0 {
        return Ok(0);
    }
    if newlines > count.newlines {
        return Ok(count.bytes);
    }
    let (start, chunk) = body.find(source, object, |mut before, refs| {
        refs.iter()
            .take_while(|child| {
                before += *child.summary();
                before.newlines < newlines
            })
            .count()
    })?;
    let inside = nth_newline(chunk.as_str(), newlines.saturating_sub(start.newlines));
    Ok(start.bytes.saturating_add(inside))
}

/// Whether the text ends in `\n`. An empty text does not.
pub fn is_closed(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
) -> Result<bool, RecordError> {
    let (_, last) = body.find(source, object, |_, refs| refs.len())?;
    Ok(last.as_str().ends_with('\n'))
}

/// The number of lines by the contract's rule: a final `\n` opens no new line.
pub fn lines(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
) -> Result<u64, RecordError> {
    let count = body.count();
    let open = count.bytes > 0 && !is_closed(source, object, body)?;
    Ok(count.newlines.saturating_add(u64::from(open)))
}

/// Cuts a text into full chunks on character boundaries. If the last chunk would be small, the last two share their
/// text evenly, so that an insert into a full chunk leaves room on both sides. Does no I/O.
fn chunks(text: &str) -> Vec<Text> {
    let mut pieces = Vec::with_capacity(text.len().div_ceil(CHUNK_BYTES));
    let mut rest = text;
    while !rest.is_empty() {
        let want = match rest.len() {
            length if length <= CHUNK_BYTES => length,
            length if length < CHUNK_BYTES + CHUNK_BYTES / 2 => length / 2,
            _ => CHUNK_BYTES,
        };
        let cut = (0..=want).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let Some((piece, after)) = rest.split_at_checked(cut) else { break };
        pieces.push(Text::new(piece));
        rest = after;
    }
    pieces
}

/// The offset after the `n`-th `\n`, counted from 1.
fn nth_newline(text: &str, n: u64) -> u64 {
    let nth = usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
    let found = memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth);
    found.map_or(0, |at| u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1))
}

fn before(text: &Text, end: u64) -> Result<&str, RecordError> {
    usize::try_from(end).ok().and_then(|end| text.as_str().get(..end)).ok_or(BROKEN)
}

fn after(text: &Text, start: u64) -> Result<&str, RecordError> {
    usize::try_from(start).ok().and_then(|start| text.as_str().get(start..)).ok_or(BROKEN)
}

/// The error for a position outside the text: counts and text disagree.
pub const BROKEN: RecordError = RecordError::Damaged { kind: Kind::Chunk, flaw: Flaw::Malformed };

#[cfg(test)]
mod tests;
