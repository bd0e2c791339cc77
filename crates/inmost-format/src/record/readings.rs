//! The readings of a store: for each file that was read, the day of its last reading.
//!
//! They are the text of an ordinary file that no folder names. A file is named by its number, which a rename does not
//! change. An entry has a fixed width, so the entry of a file is found by bisection, and a change rewrites only the chunks
//! around it.

use std::fmt::Write;
use std::ops::{Deref, Range};

use zeroize::Zeroize;

use super::node::Text;
use super::rope::{self, BROKEN};
use super::tree::{Body, Owner};
use super::{NodeSink, NodeSource, ObjectId, RecordError};
use crate::secret::Wiped;

/// The last reading of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The number of the file.
    pub file: u64,
    /// The day, in days since 1970; at most [`LAST_DAY`].
    pub day: u64,
}

/// Readings in the order of the numbers of their files. Wiped on drop: which files were read, and when, is plaintext too.
#[derive(Default)]
pub struct Readings(Vec<Reading>);

/// A change of readings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Adds readings. One of the same file is replaced; a later one too, because the clock may have been ahead.
    Note,
    /// Removes readings. One whose file was read on another day since stays.
    Remove,
}

/// What a change did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Readings of the list that are done. The rest of the list is left.
    pub readings: usize,
    /// Whether the text is another one now.
    pub changed: bool,
}

impl Readings {
    /// All readings of a text.
    ///
    /// # Errors
    /// [`RecordError::Damaged`] also if they are out of order: then a search would miss some.
    pub fn load(
        source: &impl NodeSource,
        object: ObjectId,
        body: &Body<Text>,
    ) -> Result<Self, RecordError> {
        let readings = Self::parse(&super::read_text(source, object, body)?)?;
        let in_order = readings.is_sorted_by(|left, right| left.file < right.file);
        if in_order { Ok(readings) } else { Err(BROKEN) }
    }

    /// Those of these readings that `keep` chooses. Does no I/O.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(&Reading) -> bool) -> Self {
        Self(self.iter().filter(|reading| keep(reading)).copied().collect())
    }

    /// The text of these readings. Does no I/O.
    pub fn to_text(&self) -> Wiped<String> {
        let mut text = Wiped::new(String::with_capacity(self.0.len().saturating_mul(WIDTH)));
        for Reading { file, day } in &self.0 {
            // Writing to a String cannot fail.
            let _ = write!(text, "{file:016x}{:08x}", day.min(&LAST_DAY));
        }
        text
    }

    fn parse(text: &str) -> Result<Self, RecordError> {
        let (entries, rest) = text.as_bytes().as_chunks::<WIDTH>();
        if !rest.is_empty() {
            return Err(BROKEN);
        }
        let mut readings = Self(Vec::with_capacity(entries.len()));
        for entry in entries {
            let (file, day) = entry.split_at(FILE_DIGITS);
            let reading = hex(file).zip(hex(day)).map(|(file, day)| Reading { file, day });
            readings.0.push(reading.ok_or(BROKEN)?);
        }
        Ok(readings)
    }

    /// Changes one reading. Returns whether anything is different now.
    fn apply(&mut self, change: Change, reading: &Reading) -> bool {
        let place = self.0.binary_search_by_key(&reading.file, |noted| noted.file);
        match (change, place) {
            (Change::Note, Ok(slot)) => match self.0.get_mut(slot) {
                Some(noted) if noted.day != reading.day => {
                    noted.day = reading.day;
                    true
                }
                _ => false,
            },
            (Change::Note, Err(slot)) => {
                self.0.insert(slot, *reading);
                true
            }
            (Change::Remove, Ok(slot)) if self.0.get(slot) == Some(reading) => {
                self.0.remove(slot);
                true
            }
            (Change::Remove, _) => false,
        }
    }
}

impl Deref for Readings {
    type Target = [Reading];

    fn deref(&self) -> &[Reading] {
        &self.0
    }
}

impl Drop for Readings {
    fn drop(&mut self) {
        for reading in &mut self.0 {
            reading.file.zeroize();
            reading.day.zeroize();
        }
    }
}

/// The number of readings in a text. Does no I/O.
pub fn count(body: &Body<Text>) -> u64 {
    body.count().bytes / STEP
}

