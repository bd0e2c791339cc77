//! What calls on a store do, and whether a history of calls of several hosts has an order in which they do it.
//!
//! The search is that of Wing and Gong (*Testing and Verifying Concurrent Objects*, Journal of Parallel and Distributed
//! Computing 17, 1993), with the states that were met before left out.

use std::collections::{BTreeMap, HashSet};

/// A call on files, which are numbers here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Call {
    Write(u8, String),
    Create(u8, String),
    Append(u8, String),
    Read(u8),
    Remove(u8),
    Rename(u8, u8),
}

/// What a call returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Reply {
    Done,
    Text(String),
    Absent,
    Exists,
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// With this reply, at this time.
    Replied(Reply, u64),
    /// Nobody knows whether it took effect, or will.
    Unknown,
    /// Without an effect.
    Refused,
}

/// A call with its times.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) begin: u64,
    pub(super) call: Call,
    pub(super) end: End,
}

pub(super) type Files = BTreeMap<u8, String>;

fn apply(files: &mut Files, call: &Call) -> Reply {
    match call {
        Call::Write(file, text) => {
            files.insert(*file, text.clone());
            Reply::Done
        }
        Call::Create(file, text) => {
            if files.contains_key(file) {
                return Reply::Exists;
            }
            files.insert(*file, text.clone());
            Reply::Done
        }
        Call::Append(file, text) => {
            files.entry(*file).or_default().push_str(text);
            Reply::Done
        }
        Call::Read(file) => files.get(file).map_or(Reply::Absent, |text| Reply::Text(text.clone())),
        Call::Remove(file) => files.remove(file).map_or(Reply::Absent, |_| Reply::Done),
        Call::Rename(from, to) => {
            if !files.contains_key(from) {
                return Reply::Absent;
            }
            if files.contains_key(to) {
                return Reply::Exists;
            }
            let text = files.remove(from).unwrap_or_default();
            files.insert(*to, text);
            Reply::Done
        }
    }
}

/// Whether the events have an order that agrees with their times and replies.
pub(super) fn is_linearizable(events: &[Event]) -> bool {
    let events: Vec<&Event> = events.iter().filter(|event| event.end != End::Refused).collect();
    assert!(events.len() <= 64, "more events than bits");
    let required = events.iter().enumerate().filter(|(_, event)| event.end != End::Unknown);
    let required = required.fold(0_u64, |all, (index, _)| all | 1 << index);
    search(&events, required, 0, &Files::new(), &mut HashSet::new())
}

fn search(
    events: &[&Event],
    required: u64,
    done: u64,
    files: &Files,
    met: &mut HashSet<(u64, Files)>,
) -> bool {
    if done & required == required {
        return true;
    }
    if !met.insert((done, files.clone())) {
        return false;
    }
    let left = || events.iter().enumerate().filter(move |(index, _)| done & (1 << index) == 0);
    let first_end = left()
        .filter_map(|(_, event)| match event.end {
            End::Replied(_, end) => Some(end),
            End::Unknown | End::Refused => None,
        })
        .min()
        .unwrap_or(u64::MAX);
    left().filter(|(_, event)| event.begin < first_end).any(|(index, event)| {
        let mut after = files.clone();
        let reply = apply(&mut after, &event.call);
        let agrees = match &event.end {
            End::Replied(expected, _) => reply == *expected,
            End::Unknown | End::Refused => true,
        };
        agrees && search(events, required, done | 1 << index, &after, met)
    })
}

#[test]
fn an_order_is_found_or_denied() {
    let event = |begin, end, call, reply| Event { begin, call, end: End::Replied(reply, end) };
    let write =
        |begin, end, text: &str| event(begin, end, Call::Write(0, text.into()), Reply::Done);
    let read = |begin, end, text: &str| event(begin, end, Call::Read(0), Reply::Text(text.into()));
    assert!(is_linearizable(&[
        write(0, 1, "a"),
        write(2, 5, "b"),
        read(3, 4, "a"),
        read(6, 7, "b")
    ]));
    assert!(!is_linearizable(&[write(0, 1, "a"), write(2, 3, "b"), read(4, 5, "a")]));
    let unknown = Event { begin: 2, call: Call::Write(0, "b".into()), end: End::Unknown };
    assert!(is_linearizable(&[
        write(0, 1, "a"),
        unknown.clone(),
        read(4, 5, "a"),
        read(6, 7, "b")
    ]));
    assert!(!is_linearizable(&[
        write(0, 1, "a"),
        unknown.clone(),
        read(4, 5, "b"),
        read(6, 7, "a")
    ]));
    let refused = Event { end: End::Refused, ..unknown };
    assert!(!is_linearizable(&[write(0, 1, "a"), refused, read(4, 5, "b")]));
}
