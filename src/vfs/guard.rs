//! A condition of an edit: the text around it must be the text that the caller has seen.
//!
//! A caller may have to look at the place of an edit before it decides what to write there, and may not do so in the
//! writer queue. It makes the edit under a guard instead. An edit whose surroundings differ from the expected ones
//! changes nothing, and the guard has them for the next attempt.

use std::cell::RefCell;
use std::ops::Range;

use super::change::{Plan, length};
use super::error::FileError;
use crate::limits::SURROUNDING_BYTES;
use crate::session::Txn;
use inmost_format::record::node::{File, Text};
use inmost_format::record::{NodeSource, ObjectId, RecordError};
use inmost_format::secret::Wiped;

/// The text next to the place of an edit, as far as a caller looks at it.
#[derive(PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// The end of the text before the place.
    pub(crate) before: Wiped<String>,
    /// The beginning of the text after it.
    pub(crate) after: Wiped<String>,
}

/// Whether an edit may be made.
pub(crate) struct Guard(Option<Expected>);

struct Expected {
    /// `None` before the first attempt.
    seen: Option<Surroundings>,
    /// Whether what is found must be of the newest state.
    is_newest: bool,
    /// The surroundings that differed from them.
    found: RefCell<Option<Surroundings>>,
}

impl Guard {
    /// Allows an edit wherever it is.
    pub(crate) fn open() -> Self {
        Self(None)
    }

    /// Allows an edit with these surroundings; with `None`, no edit. If it stops the edit, what it has found is of the state
    /// that the session knows, or of the newest one.
    pub(crate) fn expecting(seen: Option<Surroundings>, is_newest: bool) -> Self {
        Self(Some(Expected { seen, is_newest, found: RefCell::new(None) }))
    }

    /// The surroundings of the edit that was stopped; `None` if no edit was stopped.
    pub(crate) fn into_found(self) -> Option<Surroundings> {
        self.0?.found.into_inner()
    }

    /// Compares the surroundings of a planned edit.
    ///
    /// # Errors
    /// If the edit is stopped, the error only ends the attempt: [`into_found`](Self::into_found) has the reason.
    pub(super) fn check(&self, txn: &Txn<'_>, plan: &Plan) -> Result<(), FileError> {
        let Some(expected) = &self.0 else { return Ok(()) };
        let around = surroundings(txn, plan)?;
        if expected.seen.as_ref() == Some(&around) {
            return Ok(());
        }
        if !expected.is_newest {
            // The edit itself is made on the newest state or not at all, and compares again.
            txn.only_looks();
        }
        expected.found.replace(Some(around));
        Err(FileError::NotFound)
    }
}

fn surroundings(source: &impl NodeSource, plan: &Plan) -> Result<Surroundings, RecordError> {
    let Range { start, end } = plan.range;
    let text = |range| text(source, plan.entry.id, &plan.head, range);
    let before = text(start.saturating_sub(SURROUNDING_BYTES)..start)?;
    let after = text(end..end.saturating_add(SURROUNDING_BYTES).min(plan.info.bytes))?;
    Ok(Surroundings { before, after })
}

/// The characters that lie completely in a range of bytes.
fn text(
    source: &impl NodeSource,
    object: ObjectId,
    head: &File,
    range: Range<u64>,
) -> Result<Wiped<String>, RecordError> {
    let capacity = usize::try_from(SURROUNDING_BYTES).unwrap_or(0);
    let mut text = Wiped::new(String::with_capacity(capacity));
    head.body.visit::<RecordError>(source, object, range.start, &mut |before, chunk: &Text| {
        let chunk = chunk.as_str();
        let inside = |at: u64| {
            let at = at.saturating_sub(before);
            usize::try_from(at).unwrap_or(usize::MAX).min(chunk.len())
        };
        let start = (inside(range.start)..=chunk.len()).find(|at| chunk.is_char_boundary(*at));
        let end = (0..=inside(range.end)).rev().find(|at| chunk.is_char_boundary(*at));
        if let (Some(start), Some(end)) = (start, end) {
            text.push_str(chunk.get(start..end).unwrap_or_default());
        }
        Ok(before.saturating_add(length(chunk)) < range.end)
    })?;
    Ok(text)
}
