//! Compares the counted tree with a `Vec` of its leaves.

use crate::input::Input;
use crate::nodes::{OBJECT, Plain};
use inmost_format::record::node::{File, Node, Text, TextCount};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{NodeSink, NodeSource, RecordError, RecordId, Tag};

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut tree = Tree::default();
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS {
        tree.replace(&mut input);
        tree.check(&mut input);
        steps += 1;
    }
    tree.take_down(1 + input.below(300));
}

struct Tree {
    nodes: Plain,
    next_index: u64,
    body: Body<Text>,
    leaves: Vec<String>,
    made: usize,
}

impl Default for Tree {
    fn default() -> Self {
        let body = Body::Inline(Text::default());
        Self { nodes: Plain::default(), next_index: 0, body, leaves: Vec::new(), made: 0 }
    }
}

impl Tree {
    /// Replaces a run of leaves by others, or appends.
    fn replace(&mut self, input: &mut Input<'_>) {
        let from = input.below(self.leaves.len() + 1);
        let most = input.pick(&[0, 1, 3, 40, LEAVES]);
        let to = (from + input.below(most + 1)).min(self.leaves.len());
        let (from, to) =
            if from == to { (self.leaves.len(), self.leaves.len()) } else { (from, to) };
        let most = input.pick(&[1, 3, 100, 1_000]);
        let count = input.below(most + 1).min(LEAVES - (self.leaves.len() - (to - from)));
        let width = 1 + input.below(4);
        let new: Vec<String> = (0..count)
            .map(|_| {
                self.made += 1;
                let end = if self.made.is_multiple_of(3) { "\n" } else { "" };
                format!("{}{end}", self.made).repeat(width)
            })
            .collect();

        let start = length(&self.leaves[..from]);
        let end = start + length(&self.leaves[from..to]);
        let leaves = new.iter().map(|text| Text::new(text)).collect();
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
        match &mut self.body {
            Body::Inline(_) => self.body = Body::build(&mut owner, leaves).unwrap(),
            body @ Body::Tree(_) => body.replace(&mut owner, start..end, leaves).unwrap(),
        }
        self.leaves.splice(from..to, new);
    }

    fn check(&self, input: &mut Input<'_>) {
        let whole = self.leaves.concat();
        assert!(self.body.count() == TextCount::of(&whole));
        assert!(self.visited(0) == self.leaves, "the leaves from the start differ");
        self.nodes.check_reachable(self.head());
        if self.leaves.is_empty() {
            assert!(matches!(self.body, Body::Inline(_)));
            return;
        }

        let position = input.below(whole.len());
        let (before, at) = self.leaf_at(position);
        assert!(self.visited(position) == self.leaves[at..], "the leaves from a position differ");
        let (found_before, found) = self
            .body
            .find(&self.nodes, OBJECT, |mut before, refs| {
                refs.iter()
                    .take_while(|child| {
                        before += *child.summary();
                        before.bytes <= u64::try_from(position).unwrap()
                    })
                    .count()
            })
            .unwrap();
        assert_eq!(found.as_str(), self.leaves[at]);
        assert!(found_before == TextCount::of(&whole[..before]));

        let only = self.body.only_leaf(&self.nodes, OBJECT).unwrap();
        assert_eq!(only.is_some(), self.leaves.len() == 1);
        self.check_refusal(position, before, at);
    }

    /// Checks that a range that splits a leaf is refused.
    fn check_refusal(&self, position: usize, before: usize, at: usize) {
        if position == before {
            return;
        }
        let mut body = self.body.clone();
        let mut nodes = Refusing(&self.nodes);
        let end = before + self.leaves[at].len();
        let mut next_index = self.next_index;
        let mut owner = Owner { sink: &mut nodes, object: OBJECT, next_index: &mut next_index };
        let range = u64::try_from(position).unwrap()..u64::try_from(end).unwrap();
        assert!(body.replace(&mut owner, range, Vec::new()).is_err());
    }

    /// Removes the leaves from the end, as the deletion of a long file does.
    fn take_down(&mut self, leaves: usize) {
        while let Body::Tree(_) = self.body {
            let end: u64 = self.body.count().into();
            let (start, cut) = self.body.tail(&self.nodes, OBJECT, leaves).unwrap();
            assert!(cut <= leaves);
            assert!(start < end, "a step removed nothing");
            let kept = self.leaf_at(usize::try_from(start).unwrap().min(length_of(&self.leaves))).1;
            assert!(self.leaves.len() - kept <= leaves);
            let mut owner =
                Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
            self.body.replace(&mut owner, start..end, Vec::new()).unwrap();
            self.leaves.truncate(kept);
            assert!(self.body.count() == TextCount::of(&self.leaves.concat()));
        }
        self.nodes.check_reachable(self.head());
    }

    fn visited(&self, from: usize) -> Vec<String> {
        let mut leaves = Vec::new();
        let from = u64::try_from(from).unwrap();
        let visited: Result<(), RecordError> =
            self.body.visit(&self.nodes, OBJECT, from, &mut |_, leaf: &Text| {
                if !leaf.as_str().is_empty() {
                    leaves.push(leaf.as_str().to_owned());
                }
                Ok(true)
            });
        visited.unwrap();
        leaves
    }

    /// The number of bytes before the leaf that holds a position, and the number of the leaf.
    fn leaf_at(&self, position: usize) -> (usize, usize) {
        let mut before = 0;
        for (at, leaf) in self.leaves.iter().enumerate() {
            if position < before + leaf.len() {
                return (before, at);
            }
            before += leaf.len();
        }
        (before, self.leaves.len())
    }

    fn head(&self) -> Node {
        File { next_index: self.next_index, is_partial: false, body: self.body.clone() }.into()
    }
}

/// Nodes for a change that must be refused. Reads work; writes are ignored.
struct Refusing<'a>(&'a Plain);

impl NodeSource for Refusing<'_> {
    fn load(&self, id: RecordId, tag: &Tag) -> Result<Node, RecordError> {
        self.0.load(id, tag)
    }
}

impl NodeSink for Refusing<'_> {
    fn put(&mut self, _: RecordId, _: Node) {}

    fn remove(&mut self, _: RecordId) {}
}

fn length(leaves: &[String]) -> u64 {
    u64::try_from(length_of(leaves)).unwrap()
}

fn length_of(leaves: &[String]) -> usize {
    leaves.iter().map(String::len).sum()
}

/// The number of leaves of the largest tree, which has three levels.
const LEAVES: usize = 6_000;
const STEPS: usize = 40;
