//! Tests of records that authenticate and decode but state false facts about their children, as a faulty version may
//! leave them. A check reports each false fact where it is stated, and nothing else.

use super::crafted::{Crafted, REPEATED, at, files, folder_inner, one_file};
use super::odd::{ODD, chunk, info, inner, rope, tree};
use inmost_format::record::node::{
    Entries, Entry, File, Folder, Name, Node, Root, Text, Totals, What,
};
use inmost_format::record::tree::Body;
use inmost_format::record::{Kind, ObjectId, RecordId, Tag};

const MISCOUNT: &str = "has wrong counts of its children";
const OUT_OF_ORDER: &str = "has names out of order";
const PART: &str = "a part of a folder";

/// A problem: the names on the way to it, the affected object, the problem.
type ReportedProblem = (String, &'static str, &'static str);

fn found(names: &str, what: &'static str, how: &'static str) -> ReportedProblem {
    (names.to_owned(), what, how)
}

/// The result of a check. Objects that are not affected stay readable.
#[track_caller]
fn check(crafted: &Crafted) -> Vec<ReportedProblem> {
    let session = crafted.session();
    assert_eq!(session.files().read("/memories/kept").unwrap().as_str(), "kept");
    drop(session);
    let problems = crafted.check(100).problems;
    problems.into_iter().map(|it| (it.names.join("/"), it.what, it.how)).collect()
}

/// A file of one letter, `/memories/odd`, whose entry states these bytes and lines.
fn described_as(bytes: u64, lines: u64) -> Crafted {
    let crafted = Crafted::new();
    let file = File { next_index: 0, is_partial: false, body: Body::Inline(Text::new("x")) };
    let tag = crafted.put(RecordId::file(ODD, 0), &file.into());
    crafted.link(ODD, tag, What::File(info(bytes, lines)), Totals::default());
    crafted
}

#[test]
fn a_size_that_the_folder_has_wrong_is_found() {
    assert_eq!(check(&described_as(1, 1)), []);
    let lie = found("odd", "a file", "differs in size from its entry in the folder");
    assert_eq!(check(&described_as(2, 1)), vec![lie.clone()]);
    assert_eq!(check(&described_as(1, 2)), [lie]);
}

#[test]
fn a_count_that_a_rope_has_wrong_is_found_on_its_level() {
    // Bytes and newlines as stated by the upper and by the lower level.
    for (upper, lower, lies) in [
        ((2, 1), (2, 1), 0),
        ((3, 1), (2, 1), 1),
        ((2, 2), (2, 1), 1),
        ((2, 1), (2, 0), 1),
        ((3, 1), (3, 1), 2),
    ] {
        let crafted = Crafted::new();
        let tag = crafted.put(at(Kind::Chunk, 1), &chunk("x\n"));
        let node = inner(1, vec![(1, tag, lower.0, lower.1)]);
        let tag = crafted.put(at(Kind::FileInner, 2), &node);
        let head = rope(2, vec![(2, tag, upper.0, upper.1)]);
        let tag = crafted.put(RecordId::file(ODD, 0), &head.into());
        crafted.link(ODD, tag, What::File(info(2, 1)), Totals::default());
        let lie = found("odd", "a part of a long file", MISCOUNT);
        assert_eq!(check(&crafted), vec![lie; lies], "{upper:?} {lower:?}");
    }
}

#[test]
fn totals_that_a_folder_has_wrong_are_found_and_its_parent_is_not_blamed() {
    let lies: [fn(&mut Totals); 6] = [
        |_| {},
        |totals| totals.visible_children += 1,
        |totals| totals.visible_grandchildren += 1,
        |totals| totals.visible_bytes = 0,
        |totals| totals.files += 1,
        |totals| totals.bytes = u64::MAX,
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let crafted = Crafted::new();
        let (entries, honest) = one_file(&crafted);
        let mut totals = honest;
        lie(&mut totals);
        let head = Folder { next_index: 0, totals, body: Body::Inline(entries) };
        let tag = crafted.put(RecordId::folder(ODD), &head.into());
        crafted.link(ODD, tag, What::Folder, honest);
        let lie = found("odd", "a folder", "has totals that differ from its content");
        assert_eq!(check(&crafted), vec![lie; number.min(1)], "lie {number}");
    }
}

