//! Crashes, failing writes and a full disk, at every operation of a workload.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::faulty::Fault;
use crate::local_engine::Expected;

const COMMITS: u32 = 40;

/// Runs the workload of a seed, with a fault if one is given.
fn run(
    world: &World,
    seed: u64,
    fault: Option<(u64, Fault)>,
) -> (Writing, JournaledEngine, Result<(), StorageError>) {
    let engine = world.create().unwrap();
    if let Some((operation, fault)) = fault {
        world.faults.set(operation, fault);
    }
    let mut writing = Writing::new();
    let result = writing.run(&engine, COMMITS, &mut Random::new(seed));
    (writing, engine, result)
}

/// The operations of a workload, without those of its creation.
fn operations_of(seed: u64) -> std::ops::RangeInclusive<u64> {
    let world = World::new();
    drop(world.create().unwrap());
    let created = world.faults.operations();
    let world = World::new();
    run(&world, seed, None).2.unwrap();
    created + 1..=world.faults.operations()
}

#[test]
fn no_power_cut_loses_or_tears_an_acknowledged_commit() {
    let mut states = 0;
    for seed in 0..22 {
        for operation in operations_of(seed) {
            let world = World::new();
            let (mut writing, engine, result) =
                run(&world, seed, Some((operation, Fault::Stopped)));
            assert!(result.is_err());
            drop(engine);
            let mut random = Random::new(seed * 10_000 + operation);
            world.cut_power(&mut random);
            let world = cut_recoveries(&world, &mut random);
            let context = format!("seed {seed}, operation {operation}");
            let engine = world.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            writing.check(&engine, &context);
            // The store goes on, and is right after a clean end too.
            writing.run(&engine, 5, &mut random).unwrap();
            writing.check(&engine, &context);
            // So does one that loses power soon after it was recovered.
            drop(engine);
            world.cut_power(&mut random);
            let engine = world.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            writing.check(&engine, &format!("{context}, again"));
            Box::new(engine).close().unwrap();
            writing.check(&world.open().unwrap(), &context);
            states += 1;
        }
    }
    assert!(states > 3_000, "{states} states");
}

/// Cuts the power during the next openings too.
fn cut_recoveries(world: &World, random: &mut Random) -> World {
    let mut world = world.duplicate();
    for _ in 0..random.below(3) {
        world.faults.set(1 + random.below(6), Fault::Stopped);
        let opened = world.open();
        drop(opened);
        world.cut_power(random);
        world = world.duplicate();
    }
    world
}

