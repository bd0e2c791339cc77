//! Crashes after crashes: what one opening leaves is right for the next one.

use super::*;
use crate::faulty::Fault;
use crate::local::journal::medium::Medium;

#[test]
fn no_series_of_crashes_loses_or_tears_an_acknowledged_commit() {
    for seed in 0..400 {
        let mut random = Random::new(70_000 + seed);
        let mut world = World::new();
        let mut writing = Writing::new();
        drop(world.create().unwrap());
        for crash in 0..12 {
            let context = format!("seed {seed}, crash {crash}");
            world.faults.set(world.faults.operations() + 1 + random.below(30), Fault::Stopped);
            match world.open() {
                Err(StorageError::Corrupt(what) | StorageError::Damaged(what)) => {
                    panic!("{context}: {what}")
                }
                Err(_) => {}
                Ok(engine) => {
                    writing.check(&engine, &context);
                    let commits = u32::try_from(random.below(12)).unwrap();
                    let ended = writing.run(&engine, commits, &mut random);
                    if ended.is_ok() && random.below(2) == 0 {
                        let _ = Box::new(engine).close();
                    }
                }
            }
            if random.below(3) > 0 {
                world.cut_power(&mut random);
            }
            world = world.duplicate();
        }
        writing.check(&world.open().unwrap(), &format!("seed {seed}"));
    }
}

/// A batch that replaces the root.
fn small(state: &Records, value: &[u8]) -> Batch {
    let expect = Some((ROOT, state.get(&ROOT).cloned()));
    Batch { expect, puts: vec![(ROOT, value.to_vec())], ..Batch::default() }
}

/// A batch with too many records for an entry.
fn large(state: &Records) -> Batch {
    let mut batch = small(state, b"large");
    batch.puts.extend((1..=24).map(|byte| (Address([byte; 32]), vec![byte; 9])));
    batch
}

/// A journal that nothing but crashes has ended, with two commits.
fn begun() -> (World, Writing) {
    let world = World::new();
    let mut writing = Writing::new();
    let engine = world.create().unwrap();
    for value in [b"one", b"two"] {
        let batch = small(&writing.acknowledged, value);
        writing.commit(&engine, &batch).unwrap();
    }
    (world, writing)
}

/// The crash came between the mark in the engine and the slot in the journal. The next commits were appended to the epoch
/// that the mark names, and the opening after that took the mark's word for it that the engine has them.
#[test]
fn a_commit_after_a_crash_between_mark_and_slot_is_found() {
    let (world, mut writing) = begun();
    let mark = |world: &World| world.memory.with_records(1, |records| records[&MARK].clone());
    let before = mark(&world);
    let crashed = (1..20).find_map(|operation| {
        let world = world.duplicate();
        let engine = world.open().unwrap();
        world.faults.set(world.faults.operations() + operation, Fault::Stopped);
        Box::new(engine).close().unwrap_err();
        let slot = world.disk.tamper(|bytes| layout::newest_slot(bytes, &Known).unwrap().1);
        (mark(&world) != before && slot.stored.epoch == 0).then_some(world)
    });
    let world = crashed.unwrap().duplicate();
    let engine = world.open().unwrap();
    let batch = small(&writing.acknowledged, b"three");
    writing.commit(&engine, &batch).unwrap();
    drop(engine);
    writing.check(&world.open().unwrap(), "after the second crash");
}

/// The header of a torn entry stays in the journal. It named fewer batches beside the journal than the mark, when the next
/// commit was one, and the opening after that took the store for one of two days.
#[test]
fn a_torn_entry_before_a_batch_that_bypasses_the_journal_is_no_damage() {
    let (world, mut writing) = begun();
    Box::new(world.open().unwrap()).close().unwrap();
    let engine = world.open().unwrap();
    let batch = small(&writing.acknowledged, b"torn");
    writing.commit(&engine, &batch).unwrap();
    drop(engine);
    let half = layout::SLOTS_BYTES;
    world.disk.tamper(|bytes| bytes[half + 128] ^= 1);
    writing.acknowledged = {
        let engine = world.open().unwrap();
        let found: Records = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
        assert_eq!(found[&ROOT], b"two");
        let mut writing = Writing { acknowledged: found, under_way: None };
        let batch = large(&writing.acknowledged);
        writing.commit(&engine, &batch).unwrap();
        engine.verify().unwrap();
        writing.acknowledged
    };
    writing.check(&world.open().unwrap(), "after the batch");
}

/// On a full disk, the epoch that waits for its checkpoint is the last one in the journal, and the next one has no entry.
#[test]
fn an_open_journal_that_waits_for_room_is_not_damaged() {
    let (world, mut writing) = begun();
    let engine = world.open().unwrap();
    world.faults.set_error(|| StorageError::Full);
    // The third change is the first one of the engine, after those of the slot.
    world.faults.set(world.faults.operations() + 3, Fault::Refused);
    let drained = engine.shared.drain(&mut lock(&engine.shared.writer));
    assert!(matches!(drained, Err(StorageError::Full)));
    writing.check(&engine, "waiting");
    drop(engine);
    writing.check(&world.open().unwrap(), "opened again");
}

/// The records of a new generation go to the engine, and the first commit on them to the journal.
#[test]
fn the_first_entry_is_not_durable_before_the_records_under_it() {
    let world = World::new();
    let engine = world.create().unwrap();
    let filling = Batch { expect: Some((ROOT, None)), ..large(&Records::new()) };
    engine.apply(&filling).unwrap();
    let filled: Records = filling.puts.into_iter().collect();
    engine.apply(&small(&filled, b"new")).unwrap();
    engine.sync().unwrap();
    drop(engine);
    world.memory.crash();
    let engine = world.open().unwrap();
    assert_eq!(engine.scan(None, 99).unwrap().len(), 25);
}

