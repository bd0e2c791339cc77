//! Compares splices, lines and searches in a rope with a `String`.

use crate::input::Input;
use crate::naive::{floor, hits, lines, newlines};
use crate::nodes::{OBJECT, Plain};
use inmost::internals::{append, cut, line_start, read_lines, rope_lines, search, splice};
use inmost_format::record::RecordError;
use inmost_format::record::node::{File, Text, TextCount};
use inmost_format::record::tree::{Body, Owner};

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut both = Both {
        nodes: Plain::default(),
        file: File { next_index: 0, body: Body::empty() },
        model: String::new(),
    };
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS {
        both.splice(&mut input);
        both.check(&mut input);
        steps += 1;
    }
}

struct Both {
    nodes: Plain,
    file: File,
    model: String,
}

impl Both {
    fn splice(&mut self, input: &mut Input<'_>) {
        let new = input.text();
        let start = self.position(input);
        let most = input.pick(&[0, 1, 10, 5_000, TEXT_BYTES]);
        let end = floor(&self.model, start + input.below(most + 1)).max(start);
        if self.model.len() + new.len() > TEXT_BYTES {
            return;
        }
        let range = number(start)..number(end);
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.file.next_index };
        let begins = self.model.is_empty() && new.len() > FILE_INLINE;
        let goes_on = matches!(self.file.body, Body::Tree(_)) && !new.is_empty();
        if start == self.model.len() && (begins || goes_on) && input.one_in(4) {
            append(&mut owner, &mut self.file.body, &new).unwrap();
            self.model.push_str(&new);
            return;
        }
        splice(&mut owner, &mut self.file.body, range, &new).unwrap();
        self.model.replace_range(start..end, &new);

        let inline = matches!(self.file.body, Body::Inline(_));
        assert!(
            inline || number(self.model.len()) >= FILE_INLINE_AGAIN,
            "a short file is not stored in its head"
        );
        assert!(!inline || self.model.len() <= FILE_INLINE, "a long file is stored in its head");
    }

    /// A place in the text, often where chunks meet.
    fn position(&self, input: &mut Input<'_>) -> usize {
        let place = match input.below(4) {
            0 => 0,
            1 => self.model.len(),
            2 => 4_060 + input.below(12),
            _ => input.below(self.model.len() + 1),
        };
        floor(&self.model, place)
    }

    fn check(&self, input: &mut Input<'_>) {
        let (nodes, body) = (&self.nodes, &self.file.body);
        assert!(
            *inmost_format::record::read_text(nodes, OBJECT, body).unwrap() == self.model,
            "the whole text differs"
        );
        assert!(body.count() == TextCount::of(&self.model));
        assert_eq!(rope_lines(nodes, OBJECT, body).unwrap(), number(lines(&self.model).len()));
        nodes.check_reachable(self.file.clone().into());
        self.check_lines(input);
        self.check_search(input);
    }

    fn check_lines(&self, input: &mut Input<'_>) {
        let lines = lines(&self.model);
        let first = input.below(lines.len() + 2);
        let start: usize = lines.iter().take(first.saturating_sub(1)).map(|line| line.len()).sum();
        let found = line_start(&self.nodes, OBJECT, &self.file.body, number(first)).unwrap();
        assert_eq!(found, number(start), "the start of line {first} of {}", lines.len());

        let first = first.clamp(1, lines.len().max(1));
        let last = (first + input.below(lines.len() + 1)).min(lines.len());
        let limit = input.pick(&[1, 10, 4_000, 4_066, 1_000_000]);
        let range = (number(first), number(last));
        let read = read_lines(&self.nodes, OBJECT, &self.file, range, limit).unwrap();
        let whole: String = lines.get(first - 1..last).unwrap_or_default().concat();
        assert!(whole.starts_with(&*read), "a part of lines {first} to {last}");
        let (enough, all) = (cut(&read, range.0, limit), cut(&whole, range.0, limit));
        assert!(enough == all, "a lazy read changes the cut of {first} to {last} at {limit}");
    }

    fn check_search(&self, input: &mut Input<'_>) {
        let needle = if input.one_in(2) {
            let start = self.position(input);
            let most = input.pick(&[1, 9, 100, 6_000]);
            let end = floor(&self.model, start + 1 + input.below(most)).max(start);
            self.model[start..end].to_owned()
        } else {
            input.text()
        };
        let mut chunks = Vec::new();
        let visited: Result<(), RecordError> =
            self.file.body.visit(&self.nodes, OBJECT, 0, &mut |_, chunk: &Text| {
                chunks.push(chunk.as_str().to_owned());
                Ok(true)
            });
        visited.unwrap();
        let Some(found) = search(&needle, &chunks) else {
            assert!(needle.is_empty());
            return;
        };

        let expected = hits(&self.model, &needle);
        let line = |at: usize| number(newlines(&self.model[..at])) + 1;
        assert_eq!(found.all.len(), expected.len(), "hits of {needle:?}");
        for (hit, at) in found.all.iter().zip(&expected).take(50) {
            assert_eq!(*hit, (number(*at), line(*at)));
        }
        assert_eq!(found.only, found.all.first().copied().filter(|_| expected.len() == 1));
        if expected.len() > 1 {
            let mut distinct: Vec<u64> = found.all.iter().map(|(_, line)| *line).collect();
            distinct.dedup();
            distinct.truncate(100);
            assert_eq!(found.lines_of_several, distinct);
        } else {
            assert!(found.lines_of_several.is_empty());
        }
    }
}

fn number(value: usize) -> u64 {
    u64::try_from(value).unwrap()
}

/// The longest text in a head, in bytes (docs/FORMAT.md).
const FILE_INLINE: usize = 4_000;
/// A text of fewer bytes moves back into the head (docs/FORMAT.md).
const FILE_INLINE_AGAIN: u64 = 3_072;
const TEXT_BYTES: usize = 300_000;
const STEPS: usize = 24;