#[test]
fn a_power_cut_while_closing_loses_nothing() {
    for seed in 0..60 {
        let commits = 10 + u32::try_from(seed % 20).unwrap();
        for operation in 1.. {
            let world = World::new();
            let engine = world.create().unwrap();
            let mut writing = Writing::new();
            writing.run(&engine, commits, &mut Random::new(seed)).unwrap();
            world.faults.set(world.faults.operations() + operation, Fault::Stopped);
            let closed = Box::new(engine).close();
            let mut random = Random::new(seed * 100 + operation);
            world.cut_power(&mut random);
            let world = world.duplicate();
            let context = format!("seed {seed}, operation {operation}");
            let engine = world.open().unwrap_or_else(|error| panic!("{context}: {error}"));
            writing.check(&engine, &context);
            if closed.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_and_a_power_cut_takes_back_nothing_that_was_shown() {
    for seed in 100..106 {
        for operation in operations_of(seed) {
            for fault in [Fault::Stopped, Fault::Refused, Fault::Unreported] {
                let world = World::new();
                let (mut writing, engine, result) = run(&world, seed, Some((operation, fault)));
                let context = format!("seed {seed}, operation {operation}, {fault:?}");
                assert!(result.is_err(), "{context}");
                assert!(matches!(engine.get_many(&[ROOT]), Err(StorageError::Poisoned)));
                drop(engine);
                // The page cache is as it was, with what a failed sync has left in it.
                let faults = Faults::new();
                let world = World { disk: world.disk.duplicate(&faults), faults, ..world };
                let shown = world.open().unwrap_or_else(|error| panic!("{context}: {error}"));
                writing.check(&shown, &context);
                drop(shown);
                world.cut_power(&mut Random::new(operation));
                writing.check(&world.open().unwrap(), &context);
            }
        }
    }
}

#[test]
fn a_checkpoint_on_a_full_disk_uses_the_ballast_and_no_commit_notices() {
    let folder = tempfile::tempdir().unwrap();
    let (mut noticed, mut unnoticed) = (0, 0);
    for operation in operations_of(200) {
        let ballast = Ballast::of(folder.path());
        ballast.make().unwrap();
        let world = World::with_ballast(ballast);
        world.faults.set_error(|| StorageError::Full);
        let (mut writing, engine, result) = run(&world, 200, Some((operation, Fault::Refused)));
        let context = format!("operation {operation}");
        if result.is_ok() {
            unnoticed += 1;
            writing.check(&engine, &context);
        } else {
            // The journal itself, or a batch that bypasses it.
            noticed += 1;
        }
        drop(engine);
        writing.check(&world.open().unwrap(), &context);
    }
    assert!(unnoticed > 20, "{unnoticed} unnoticed, {noticed} noticed");
}

/// Regression: a ballast of which a block was missing was given to no checkpoint, so that on a full disk even deletions were refused.
#[test]
fn what_the_ballast_has_beyond_the_next_opening_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let ballast = Ballast::of(folder.path());
    ballast.make().unwrap();
    let whole = ballast.held();
    for (missing, given) in [(0, 3 << 19), (8 << 10, 3 << 19), (1 << 20, (1 << 19) + (64 << 10))] {
        ballast.keep(whole - missing);
        let held = ballast.held();
        assert_eq!(ballast.spare().map(|left| held - left), Some(given), "{missing}");
    }
    ballast.keep(5 << 19);
    assert_eq!(ballast.spare(), None);
}

/// Regression: every later read said that the disk is full, and so did every change that had to read.
#[test]
fn an_engine_that_meets_a_full_disk_while_it_reads_is_opened_again() {
    let world = World::new();
    world.faults.set_error(|| StorageError::Full);
    let first = world.create_engine().unwrap();
    let open = world.opener();
    let (faults, openings) = (world.faults.clone(), Arc::new(AtomicU32::new(0)));
    let opened = Arc::clone(&openings);
    let open_engine = Box::new(move |expected: &Expected<'_>| {
        faults.go_on();
        opened.fetch_add(1, Ordering::SeqCst);
        open(expected)
    });
    let (id, medium) = (JournalId([7; 16]), Box::new(world.disk.clone()));
    let engine = JournaledEngine::begin(id, medium, first, world.around(open_engine));
    let engine = engine.unwrap();
    let mut writing = Writing::new();
    writing.run(&engine, 20, &mut Random::new(500)).unwrap();
    let before = openings.load(Ordering::SeqCst);
    for number in 1..4 {
        world.faults.set_next(Fault::Stopped);
        world.faults.run(|| Ok(())).unwrap_err();
        assert!(matches!(engine.get_many(&[Address([0xEE; 32])]), Ok(values) if values == [None]));
        assert_eq!(openings.load(Ordering::SeqCst), before + number);
        writing.run(&engine, 20, &mut Random::new(500 + u64::from(number))).unwrap();
    }
    writing.check(&engine, "in use");
    drop(engine);
    writing.check(&world.open().unwrap(), "opened");
}

#[test]
fn nothing_that_the_engine_refuses_for_lack_of_room_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for operation in 1.. {
        let ballast = Ballast::of(folder.path());
        ballast.make().unwrap();
        let mut world = World::with_ballast(ballast);
        // Only the engine fails: the journal needs no room.
        world.disk = world.disk.duplicate(&Faults::new());
        world.faults.set_error(|| StorageError::Full);
        let engine = world.create().unwrap();
        let mut writing = Writing::new();
        let context = format!("operation {operation}");
        let mut random = Random::new(400 + operation);
        // The first commit of a generation has no journal yet, and the second syncs the engine before its entry.
        writing.run(&engine, 2, &mut random).unwrap();
        let refused = world.faults.operations() + operation;
        world.faults.set(refused, Fault::Refused);
        writing
            .run(&engine, COMMITS, &mut random)
            .unwrap_or_else(|error| panic!("{context}: {error}"));
        writing.check(&engine, &context);
        if world.faults.operations() < refused {
            assert!(operation > 30, "{context}");
            return;
        }
        drop(engine);
        writing.check(&world.open().unwrap(), &context);
    }
}