/// The day of the last reading of a file.
pub fn day_of(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
    file: u64,
) -> Result<Option<u64>, RecordError> {
    let slot = slot_of(source, object, body, file)?;
    let found = part(source, object, body, slot..slot.saturating_add(1))?;
    Ok(found.first().filter(|reading| reading.file == file).map(|reading| reading.day))
}

/// Changes readings, which are in the order of their files, in at most `most` places of the text: of a long list only the
/// beginning. Each place takes up to four chunks.
pub fn change(
    owner: &mut Owner<'_, impl NodeSink>,
    body: &mut Body<Text>,
    readings: &[Reading],
    most: usize,
    how: Change,
) -> Result<Taken, RecordError> {
    let mut taken = Taken { readings: 0, changed: false };
    let (mut changed, mut looked) = (0, 0);
    while let Some(first) = readings.get(taken.readings) {
        if changed >= most.max(1) || looked >= most.saturating_mul(LOOKED) {
            break;
        }
        looked += 1;
        let start = slot_of(owner.sink, owner.object, body, first.file)?;
        let end = start.saturating_add(WINDOW).min(count(body));
        let mut window = part(owner.sink, owner.object, body, start..end)?;
        let next = part(owner.sink, owner.object, body, end..end.saturating_add(1))?;
        let next = next.first().map(|reading| reading.file);
        let (mut here, mut is_new) = (0_u64, false);
        for reading in readings.iter().skip(taken.readings) {
            // At least the first, so that a text out of order does not lead here for ever.
            if here >= WINDOW || (here > 0 && next.is_some_and(|next| reading.file >= next)) {
                break;
            }
            is_new |= window.apply(how, reading);
            here += 1;
            taken.readings += 1;
        }
        if is_new {
            taken.changed = true;
            changed += 1;
            let range = start.saturating_mul(STEP)..end.saturating_mul(STEP);
            rope::splice(owner, body, range, &window.to_text())?;
        }
    }
    Ok(taken)
}

/// The slot of a file, or the one at which its reading would be.
fn slot_of(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
    file: u64,
) -> Result<u64, RecordError> {
    let (mut low, mut high) = (0, count(body));
    while low < high {
        let middle = low.midpoint(high);
        let found = part(source, object, body, middle..middle.saturating_add(1))?;
        if found.first().ok_or(BROKEN)?.file < file {
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The readings in a range of slots, as far as there are any.
fn part(
    source: &impl NodeSource,
    object: ObjectId,
    body: &Body<Text>,
    slots: Range<u64>,
) -> Result<Readings, RecordError> {
    let start = slots.start.saturating_mul(STEP);
    let end = slots.end.min(count(body)).saturating_mul(STEP);
    if start >= end {
        return Ok(Readings::default());
    }
    let bytes = end.saturating_sub(start);
    let mut text =
        Wiped::new(String::with_capacity(usize::try_from(bytes).map_err(|_| BROKEN)?.min(PART)));
    body.visit::<RecordError>(source, object, start, &mut |before, chunk: &Text| {
        let inside = |at: u64| usize::try_from(at.saturating_sub(before)).unwrap_or(usize::MAX);
        let chunk = chunk.as_str();
        text.append(chunk.get(inside(start)..inside(end).min(chunk.len())).ok_or(BROKEN)?);
        Ok(before.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX)) < end)
    })?;
    Readings::parse(&text)
}

/// A number of lower-case hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
}

