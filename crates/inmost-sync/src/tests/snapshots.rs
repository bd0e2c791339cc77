//! Snapshots, and the removal of what they stand for.

use std::collections::BTreeSet;

use super::model::MemoryPlace;
use super::{Laptop, circle, files, pair, quiet};
use crate::chains::{Chains, Dot, LogId, Tag, Vector};
use crate::device::Device;
use crate::object::{Changes, Snapshot, seal};
use crate::pool::Pool;

/// Changes a file so often that a log becomes long several times.
fn work(place: &MemoryPlace, device: &Laptop, others: &[&Laptop]) {
    for number in 0..30 {
        device.write("a.md", &format!("{number}\nend\n"));
        device.sync(place);
        for other in others {
            other.sync(place);
        }
    }
}

fn objects(place: &MemoryPlace) -> usize {
    place.0.borrow().truth.len()
}

#[test]
fn the_place_does_not_grow_with_the_number_of_changes() {
    let (place, laptop, desk) = pair();
    work(&place, &laptop, &[&desk]);
    let before = objects(&place);
    work(&place, &laptop, &[&desk]);
    assert!(before < 20 && objects(&place) < 20, "{before} {}", objects(&place));
    let phone = Laptop::new(7, "phone");
    phone.sync(&place);
    assert_eq!(phone.tree(), files(&[("a.md", "29\nend\n")]));
    let logs = |laptop: &Laptop| Device::decode(&laptop.state.get()).unwrap().peers.len();
    assert_eq!((logs(&laptop), logs(&desk)), (1, 1));
}

#[test]
fn nothing_is_removed_that_no_other_device_has_read() {
    let (place, laptop, desk) = pair();
    work(&place, &laptop, &[]);
    assert!(objects(&place) > 30);
    quiet(&place, &laptop, &desk);
    quiet(&place, &laptop, &desk);
    assert!(objects(&place) < 20, "{}", objects(&place));
}

#[test]
fn a_device_that_was_away_loses_nothing_and_brings_nothing_back() {
    let (place, laptop, desk) = pair();
    for name in ["a.md", "gone.md", "edited.md"] {
        laptop.write(name, "text\nend\n");
    }
    let phone = Laptop::new(7, "phone");
    quiet(&place, &laptop, &desk);
    quiet(&place, &laptop, &phone);
    let before: BTreeSet<Dot> = place.0.borrow().truth.keys().copied().collect();
    laptop.session.files().remove("/memories/gone.md").unwrap();
    laptop.session.files().remove("/memories/edited.md").unwrap();
    work(&place, &laptop, &[&desk]);
    assert!(before.iter().any(|dot| !place.0.borrow().truth.contains_key(dot)));
    phone.write("a.md", "text\nend\nphone\n");
    phone.write("edited.md", "text\nend\nphone\n");
    quiet(&place, &laptop, &phone);
    quiet(&place, &laptop, &desk);
    let expected = [("a.md", "29\nend\nphone\n"), ("edited.md", "text\nend\nphone\n")];
    assert_eq!(laptop.tree(), files(&expected));
    assert_eq!(desk.tree(), files(&expected));
}

#[test]
fn a_snapshot_that_contradicts_itself_is_not_taken() {
    let (log, tag) = (LogId([3; 16]), Tag([3; 16]));
    let dot = Dot { log, number: 1, tag };
    let changes = |chains: Chains, seen: Vector| Changes {
        label: "member".to_owned(),
        lamport: 9,
        time: 0,
        seen,
        pool: Pool::default(),
        states: Vec::new(),
        snapshot: Some(Snapshot {
            chains,
            files: Vec::new(),
            before: BTreeSet::new(),
            peers: std::collections::BTreeMap::new(),
            forgot: Vector::default(),
        }),
    };
    let mut chains = Chains::default();
    chains.insert(dot, None);
    let mut late = Chains::default();
    late.insert(Dot { number: 3, ..dot }, None);
    let seen = |number| Vector::from_iter([Dot { number, ..dot }]);
    for (chains, seen, is_sound) in [
        (chains.clone(), seen(1), true),
        (chains.clone(), seen(2), false),
        (chains, Vector::default(), false),
        (late, seen(3), false),
    ] {
        let sealed = seal(&circle(7), (LogId([4; 16]), 1, None), &changes(chains, seen)).unwrap();
        let opened = crate::object::open(&circle(7), &sealed.dot, None, &sealed.bytes);
        assert_eq!(opened.is_some(), is_sound);
    }
}
