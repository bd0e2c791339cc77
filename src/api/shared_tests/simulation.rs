//! Three hosts on one store, step by step in every order that a seed can choose, with crashes and lost replies. They change
//! files and keyslots, purge, and rotate the keys.
//!
//! `INMOST_SEEDS=1..1000000` runs more seeds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::scheduler::Scheduler;
use super::slots::{Own, Slots};
use super::spec::{Call, End, Event, Reply, is_linearizable};
use super::{SharedStore, raw_key};
use crate::session::{HistorySettings, Session, StoreError, VaultOptions, shift_clock};
use crate::vfs::{FileError, Precondition};
use inmost_testing::{Random, seeds};

const HOSTS: u64 = 3;
const FILES: usize = 3;
/// Operations that a call may need, steps of a long write included.
const MOST_OF_A_CALL: u64 = 1_000;

/// One run of the three hosts.
struct Run {
    seed: u64,
    store: SharedStore,
    scheduler: Arc<Scheduler>,
    clock: AtomicU64,
    events: Mutex<Vec<Event>>,
    slots: Slots,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let options = if random.below(2) == 0 {
            let month = Duration::from_secs(30 * 24 * 60 * 60);
            VaultOptions::new().history(HistorySettings::keep(month).max_bytes(3_000))
        } else {
            VaultOptions::new()
        };
        let (store, first) = SharedStore::create_with(options);
        first.lock();
        let faults = [0, 0, 15, 60][random.below(4)];
        let scheduler = Arc::new(Scheduler::new(&store.server, random.next(), faults));
        let (clock, events) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        Self { seed, store, scheduler, clock, events, slots: Slots::default() }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Unlocks the store as a new host; `None` if the network keeps it from that.
    fn unlock(&self, number: u64) -> Option<Session> {
        let host = self.store.server.numbered_host(number, self.scheduler.clone());
        match self.store.vault(host).and_then(|mut vault| vault.unlock_with(&raw_key())) {
            Ok(session) => Some(session),
            Err(StoreError::Unavailable(_)) if self.scheduler.is_faulty() => None,
            Err(error) => panic!("seed {}: unlock: {error}", self.seed),
        }
    }

    /// As [`live`](Self::live). A host that fails lets the others go on, so that the run ends.
    fn live_or_end(&self, host: u64) {
        let lived = catch_unwind(AssertUnwindSafe(|| self.live(host)));
        if let Err(failure) = lived {
            self.scheduler.stop();
            resume_unwind(failure);
        }
    }

    /// The life of a host: calls, and a new process after a crash.
    fn live(&self, host: u64) {
        let mut random = Random(self.seed ^ (host << 48));
        let mut number = host;
        let mut session = None;
        let mut own = Own::new();
        let mut calls = 2 + random.below(3);
        for attempt in 0..40 {
            if calls == 0 {
                break;
            }
            let Some(open) = &session else {
                session = self.unlock(number);
                // The numbers may be those of others by now.
                own.clear();
                if session.is_none() {
                    // Perhaps it has died.
                    let next = HOSTS * (attempt + 1) + host;
                    self.scheduler.join(next);
                    self.scheduler.leave(number);
                    number = next;
                }
                continue;
            };
            calls -= 1;
            if random.below(40) == 0 {
                // Another host's staged object looks old to this one, and is removed.
                shift_clock(2 * 60 * 60 * 1_000);
            }
            let purged = if random.below(30) == 0 { open.purge() } else { Ok(()) };
            let changed = purged.and_then(|()| {
                if random.below(6) > 0 {
                    return Ok(());
                }
                self.slots.change(open, &mut own, &mut random, || self.now())
            });
            match changed {
                Ok(()) | Err(StoreError::SlotsFull) => {}
                // Another host has rotated the keys.
                Err(StoreError::Locked) => {
                    session = None;
                    continue;
                }
                Err(
                    StoreError::Unavailable(_)
                    | StoreError::CommitUnknown
                    | StoreError::OldRecordsRemain(_),
                ) if self.scheduler.is_faulty() => {}
                Err(error) => panic!("seed {}: purge or keyslots: {error}", self.seed),
            }
            let call = choose(&mut random, self.seed, host, calls);
            let before = self.scheduler.operations_of(number);
            let begin = self.now();
            let end = match perform(open, &call) {
                Ok(reply) => End::Replied(reply, self.now()),
                Err(StoreError::CommitUnknown) => End::Unknown,
                // Another host has rotated the keys.
                Err(StoreError::Locked) => End::Refused,
                // It may have died after it sent a batch.
                Err(StoreError::Unavailable(why)) if why == "the host is dead" => End::Unknown,
                Err(StoreError::Unavailable(why)) => {
                    let is_expected = self.scheduler.is_faulty() || why.contains("an hour");
                    assert!(is_expected, "seed {}: {call:?}: {why}", self.seed);
                    End::Refused
                }
                Err(error) => panic!("seed {}: {call:?}: {error}", self.seed),
            };
            let took = self.scheduler.operations_of(number) - before;
            assert!(took < MOST_OF_A_CALL, "seed {}: {call:?} took {took} operations", self.seed);
            let is_locked = open.is_locked();
            if is_locked || (!matches!(end, End::Replied(..)) && random.below(2) == 0) {
                session = None;
            }
            self.events.lock().unwrap().push(Event { begin, call, end });
        }
        drop(session);
        self.scheduler.leave(number);
    }

