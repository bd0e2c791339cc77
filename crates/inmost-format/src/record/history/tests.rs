//! A history against a plain list.

use super::super::layout::NODE_BYTES;
use super::super::node::Node;
use super::super::plain::{OBJECT, Plain, Random};
use super::super::tree::{Place, Way};
use super::*;
use crate::record::RecordError;

struct Tested {
    nodes: Plain,
    history: History,
    /// The number of each entry and the bytes that it holds, in order.
    model: Vec<(u64, u64)>,
    next: u64,
}

impl Tested {
    fn append(&mut self, random: &mut Random) {
        self.next += 1 + number(random.below(3));
        let mut version = Version::nothing(self.next, 0);
        // Long paths do not fit the head, and two of the longest need a larger record.
        let length = if random.below(9) == 0 { 1_000 } else { random.below(200) };
        version.path = Name::new(&"p".repeat(length));
        version.old_path = Name::new(&"o".repeat(if random.below(2) == 0 { length } else { 0 }));
        version.held = number(random.below(100));
        self.model.push((version.number, version.held));
        self.history.append(&mut self.nodes, OBJECT, version).unwrap();
    }

    /// Removes some of the entries that are together at the beginning.
    fn trim(&mut self, random: &mut Random) {
        let first = self.history.look_at(&self.nodes, OBJECT, 0).unwrap();
        let Place::Leaf(0, leaf) = first else { panic!("not the first leaf") };
        let count = random.below(leaf.0.len() + 1);
        drop(leaf);
        self.history.remove_first(&mut self.nodes, OBJECT, count).unwrap();
        self.model.drain(..count);
    }

    /// Empties or removes an entry, which there need not be. One that stays may become longer.
    fn edit(&mut self, random: &mut Random) {
        let sought = number(random.below(usize::try_from(self.next).unwrap() + 3));
        let (stays, noted) = (random.below(3) > 0, random.below(12));
        let change = |version: &mut Version| {
            version.held = 0;
            version.forgotten.resize(version.forgotten.len().max(noted), OBJECT);
            stays
        };
        let found = self.history.edit(&mut self.nodes, OBJECT, sought, change).unwrap();
        let slot = self.model.binary_search_by_key(&sought, |(number, _)| *number);
        assert_eq!(found, slot.is_ok(), "{sought}");
        if let Ok(slot) = slot {
            self.model[slot].1 = 0;
            if !stays {
                self.model.remove(slot);
            }
        }
    }

    /// The entries on the way, up to `most` of them.
    fn visit(&self, way: Way, most: usize) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let visited =
            self.history.visit_places::<RecordError>(&self.nodes, OBJECT, way, &mut |place| {
                assert!(found.len() < most, "the visitor had enough");
                let Place::Leaf(start, leaf) = place else { panic!("a gap") };
                let entries = (start..).zip(leaf.0.iter());
                let mut on_the_way: Vec<_> = entries
                    .filter(|(position, _)| match way {
                        Way::Forward(from) => *position >= from,
                        Way::Back(from) => *position < from,
                    })
                    .map(|(_, version)| (version.number, version.held))
                    .collect();
                if matches!(way, Way::Back(_)) {
                    on_the_way.reverse();
                }
                found.extend(on_the_way);
                Ok(found.len() < most)
            });
        visited.unwrap();
        found.truncate(most);
        found
    }

    fn check(&self, random: &mut Random) {
        let count = self.model.len();
        assert_eq!(self.history.count(), number(count));
        assert_eq!(self.history.held, self.model.iter().map(|(_, held)| held).sum::<u64>());
        assert!(Node::from(self.history.clone()).encoded_len().unwrap() <= NODE_BYTES);
        let from = random.below(count + 2);
        for most in [3, usize::MAX] {
            let ahead: Vec<_> = self.model.iter().skip(from).take(most).copied().collect();
            assert_eq!(self.visit(Way::Forward(number(from)), most), ahead);
            let behind: Vec<_> = self.model.iter().take(from).rev().take(most).copied().collect();
            assert_eq!(self.visit(Way::Back(number(from)), most), behind);
        }
        assert_eq!(
            self.history.survey(&self.nodes, OBJECT, usize::MAX).unwrap(),
            (0, Some(self.history.held))
        );
        let sought = number(random.below(usize::try_from(self.next).unwrap() + 3));
        let before = self.model.partition_point(|(number, _)| *number < sought);
        let position = self.history.position_of(&self.nodes, OBJECT, sought).unwrap();
        assert_eq!(position, number(before), "{sought}");
        let place = self.history.look_for(&self.nodes, OBJECT, sought).unwrap();
        let Place::Leaf(start, leaf) = place else { panic!("a gap") };
        assert_eq!(start + leaf.numbered_below(sought), number(before), "{sought}");
        let is_there = self.model.get(before).is_some_and(|(number, _)| *number == sought);
        assert_eq!(leaf.0.iter().any(|version| version.number == sought), is_there, "{sought}");
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap()
}

#[test]
fn a_history_holds_what_a_plain_list_holds() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let (nodes, history) = (Plain::default(), History::empty());
        let mut tested = Tested { nodes, history, model: Vec::new(), next: 0 };
        for step in 0..3_000 {
            // It grows, then shrinks to nothing and grows again.
            let shrinks = step % 1_500 > 1_100;
            match random.below(10) {
                0 => (0..=random.below(9)).for_each(|_| tested.edit(&mut random)),
                1 => tested.trim(&mut random),
                _ if shrinks => tested.trim(&mut random),
                _ => tested.append(&mut random),
            }
            tested.check(&mut random);
        }
        while !tested.model.is_empty() {
            tested.trim(&mut random);
        }
        assert_eq!(tested.nodes.len(), 0, "no node is left behind");
    }
}