#[test]
fn totals_that_the_root_has_wrong_are_found() {
    let lies: [fn(&mut Root); 3] = [|_| {}, |root| root.files += 1, |root| root.bytes = 0];
    for (number, lie) in lies.into_iter().enumerate() {
        let crafted = Crafted::new();
        let mut root = crafted.store.root();
        root.commit += 1;
        lie(&mut root);
        crafted.put(RecordId::ROOT, &root.into());
        let lie = found("", "the root record", "has totals that differ from its tree");
        assert_eq!(check(&crafted), vec![lie; number.min(1)], "lie {number}");
    }
}

/// Files of one letter with these names, in this order.
fn named(crafted: &Crafted, names: &[&str]) -> (Entries, Totals) {
    let (mut entries, mut totals) = (Vec::new(), Totals::default());
    for name in names {
        // Object ids are made of the names, or of numbers where names repeat.
        let mut id = ObjectId([0xe0; 16]);
        id.0[0] = name.as_bytes()[0];
        id.0[1] = u8::try_from(entries.len()).unwrap();
        let file = File { next_index: 0, is_partial: false, body: Body::Inline(Text::new("x")) };
        let tag = Tag(crafted.put(RecordId::file(id, 0), &file.into()));
        let name = Name::new(name);
        totals = totals.plus(&Totals::of_file(&name, 1));
        entries.push(Entry::new(name, id, tag, What::File(info(1, 1))));
    }
    (Entries(entries), totals)
}

#[test]
fn names_out_of_order_are_found_in_a_head() {
    for (names, lies) in [(["a", "b", "c"], 0), (["a", "c", "b"], 1), (["a", "b", "b"], 1)] {
        let crafted = Crafted::new();
        let (entries, totals) = named(&crafted, &names);
        let head = Folder { next_index: 0, totals, body: Body::Inline(entries) };
        let tag = crafted.put(RecordId::folder(ODD), &head.into());
        crafted.link(ODD, tag, What::Folder, totals);
        assert_eq!(check(&crafted), vec![found("odd", PART, OUT_OF_ORDER); lies], "{names:?}");
    }
}

/// A repair kept entries in the order in which it found them. A check then reported the repaired store too, and some of
/// its files could not be reached.
#[test]
fn names_out_of_order_are_put_in_order_by_a_repair_and_only_a_twin_is_dropped() {
    for (names, dropped, left) in [
        (["c", "a", "b"], 0, ["a", "b", "c"].as_slice()),
        (["b", "a", "b"], 1, ["a", "b"].as_slice()),
    ] {
        let crafted = Crafted::new();
        let (entries, totals) = named(&crafted, &names);
        let head = Folder { next_index: 0, totals, body: Body::Inline(entries) };
        let tag = crafted.put(RecordId::folder(ODD), &head.into());
        crafted.link(ODD, tag, What::Folder, totals);
        assert_eq!(crafted.repair(), (dropped, 0), "{names:?}");
        let session = crafted.session();
        for name in left {
            let path = format!("/memories/odd/{name}");
            assert_eq!(session.files().read(&path).unwrap().as_str(), "x", "{names:?}");
        }
        assert_eq!(session.files().list("/memories/odd").unwrap().len(), left.len());
    }
}

