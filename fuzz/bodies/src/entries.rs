//! Compares the entries of a folder with a `BTreeMap`.

use std::collections::BTreeMap;

use crate::input::Input;
use crate::nodes::{OBJECT, Plain};
use inmost_format::record::node::{
    Entries, Entry, FileInfo, Folder, Name, Node, Totals, What, Writer,
};
use inmost_format::record::tree::{Body, Owner};
use inmost_format::record::{ObjectId, RecordError, Tag};

pub(crate) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut folder = Both {
        nodes: Plain::default(),
        next_index: 0,
        body: Body::empty(),
        model: BTreeMap::new(),
        version: 0,
    };
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS {
        folder.step(&mut input);
        folder.check();
        steps += 1;
    }
}

struct Both {
    nodes: Plain,
    next_index: u64,
    body: Body<Entries>,
    model: BTreeMap<String, u64>,
    version: u64,
}

impl Both {
    fn step(&mut self, input: &mut Input<'_>) {
        let (first, long) = (input.below(512), input.pick(&[0, 1, 60, 250]));
        let count = if input.one_in(4) { 1 + input.below(120) } else { 1 };
        let stride = 1 + input.below(7);
        let removes = input.one_in(3);
        for number in 0..count {
            let name = name(first + number * stride, long);
            if removes { self.remove(&name) } else { self.put(&name) }
        }
        if input.one_in(24) {
            let all: Vec<String> = self.model.keys().cloned().collect();
            let kept = input.below(4);
            all.iter().skip(kept).for_each(|name| self.remove(name));
        }
    }

    fn put(&mut self, name: &str) {
        self.version += 1;
        self.model.insert(name.to_owned(), self.version);
        let mut entry =
            Entry::new(Name::new(name), ObjectId([1; 16]), Tag::default(), what(self.version));
        entry.writer = writer(self.version);
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
        self.body.put_entry(&mut owner, entry).unwrap();
    }

    fn remove(&mut self, name: &str) {
        self.model.remove(name);
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
        self.body.remove_entry(&mut owner, name).unwrap();
        assert!(self.entry(name).is_none());
    }

    fn entry(&self, name: &str) -> Option<Entry> {
        self.body.entry(&self.nodes, OBJECT, name).unwrap()
    }

    fn check(&self) {
        let mut visited = Vec::new();
        let done: Result<(), RecordError> =
            self.body.visit(&self.nodes, OBJECT, 0, &mut |before, leaf: &Entries| {
                assert_eq!(usize::try_from(before).unwrap(), visited.len());
                let shown =
                    |entry: &Entry| (entry.name.as_str().to_owned(), entry.what, entry.writer);
                visited.extend(leaf.0.iter().map(shown));
                Ok(true)
            });
        done.unwrap();
        let expected: Vec<_> =
            self.model.iter().map(|(name, version)| expected(name, *version)).collect();
        assert!(visited == expected, "the entries are wrong or out of order");

        assert_eq!(self.body.count(), u64::try_from(self.model.len()).unwrap());
        for (name, version) in &self.model {
            assert!(self.entry(name).is_some_and(|entry| entry.what == what(*version)), "{name}");
        }
        let ends = [
            self.body.first_entry(&self.nodes, OBJECT).unwrap(),
            self.body.last_entry(&self.nodes, OBJECT).unwrap(),
        ];
        let [first, last] = ends.map(|entry| entry.map(|entry| entry.name.as_str().to_owned()));
        assert_eq!(first.as_ref(), self.model.keys().next());
        assert_eq!(last.as_ref(), self.model.keys().next_back());

        let body = self.body.clone();
        let head = Folder { next_index: self.next_index, totals: Totals::default(), body };
        self.nodes.check_reachable(Node::from(head));
    }
}

/// Short and long names mixed, so that nodes hold from six entries to a hundred.
fn name(number: usize, long: usize) -> String {
    format!("{:03}{}", number % 512, "n".repeat((long + number % 3).min(252)))
}

fn what(version: u64) -> What {
    if version.is_multiple_of(5) {
        return What::Folder;
    }
    What::File(FileInfo {
        bytes: version,
        lines: version * 1_000_003,
        head: version % 3,
        number: version << 6,
        version: version << (version % 40),
        ..FileInfo::of_times(0, u64::MAX)
    })
}

fn writer(version: u64) -> Option<Writer> {
    version.is_multiple_of(7).then_some(Writer { session: [2; 16], time: version << 40 })
}

fn expected(name: &str, version: u64) -> (String, What, Option<Writer>) {
    (name.to_owned(), what(version), writer(version))
}

const STEPS: usize = 60;