/// The last day that an entry can name; a later one is written as this one.
pub const LAST_DAY: u64 = 0xffff_ffff;
/// Hexadecimal digits of the number of a file.
const FILE_DIGITS: usize = 16;
/// Hexadecimal digits of a day.
const DAY_DIGITS: usize = 8;
/// Characters of an entry.
const WIDTH: usize = FILE_DIGITS + DAY_DIGITS;
/// As [`WIDTH`], in the unit of positions in a text.
const STEP: u64 = 24;
/// Entries that a change reads and writes around one place: about a chunk.
const WINDOW: u64 = 160;
/// Bytes of the longest part that is read.
const PART: usize = 160 * WIDTH;
/// Places that a change reads for each that it may write: a reading that is noted already changes nothing.
const LOOKED: usize = 4;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::plain::{OBJECT, Plain, Random};

    #[derive(Default)]
    struct Stored {
        nodes: Plain,
        next_index: u64,
        body: Option<Body<Text>>,
        model: BTreeMap<u64, u64>,
    }

    impl Stored {
        fn body(&self) -> Body<Text> {
            self.body.clone().unwrap_or_else(Body::empty)
        }

        fn change(&mut self, change: Change, readings: &BTreeMap<u64, u64>, most: usize) {
            let readings: Vec<Reading> =
                readings.iter().map(|(file, day)| Reading { file: *file, day: *day }).collect();
            let mut rest = readings.as_slice();
            let mut body = self.body();
            while !rest.is_empty() {
                let mut owner = Owner {
                    sink: &mut self.nodes,
                    object: OBJECT,
                    next_index: &mut self.next_index,
                };
                let taken = super::change(&mut owner, &mut body, rest, most, change).unwrap();
                assert!(taken.readings > 0);
                rest = &rest[taken.readings..];
            }
            self.body = Some(body);
            for Reading { file, day } in readings {
                if change == Change::Note {
                    self.model.insert(file, day);
                } else if self.model.get(&file) == Some(&day) {
                    self.model.remove(&file);
                }
            }
        }

        fn check(&self) {
            let body = self.body();
            let all = Readings::load(&self.nodes, OBJECT, &body).unwrap();
            let all: Vec<(u64, u64)> = all.iter().map(|it| (it.file, it.day)).collect();
            assert_eq!(all, self.model.clone().into_iter().collect::<Vec<_>>());
            assert_eq!(count(&body), u64::try_from(all.len()).unwrap());
            for file in [0, 64, 6_400, 64_000, u64::MAX]
                .into_iter()
                .chain(self.model.keys().copied().take(5))
            {
                let day = day_of(&self.nodes, OBJECT, &body, file).unwrap();
                assert_eq!(day, self.model.get(&file).copied(), "{file}");
            }
        }
    }

    #[test]
    fn the_readings_of_a_text_are_those_of_a_plain_map() {
        for seed in 0..6 {
            let mut random = Random(seed);
            let mut stored = Stored::default();
            for step in 0..60 {
                let number = if step % 7 == 0 { random.below(2_000) } else { random.below(20) };
                let pick = |random: &mut Random| u64::try_from(random.below(3_000) * 64).unwrap();
                let day = |random: &mut Random| u64::try_from(20_000 + random.below(3)).unwrap();
                let readings: BTreeMap<u64, u64> =
                    (0..number).map(|_| (pick(&mut random), day(&mut random))).collect();
                let change = if step % 3 == 2 { Change::Remove } else { Change::Note };
                stored.change(change, &readings, 1 + step % 3);
                stored.check();
            }
            let all = stored.model.clone();
            stored.change(Change::Remove, &all, 2);
            stored.check();
            assert_eq!(stored.nodes.len(), 0, "records that nothing refers to");
        }
    }

    #[test]
    fn a_change_writes_few_records_and_one_that_is_noted_already_none() {
        let mut stored = Stored::default();
        let many: BTreeMap<u64, u64> = (0..30_000).map(|file| (file * 64, 20_000)).collect();
        stored.change(Change::Note, &many, 4);
        let (mut body, before) = (stored.body(), stored.next_index);
        let spread: Vec<Reading> =
            (0..30_000).step_by(500).map(|file| Reading { file: file * 64, day: 20_001 }).collect();
        let mut owner =
            Owner { sink: &mut stored.nodes, object: OBJECT, next_index: &mut stored.next_index };
        let taken = super::change(&mut owner, &mut body, &spread, 2, Change::Note).unwrap();
        assert_eq!((taken.readings, taken.changed), (2, true));
        assert!(stored.next_index - before < 10);
        let mut owner =
            Owner { sink: &mut stored.nodes, object: OBJECT, next_index: &mut stored.next_index };
        let taken = super::change(&mut owner, &mut body, &spread[..2], 2, Change::Note).unwrap();
        assert_eq!((taken.readings, taken.changed), (2, false));
    }

    #[test]
    fn a_text_of_another_form_is_damaged() {
        let entry = "000000000000008000004e20";
        let load = |text: &str| {
            let body = Body::Inline(Text::new(text));
            Readings::load(&Plain::default(), OBJECT, &body).ok().map(|readings| readings.len())
        };
        assert_eq!(load(entry), Some(1));
        for text in [
            "x",
            &entry.to_uppercase().replace("4E", "+1"),
            &entry.repeat(2),
            entry.strip_prefix('0').unwrap(),
            "4E".repeat(12).as_str(),
        ] {
            assert_eq!(load(text), None, "{text}");
        }
    }
}