#[test]
fn without_a_ballast_a_full_disk_loses_nothing_either() {
    for seed in 300..303 {
        for operation in operations_of(seed) {
            let world = World::new();
            world.faults.set_error(|| StorageError::Full);
            let (mut writing, engine, _) = run(&world, seed, Some((operation, Fault::Refused)));
            drop(engine);
            writing.check(&world.open().unwrap(), &format!("seed {seed}, operation {operation}"));
        }
    }
}

/// A caller that applies under a lock waits before it takes that: for the entry of what is not synced, if both together are too large
/// for one.
#[test]
fn preparing_a_batch_checks_it_and_makes_room_for_it() {
    let world = World::new();
    let engine = world.create().unwrap();
    let mut random = Random::new(1);
    let mut writing = Writing::new();
    writing.run(&engine, 1, &mut random).unwrap();
    let root = writing.acknowledged.get(&ROOT).cloned();
    let batch = |root: Option<Vec<u8>>, first: u8| Batch {
        expect: Some((ROOT, root)),
        puts: (first..first + 20).map(|number| (Address([number; 32]), vec![number])).collect(),
        deletes: Vec::new(),
    };
    engine.apply(&batch(root.clone(), 100)).unwrap();
    let before = world.faults.operations();
    engine.prepare(&batch(root, 120)).unwrap();
    assert!(world.faults.operations() > before, "nothing is written");
    assert!(matches!(engine.prepare(&batch(None, 120)), Err(StorageError::Conflict)));
    assert_eq!(engine.group_records(), GROUP_RECORDS);
}

#[test]
fn on_a_full_disk_a_batch_is_refused_if_it_adds_records() {
    let world = World::new();
    let engine = world.create().unwrap();
    let mut writing = Writing::new();
    writing.run(&engine, 1, &mut Random::new(1)).unwrap();
    let root = writing.acknowledged.get(&ROOT).cloned();
    let address = |number: &u8| Address([*number; 32]);
    let batch = |puts: &[u8], deletes: &[u8]| Batch {
        expect: Some((ROOT, root.clone())),
        puts: puts.iter().map(|number| (address(number), vec![*number])).collect(),
        deletes: deletes.iter().map(address).collect(),
    };
    engine.apply(&batch(&[201, 202], &[])).unwrap();
    // While a checkpoint has a part of the ballast, the disk counts as full.
    let _loan = world.ballast.lend(0);
    let cases: [(&[u8], &[u8], bool); 6] = [
        (&[201], &[], false),
        (&[203], &[], true),
        (&[203], &[201], false),
        (&[203, 204], &[201], true),
        (&[203], &[209], true),
        (&[], &[201], false),
    ];
    for (puts, deletes, adds) in cases {
        let prepared = engine.prepare(&batch(puts, deletes));
        let is_expected =
            matches!((&prepared, adds), (Err(StorageError::Full), true) | (Ok(()), false));
        assert!(is_expected, "puts {puts:?}, deletes {deletes:?}: {prepared:?}");
    }
}