    /// Runs the hosts and judges what they saw and what they left. Returns how many added keys open the store, and how many
    /// do not.
    fn judge(&self) -> (u64, u64) {
        for host in 1..=HOSTS {
            self.scheduler.join(host);
        }
        std::thread::scope(|scope| {
            let hosts: Vec<_> =
                (1..=HOSTS).map(|host| scope.spawn(move || self.live_or_end(host))).collect();
            for host in hosts {
                host.join().unwrap();
            }
        });
        let _ = self.store.server.deliver();
        let last = self.store.unlock();
        let mut events = std::mem::take(&mut *self.events.lock().unwrap());
        for file in 0..u8::try_from(FILES).unwrap() {
            let (begin, call) = (self.now(), Call::Read(file));
            let reply = perform(&last, &call).unwrap();
            events.push(Event { begin, call, end: End::Replied(reply, self.now()) });
        }
        let judged = self.slots.judge(&self.store, self.seed);
        assert!(is_linearizable(&events), "seed {}:\n{}", self.seed, brief(&events));
        let report = last.check().unwrap();
        assert!(report.is_clean(), "seed {}: {report:?}", self.seed);
        judged
    }
}

/// The events, one a line, with the beginnings of their texts.
fn brief(events: &[Event]) -> String {
    let cut = |text: String| text.chars().take(100).collect::<String>();
    let line = |event: &Event| {
        format!(
            "{} {} {}",
            event.begin,
            cut(format!("{:?}", event.call)),
            cut(format!("{:?}", event.end))
        )
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn choose(random: &mut Random, seed: u64, host: u64, call: usize) -> Call {
    let file = u8::try_from(random.below(FILES)).unwrap();
    let other = u8::try_from((usize::from(file) + 1 + random.below(FILES - 1)) % FILES).unwrap();
    let mark = format!("[{seed:x}.{host}.{call}]");
    match random.below(16) {
        0..=3 => Call::Append(file, mark),
        4..=6 => Call::Read(file),
        7 | 8 => Call::Write(file, mark),
        9 => Call::Write(file, mark.repeat(500)),
        // Longer than one step.
        10 => Call::Write(file, mark.repeat(40_000 / mark.len())),
        11 | 12 => Call::Create(file, mark),
        13 => Call::Remove(file),
        _ => Call::Rename(file, other),
    }
}

fn perform(session: &Session, call: &Call) -> Result<Reply, StoreError> {
    let path = |file: &u8| format!("/memories/{file}.md");
    let files = session.files();
    let result = match call {
        Call::Write(file, text) => files.write(&path(file), text).map(|()| Reply::Done),
        Call::Create(file, text) => {
            files.write_if(&path(file), text, &Precondition::Absent).map(|_| Reply::Done)
        }
        Call::Append(file, text) => files.append(&path(file), text).map(|()| Reply::Done),
        Call::Read(file) => {
            files.read(&path(file)).map(|text| Reply::Text(text.as_str().to_owned()))
        }
        Call::Remove(file) => files.remove(&path(file)).map(|()| Reply::Done),
        Call::Rename(from, to) => files.rename(&path(from), &path(to)).map(|()| Reply::Done),
    };
    match result {
        Ok(reply) => Ok(reply),
        Err(FileError::NotFound) => Ok(Reply::Absent),
        Err(FileError::AlreadyExists | FileError::Changed(_)) => Ok(Reply::Exists),
        Err(FileError::Store(error)) => Err(error),
        Err(error) => panic!("{call:?}: {error}"),
    }
}

#[test]
fn no_order_of_steps_loses_or_mixes_a_call() {
    let mut schedules = 0;
    let (mut operations, mut faulty, mut opening, mut closed) = (0, 0, 0, 0);
    for seed in seeds(1..301) {
        schedules += 1;
        let run = Run::new(seed);
        let judged = run.judge();
        opening += judged.0;
        closed += judged.1;
        operations += run.scheduler.operations();
        faulty += u64::from(run.scheduler.is_faulty());
    }
    println!("{schedules} schedules, {faulty} with faults, {operations} operations");
    println!("{opening} keys that open the store, {closed} that do not");
    assert!(schedules < 100 || faulty > 0 && faulty < schedules);
    assert!(schedules < 100 || opening > 10 && closed > 10);
}
