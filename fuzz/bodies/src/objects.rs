//! Objects that a member of a circle has written, or anybody else.

use crate::input::Input;
use inmost_sync::internals::Fuzzed;
use inmost_sync::{Dot, LogId, Tag};

pub(crate) fn run(data: &[u8]) {
    let Some((form, rest)) = data.split_first() else { return };
    let mut input = Input::new(rest);
    if form % 4 == 1 { sealed(&mut input) } else { read(&mut input) }
}

fn save(device: &Fuzzed) -> Fuzzed {
    let saved = device.encode().unwrap();
    let again = Fuzzed::decode(&saved).ok().unwrap();
    assert!(*again.encode().unwrap() == *saved, "the state changes when it is saved");
    again
}

/// An object opens if it is whole and its body is sound. A changed one does not.
fn sealed(input: &mut Input<'_>) {
    let (at, bits) = (input.below(1 << 12), input.byte());
    let previous = input.one_in(2).then_some(Tag([1; 16]));
    let body = input.rest();
    let device = Fuzzed::new().unwrap();
    let (dot, mut bytes) = device.seal(LogId([1; 16]), 1, body).unwrap();
    assert_eq!(device.opens(&dot, None, &bytes), Fuzzed::inspect(&dot, body).is_some());
    assert!(!device.opens(&Dot { number: 2, ..dot }, None, &bytes));
    let length = bytes.len();
    bytes[at % length] ^= bits;
    assert!(previous.is_none() && bits == 0 || !device.opens(&dot, previous, &bytes));
    bytes.truncate(at % length);
    assert!(!device.opens(&dot, None, &bytes));
}

/// Reads objects in two orders.
fn read(input: &mut Input<'_>) {
    let mut objects: Vec<(Dot, Option<Tag>, &[u8])> = Vec::new();
    while !input.is_empty() && objects.len() < 40 {
        let log = LogId([1 + input.byte() % 4; 16]);
        let before = usize::from(input.byte()).checked_sub(1);
        let before = before.and_then(|at| objects.get(at)).map(|(dot, ..)| *dot);
        let (log, number) = before.map_or((log, 1), |dot| (dot.log, dot.number + 1));
        let tag = Tag([u8::try_from(objects.len()).unwrap() + 1; 16]);
        let body = input.bytes(0xFFFF);
        objects.push((Dot { log, number, tag }, before.map(|dot| dot.tag), body));
    }
    let mut device = all(objects.iter());
    let files = device.files();
    assert!(save(&device).files() == files, "a saved state shows other files");
    let is_snapshot = |(dot, _, body): &(Dot, _, &[u8])| Fuzzed::inspect(dot, body) == Some(true);
    // A snapshot can contradict the objects that it stands for.
    if !objects.iter().any(is_snapshot) {
        assert!(all(objects.iter().rev()).files() == files, "the files depend on the order");
    }
    let copy = device.copy().unwrap().expect("other devices refuse its snapshot");
    assert!(copy.files() == files, "its snapshot shows other files");
}

/// A device that has read these objects, each as soon as it could.
fn all<'o>(objects: impl Iterator<Item = &'o (Dot, Option<Tag>, &'o [u8])>) -> Fuzzed {
    let mut device = Fuzzed::new().unwrap();
    let mut waiting: Vec<_> = objects.collect();
    loop {
        let before = waiting.len();
        waiting.retain(|(dot, previous, body)| !device.take_in(*dot, *previous, body));
        if waiting.len() == before {
            return device;
        }
    }
}