/// A tree of two leaves whose upper nodes state these counts and first names.
fn two_leaves(leaves: [&[&str]; 2], stated: [(u64, &str); 2], level: u8) -> Crafted {
    let crafted = Crafted::new();
    let (mut refs, mut sum) = (Vec::new(), Totals::default());
    for (index, (names, (count, first))) in (1..).zip(leaves.into_iter().zip(stated)) {
        let (entries, totals) = named(&crafted, names);
        sum = sum.plus(&totals);
        let (own, own_first) = (entries.0.len(), entries.0[0].name.clone());
        let leaf = crafted.put(at(Kind::FolderLeaf, index), &Node::FolderLeaf(entries.into()));
        if level == 1 {
            refs.push((index, leaf, count, first));
            continue;
        }
        // In this case the inner node's statement is false, and the leaf is described correctly.
        let own = u64::try_from(own).unwrap();
        let node = folder_inner(1, vec![(index, leaf, own, own_first.as_str())]);
        let node = crafted.put(at(Kind::FolderInner, index + 2), &node);
        refs.push((index + 2, node, count, first));
    }
    let tag = crafted.put(RecordId::folder(ODD), &tree(sum, level, refs).into());
    crafted.link(ODD, tag, What::Folder, sum);
    crafted
}

#[test]
fn a_count_or_first_name_that_a_folder_has_wrong_is_found_on_every_level() {
    for level in [1, 2] {
        for (stated, lies) in [
            ([(2, "a"), (1, "m")], 0),
            ([(1, "a"), (1, "m")], 1),
            ([(2, "a"), (7, "m")], 1),
            ([(2, "a"), (1, "c")], 1),
            ([(2, ""), (0, "m")], 2),
        ] {
            let crafted = two_leaves([&["a", "b"], &["m"]], stated, level);
            let lie = found("odd", PART, MISCOUNT);
            assert_eq!(check(&crafted), vec![lie; lies], "{stated:?} on level {level}");
        }
    }
}

/// Each leaf by itself is in order, but a search by name descends into the wrong leaf.
#[test]
fn names_out_of_order_are_found_from_leaf_to_leaf() {
    for level in [1, 2] {
        let first = |names: &[&'static str]| names[0];
        let cases: [([&[&'static str]; 2], usize); 4] = [
            ([&["a", "b"], &["c"]], 0),
            ([&["b", "c"], &["a"]], 1),
            ([&["a", "c"], &["b", "d"]], 1),
            ([&["a", "b"], &["b", "c"]], 1),
        ];
        for (leaves, lies) in cases {
            let stated = leaves.map(|names| (u64::try_from(names.len()).unwrap(), first(names)));
            let crafted = two_leaves(leaves, stated, level);
            assert_eq!(
                check(&crafted),
                vec![found("odd", PART, OUT_OF_ORDER); lies],
                "{leaves:?} on level {level}"
            );
        }
    }
}

#[test]
fn a_file_under_two_names_is_saved_once_and_said_to_be_missing_once() {
    let crafted = Crafted::new();
    let (mut entries, totals) = one_file(&crafted);
    let mut twin = entries.0[0].clone();
    twin.name = Name::new("b");
    entries.0.push(twin);
    let totals = totals.plus(&totals);
    let head = Folder { next_index: 0, totals, body: Body::Inline(entries) };
    let tag = crafted.put(RecordId::folder(ODD), &head.into());
    crafted.link(ODD, tag, What::Folder, totals);

    assert_eq!(check(&crafted), [found("odd/b", "a file", REPEATED)]);
    let whole = files(&[("/memories/kept", "kept"), ("/memories/odd/a", "x")]);
    assert_eq!(crafted.salvage(), (whole, 1, 0));
    assert_eq!(crafted.repair(), (1, 0));
    assert_eq!(crafted.session().files().list("/memories/odd").unwrap().len(), 1);
}

#[test]
fn reports_are_printed_without_names() {
    let crafted = described_as(2, 1);
    assert_eq!(
        format!("{:?}", crafted.check(100).problems),
        "[a file differs in size from its entry in the folder at depth 1]"
    );
}
