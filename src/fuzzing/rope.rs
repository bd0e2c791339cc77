//! Splices, lines and searches in a rope against a `String`.

use super::input::Input;
use super::nodes::{OBJECT, Plain};
use crate::limits::{FILE_INLINE, FILE_INLINE_AGAIN};
use crate::vfs::search::{Found, Hit, Occurrences, Searcher};
use crate::vfs::{file, rope, text};
use inmost_format::record::RecordError;
use inmost_format::record::node::{File, Text, TextCount};
use inmost_format::record::tree::{Body, Owner};

pub(super) fn run(data: &[u8]) {
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
            rope::append(&mut owner, &mut self.file.body, &new).unwrap();
            self.model.push_str(&new);
            return;
        }
        rope::splice(&mut owner, &mut self.file.body, range, &new).unwrap();
        self.model.replace_range(start..end, &new);

        let inline = matches!(self.file.body, Body::Inline(_));
        assert!(
            inline || number(self.model.len()) >= FILE_INLINE_AGAIN,
            "a short file has no rope"
        );
        assert!(!inline || self.model.len() <= FILE_INLINE, "a long file has one");
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
            "the whole text"
        );
        assert!(body.count() == TextCount::of(&self.model));
        assert_eq!(rope::is_closed(nodes, OBJECT, body).unwrap(), self.model.ends_with('\n'));
        assert_eq!(rope::lines(nodes, OBJECT, body).unwrap(), text::count_lines(&self.model));
        nodes.check_reachable(self.file.clone().into());
        self.check_lines(input);
        self.check_search(input);
    }

    fn check_lines(&self, input: &mut Input<'_>) {
        let lines: Vec<&str> = self.model.split_inclusive('\n').collect();
        let first = input.below(lines.len() + 2);
        let start: usize = lines.iter().take(first.saturating_sub(1)).map(|line| line.len()).sum();
        let found = rope::line_start(&self.nodes, OBJECT, &self.file.body, number(first)).unwrap();
        assert_eq!(found, number(start), "where line {first} of {} begins", lines.len());

        let first = first.clamp(1, lines.len().max(1));
        let last = (first + input.below(lines.len() + 1)).min(lines.len());
        let limit = input.pick(&[1, 10, 4_000, 4_066, 1_000_000]);
        let range = (number(first), number(last));
        let read = file::lines(&self.nodes, OBJECT, &self.file, range, limit).unwrap();
        let whole: String = lines.get(first - 1..last).unwrap_or_default().concat();
        assert!(whole.starts_with(&*read), "a part of lines {first} to {last}");
        let (enough, all) = (text::cut(&read, range.0, limit), text::cut(&whole, range.0, limit));
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
        let Some(mut searcher) = Searcher::new(&needle) else {
            assert!(needle.is_empty());
            return;
        };
        let mut hits = Vec::new();
        let mut occurrences = Occurrences::default();
        let visited: Result<(), RecordError> =
            self.file.body.visit(&self.nodes, OBJECT, 0, &mut |_, chunk: &Text| {
                searcher.feed(chunk.as_str().as_bytes(), |hit| {
                    hits.push(hit);
                    occurrences.add(hit);
                });
                Ok(true)
            });
        visited.unwrap();

        let expected = super::model::hits(&self.model, &needle);
        let line = |at: usize| text::count_newlines(&self.model[..at]) + 1;
        assert_eq!(hits.len(), expected.len(), "hits of {needle:?}");
        for (hit, at) in hits.iter().zip(&expected).take(50) {
            assert_eq!(*hit, Hit { offset: number(*at), line: line(*at) });
        }
        match occurrences.found() {
            Found::Nowhere => assert!(expected.is_empty()),
            Found::Once(hit) => assert!(expected.len() == 1 && hits == [hit]),
            Found::Several(lines) => {
                assert!(expected.len() > 1);
                let mut distinct: Vec<u64> = hits.iter().map(|hit| hit.line).collect();
                distinct.dedup();
                assert_eq!(lines, distinct);
            }
        }
    }
}

/// The last character boundary up to `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn number(value: usize) -> u64 {
    u64::try_from(value).unwrap()
}

const TEXT_BYTES: usize = 300_000;
const STEPS: usize = 24;