/// Only the first says that no file has changed.
#[test]
fn damage_that_an_open_engine_meets_is_told_from_damage_that_kept_it_closed() {
    let world = World::new();
    drop(world.create().unwrap());
    let closed = world.duplicate();
    for slot in [0, layout::BLOCK] {
        closed.disk.write_at(slot, &[0xFF; 64]).unwrap();
    }
    assert!(matches!(closed.open(), Err(StorageError::Damaged(_))));

    let engine = world.memory.open_generation(1, EngineKind::Memory).unwrap();
    engine.apply(&Batch { deletes: vec![layout::MARK], ..Batch::default() }).unwrap();
    engine.close().unwrap();
    let error = world.open().err();
    assert!(matches!(error, Some(StorageError::Corrupt(_))), "{error:?}");
}

/// A full disk stops a checkpoint, and the engine with it. A call that read meanwhile ended the session.
#[test]
fn a_read_waits_for_the_engine_that_a_checkpoint_opens_again() {
    let (world, mut writing) = begun();
    let engine = world.open().unwrap();
    engine.shared.drain(&mut lock(&engine.shared.writer)).unwrap();
    world.faults.set_error(|| StorageError::Full);
    world.faults.set(world.faults.operations() + 1, Fault::Refused);
    let turn = lock(&engine.shared.checkpointer);
    let batch = small(&writing.acknowledged, b"refused");
    let refused = engine.shared.with_engine(|engine| engine.apply(&batch));
    assert!(matches!(refused, Err(StorageError::Full)));
    let read = engine.shared.with_engine(|engine| engine.get_many(&[ROOT]));
    assert!(matches!(read, Err(StorageError::Poisoned)));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| engine.get_many(&[ROOT]));
        std::thread::sleep(std::time::Duration::from_millis(50));
        engine.shared.reopen().unwrap();
        drop(turn);
        assert_eq!(reader.join().unwrap().unwrap(), [Some(b"two".to_vec())]);
    });
    writing.check(&engine, "opened again");
}

/// Runs `work` while another thread has the turn to write to the engine. Returns whether it did not wait for that.
fn goes_on_without_the_engine(engine: &JournaledEngine, work: impl FnOnce() + Send) -> bool {
    let turn = lock(&engine.shared.checkpointer);
    let (sender, finished) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            work();
            sender.send(()).unwrap();
        });
        let in_time = finished.recv_timeout(Duration::from_secs(60)).is_ok();
        drop(turn);
        in_time
    })
}

/// Opening the engine again takes milliseconds, and a half that is full needs nothing from it once its checkpoint is done.
#[test]
fn a_commit_does_not_wait_for_the_engine_that_is_opened_again() {
    let (world, mut writing) = begun();
    let engine = world.open().unwrap();
    let before = lock(&engine.shared.writer).position.epoch;
    assert!(goes_on_without_the_engine(&engine, || {
        while lock(&engine.shared.writer).position.epoch == before {
            let batch = small(&writing.acknowledged, &[7; 3_000]);
            writing.commit(&engine, &batch).unwrap();
        }
    }));
    writing.check(&engine, "in the next epoch");
}

#[test]
fn a_commit_does_not_wait_for_the_checkpoint_after_a_pause() {
    let (world, mut writing) = begun();
    let engine = world.open().unwrap();
    std::thread::scope(|scope| {
        assert!(goes_on_without_the_engine(&engine, || {
            scope.spawn(|| engine.shared.settle().unwrap());
            while read(&engine.shared.layers).frozen.is_none() {
                std::thread::yield_now();
            }
            let batch = small(&writing.acknowledged, b"meanwhile");
            writing.commit(&engine, &batch).unwrap();
        }));
    });
    writing.check(&engine, "after the pause");
}

/// A caller that reads around damage took the reason for that, and the next call had none to return.
#[test]
fn a_read_after_a_failed_checkpoint_returns_its_reason_as_that_of_a_write() {
    let (world, _) = begun();
    let engine = world.open().unwrap();
    world.faults.set_error(|| StorageError::Io(std::io::Error::other("why")));
    world.faults.set(world.faults.operations() + 1, Fault::Refused);
    assert!(matches!(engine.shared.settle(), Err(StorageError::Poisoned)));
    match engine.get_many(&[ROOT]) {
        Err(StorageError::WriteFailed(reason)) => {
            assert!(matches!(*reason, StorageError::Io(_)), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(engine.sync(), Err(StorageError::Poisoned)));
}

/// The engine is closed and opened again only to renew sled's index. That the system had no descriptor left at that moment ended
/// the session.
#[test]
fn a_short_lack_of_descriptors_does_not_end_the_journal() {
    let (world, mut writing) = begun();
    let openings = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let (storage, counted) = (world.memory.clone(), Arc::clone(&openings));
    let opener: OpenEngine =
        Box::new(move |_| match counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            1..=3 => Err(std::io::Error::from_raw_os_error(24).into()),
            _ => Ok(Box::new(storage.open_engine(1)?)),
        });
    let medium = Box::new(world.disk.clone());
    let engine = JournaledEngine::resume(medium, world.around(opener)).unwrap();
    engine.shared.reopen().unwrap();
    assert_eq!(openings.load(std::sync::atomic::Ordering::SeqCst), 5);
    let batch = small(&writing.acknowledged, b"later");
    writing.commit(&engine, &batch).unwrap();
    writing.check(&engine, "opened again");
}
