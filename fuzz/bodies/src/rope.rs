//! Compares splices, lines and searches in a rope with a `String`. Half of the inputs keep the versions before each splice, as a
//! store with a history does, and read them back.

use std::collections::VecDeque;

use crate::input::Input;
use crate::naive::{floor, hits, lines, newlines};
use crate::nodes::{OBJECT, Plain};
use inmost::internals::{cut, read_lines, search};
use inmost_format::record::node::{File, Node, Text, TextCount};
use inmost_format::record::rope::{append, line_start, lines as rope_lines, splice};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{NodeSink, NodeSource, RecordError, RecordId, Tag};

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut both = Both {
        nodes: Plain::default(),
        file: File { next_index: 0, is_partial: false, body: Body::empty() },
        model: String::new(),
        // Not taken from the front, so that the other choices of an input do not depend on it.
        keeps: data.last().is_some_and(|byte| byte % 2 == 1),
        kept: VecDeque::new(),
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
    keeps: bool,
    kept: VecDeque<Kept>,
}

/// A version before a splice.
struct Kept {
    file: File,
    model: String,
    /// The nodes that the splice took out of use.
    retired: Vec<RecordId>,
}

/// A sink that leaves the nodes of the last version as they are.
struct Keeping<'a> {
    nodes: &'a mut Plain,
    last_index: Option<u64>,
    retired: Vec<RecordId>,
}

impl NodeSource for Keeping<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.nodes.load(id, tag)
    }
}

impl NodeSink for Keeping<'_> {
    fn put(&mut self, id: RecordId, node: Node) {
        assert!(self.last_index.is_none_or(|last| id.index > last), "a kept node is overwritten");
        self.nodes.put(id, node);
    }

    fn remove(&mut self, id: RecordId) {
        assert!(self.last_index.is_none_or(|last| id.index > last), "a kept node is removed");
        self.nodes.remove(id);
    }

    fn retires(&mut self, id: RecordId) -> bool {
        let stays = self.last_index.is_some_and(|last| id.index <= last);
        if stays {
            self.retired.push(id);
        }
        stays
    }
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
        let before = self.keeps.then(|| (self.file.clone(), self.model.clone()));
        let last_index = before.as_ref().map(|(file, _)| file.next_index);
        let mut sink = Keeping { nodes: &mut self.nodes, last_index, retired: Vec::new() };
        let mut owner =
            Owner { sink: &mut sink, object: OBJECT, next_index: &mut self.file.next_index };
        let begins = self.model.is_empty() && new.len() > FILE_INLINE;
        let goes_on = matches!(self.file.body, Body::Tree(_)) && !new.is_empty();
        // Only a new file is appended to, which has no earlier version.
        if start == self.model.len() && (begins || goes_on) && input.one_in(4) && !self.keeps {
            append(&mut owner, &mut self.file.body, &new).unwrap();
            self.model.push_str(&new);
            return;
        }
        splice(&mut owner, &mut self.file.body, range, &new).unwrap();
        self.model.replace_range(start..end, &new);
        let retired = sink.retired;
        if let Some((file, model)) = before {
            self.kept.push_back(Kept { file, model, retired });
            if self.kept.len() > MOST_KEPT {
                self.drop_oldest();
            }
        }

        let inline = matches!(self.file.body, Body::Inline(_));
        assert!(
            inline || number(self.model.len()) >= FILE_INLINE_AGAIN,
            "a short file is not stored in its head"
        );
        assert!(!inline || self.model.len() <= FILE_INLINE, "a long file is stored in its head");
    }

    /// Nothing needs what went out of use with the oldest version.
    fn drop_oldest(&mut self) {
        for id in self.kept.pop_front().unwrap().retired {
            self.nodes.remove(id);
        }
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
        let kept = self.kept.iter().map(|version| version.retired.len()).sum();
        nodes.check_all_but(kept, self.file.clone().into());
        for version in &self.kept {
            let text = inmost_format::record::read_text(nodes, OBJECT, &version.file.body).unwrap();
            assert!(*text == version.model, "the text of a version differs");
        }
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
const MOST_KEPT: usize = 4;
const STEPS: usize = 24;
