//! The tree against a plain list.

use super::*;
use crate::record::node::Text;
use crate::record::plain::{OBJECT, Plain, Random};

fn contents(body: &Body<Text>, nodes: &Plain) -> Vec<String> {
    let mut leaves = Vec::new();
    body.visit::<RecordError>(nodes, OBJECT, 0, &mut |_, leaf: &Text| {
        leaves.push(leaf.as_str().to_owned());
        Ok(true)
    })
    .unwrap();
    leaves
}

#[test]
fn replaced_runs_read_like_a_plain_list() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut nodes = Plain::default();
        let mut next_index = 0;
        let mut model: Vec<String> = Vec::new();
        let mut body: Body<Text> = Body::Inline(Text::default());
        for step in 0..200 {
            let from = random.below(model.len() + 1);
            let to = (from + random.below(if step % 7 == 0 { 300 } else { 4 })).min(model.len());
            let from = if from == to { model.len() } else { from };
            let to = to.max(from);
            let count = random.below(if step % 5 == 0 { 400 } else { 4 });
            let new: Vec<String> = (0..count)
                .map(|item| {
                    format!(
                        "{step}.{item}
"
                    )
                    .repeat(1 + random.below(3))
                })
                .collect();
            let start: usize = model[..from].iter().map(String::len).sum();
            let end = start + model[from..to].iter().map(String::len).sum::<usize>();
            let leaves: Vec<Text> = new.iter().map(|text| Text::new(text)).collect();
            let mut owner = Owner { sink: &mut nodes, object: OBJECT, next_index: &mut next_index };
            if matches!(body, Body::Inline(_)) {
                body = Body::build(&mut owner, leaves).unwrap();
            } else {
                let range = u64::try_from(start).unwrap()..u64::try_from(end).unwrap();
                body.replace(&mut owner, range, leaves).unwrap();
            }
            model.splice(from..to, new);
            assert_eq!(contents(&body, &nodes), model, "seed {seed} step {step}");
            let text = model.concat();
            assert_eq!(body.count(), crate::record::node::TextCount::of(&text));
        }
        let reachable = count_nodes(&body, &nodes);
        assert_eq!(nodes.len(), reachable, "nodes that nothing refers to");
    }
}

fn count_nodes(body: &Body<Text>, nodes: &Plain) -> usize {
    fn below(inner: &Inner<crate::record::node::TextCount>, nodes: &Plain) -> usize {
        let mut sum = 0;
        for child in &inner.refs {
            sum += 1;
            if inner.level > 1 {
                sum +=
                    below(&load_inner::<Text>(nodes, OBJECT, child, inner.level).unwrap(), nodes);
            }
        }
        sum
    }
    if let Body::Tree(top) = body { below(top, nodes) } else { 0 }
}

#[test]
fn a_range_that_cuts_a_leaf_is_refused() {
    let mut nodes = Plain::default();
    let mut next_index = 0;
    let mut owner = Owner { sink: &mut nodes, object: OBJECT, next_index: &mut next_index };
    let mut body = Body::build(&mut owner, vec![Text::new("abc"), Text::new("def")]).unwrap();
    assert!(body.replace(&mut owner, 1..3, Vec::new()).is_err());
    assert!(body.replace(&mut owner, 0..4, Vec::new()).is_err());
}

#[test]
fn a_deep_tree_is_searched_by_position_and_removed_from_its_end() {
    let mut nodes = Plain::default();
    let mut next_index = 0;
    let leaves: Vec<Text> = (0..9_000).map(|item| Text::new(&format!("{item:04}"))).collect();
    let mut owner = Owner { sink: &mut nodes, object: OBJECT, next_index: &mut next_index };
    let mut body = Body::build(&mut owner, leaves).unwrap();
    let (before, leaf) = body
        .find(&nodes, OBJECT, |before, refs| {
            let mut position = before.bytes;
            refs.iter()
                .take_while(|child| {
                    position += child.summary().bytes;
                    position <= 4 * 8_123
                })
                .count()
        })
        .unwrap();
    assert_eq!((before.bytes, leaf.as_str()), (4 * 8_123, "8123"));

    let mut steps = 0;
    while !matches!(body, Body::Inline(_)) {
        let end: u64 = body.count().into();
        let (start, leaves) = body.tail(&nodes, OBJECT, 64).unwrap();
        assert!((1..=64).contains(&leaves));
        assert_eq!(end - start, u64::try_from(leaves * 4).unwrap());
        let mut owner = Owner { sink: &mut nodes, object: OBJECT, next_index: &mut next_index };
        body.replace(&mut owner, start..end, Vec::new()).unwrap();
        steps += 1;
    }
    assert_eq!(nodes.len(), 0);
    assert!(steps < 300);
}

#[test]
fn runs_are_full_from_the_left_and_level_out_at_the_end() {
    assert_eq!(runs(&[1; 10], 4), [4, 4, 2]);
    assert_eq!(runs(&[1; 9], 4), [4, 3, 2]);
    assert_eq!(runs(&[1; 8], 4), [4, 4]);
    assert_eq!(runs(&[1; 5], 4), [3, 2]);
    assert_eq!(runs(&[], 4), Vec::<usize>::new());
    assert_eq!(runs(&[9], 4), [1]);
}
