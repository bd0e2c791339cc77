//! What an opening accepts and refuses.

use super::*;

fn written(commits: u32) -> (World, Writing) {
    let world = World::new();
    let mut writing = Writing::new();
    let engine = world.create().unwrap();
    writing.run(&engine, commits, &mut Random::new(9)).unwrap();
    drop(engine);
    (world, writing)
}

impl World {
    /// These records behind the journal of another world.
    fn with_disk(&self, other: &Self) -> Self {
        Self { memory: self.memory.duplicate(), ..other.duplicate() }
    }
}

fn refusal(world: &World) -> String {
    match world.open() {
        Err(StorageError::Corrupt(what) | StorageError::Damaged(what)) => what,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("opened"),
    }
}

#[test]
fn a_closed_journal_holds_nothing() {
    let (world, mut writing) = written(30);
    let used = |world: &World| {
        world.disk.tamper(|bytes| bytes[layout::SLOTS_BYTES..].iter().any(|byte| *byte != 0))
    };
    assert!(used(&world));
    Box::new(world.open().unwrap()).close().unwrap();
    assert!(!used(&world));
    writing.check(&world.open().unwrap(), "closed");
}

#[test]
fn a_damaged_byte_is_refused_or_changes_nothing() {
    let (mut refused, mut rolled_back, mut harmless) = (0, 0, 0);
    let worlds = [26, 28, 29, 30].map(written);
    let length = worlds[0].0.disk.tamper(|bytes| bytes.len());
    for (at, (world, writing)) in (0..length).step_by(23).zip(worlds.iter().cycle()) {
        let world = world.duplicate();
        world.disk.tamper(|bytes| bytes[at] ^= 0x10);
        match world.open() {
            Err(StorageError::Corrupt(_) | StorageError::Damaged(_)) => refused += 1,
            Err(error) => panic!("{error}"),
            Ok(engine) => {
                let found: Records = engine.scan(None, usize::MAX).unwrap().into_iter().collect();
                if found == writing.acknowledged {
                    harmless += 1;
                } else {
                    // The last entry, which could be torn as well: the anchor tells.
                    assert_ne!(found.get(&ROOT), writing.acknowledged.get(&ROOT), "at {at}");
                    rolled_back += 1;
                }
            }
        }
    }
    assert!(refused > 0 && rolled_back > 0 && harmless > 0, "{refused} {rolled_back} {harmless}");
}

/// Anybody can compute the checksum of a slot, so a right one with a wrong MAC is no torn write.
#[test]
fn a_slot_that_was_forged_is_refused_even_beside_a_sound_one() {
    let (world, _) = written(30);
    for at in [0, layout::BLOCK] {
        let forge = |change: &dyn Fn(&mut [u8])| {
            let world = world.duplicate();
            world.disk.tamper(|bytes| {
                change(bytes);
                let slot = &mut bytes[at..][..layout::BLOCK];
                let checksum = crc32fast::hash(&slot[..layout::BLOCK - 4]).to_le_bytes();
                slot[layout::BLOCK - 4..].copy_from_slice(&checksum);
            });
            refusal(&world)
        };
        // Epoch, number, frontier, proof, revision, MAC.
        for field in [32, 40, 56, 64, 88, 96, 127] {
            assert_eq!(forge(&|bytes| bytes[at + field] ^= 1), FORGED, "{at}, {field}");
        }
        let moved = forge(&|bytes| {
            let other = bytes[layout::BLOCK - at..][..layout::BLOCK].to_vec();
            bytes[at..][..layout::BLOCK].copy_from_slice(&other);
        });
        assert_eq!(moved, FORGED, "the other slot at {at}");
    }
}

const FORGED: &str = "a slot of the journal was written without the keys of the store";

#[test]
fn each_slot_alone_is_enough() {
    for commits in [3, 12, 25, 30, 37] {
        let (world, mut writing) = written(commits);
        for slot in [0, 1] {
            let world = world.duplicate();
            world.disk.tamper(|bytes| bytes[slot * layout::BLOCK + 20] ^= 1);
            match world.open() {
                // Only the newest slot knew that the half it names was free.
                Err(error) => panic!("{commits} commits, slot {slot}: {error}"),
                Ok(engine) => {
                    writing.check(&engine, "one slot");
                    Box::new(engine).close().unwrap();
                    writing.check(&world.open().unwrap(), "one slot, closed");
                }
            }
        }
        world.disk.tamper(|bytes| {
            bytes[20] ^= 1;
            bytes[layout::BLOCK + 20] ^= 1;
        });
        assert_eq!(refusal(&world), "both slots of the journal are damaged");
    }
}

#[test]
fn journal_and_engine_of_different_days_are_refused() {
    let (old, _) = written(10);
    let (new, mut writing) = written(10);
    let engine = new.open().unwrap();
    writing.run(&engine, 60, &mut Random::new(10)).unwrap();
    drop(engine);
    let old_journal = new.with_disk(&old);
    assert_eq!(refusal(&old_journal), replay::OLDER_JOURNAL);
    let old_engine = old.with_disk(&new);
    assert_eq!(refusal(&old_engine), replay::OLDER_ENGINE);
    let other = World::new();
    let faults = Faults::new();
    let stored = layout::Position::default();
    let blank = medium::blank(JournalId([8; 16]), SMALL.half_blocks, stored, &Known);
    drop(other.create().unwrap());
    let foreign = World { disk: Disk::new(blank, &faults), faults, ..other };
    assert_eq!(refusal(&foreign), "the engine's records belong to another journal");
}

#[test]
fn an_engine_that_lost_a_batch_that_bypassed_the_journal_is_refused() {
    let world = World::new();
    let mut writing = Writing::new();
    let mut random = Random::new(3);
    let engine = world.create().unwrap();
    let large = |random: &mut Random, state: &Records| loop {
        let batch = random.batch(state);
        if batch.puts.len() > 12 {
            break batch;
        }
    };
    writing.run(&engine, 1, &mut random).unwrap();
    let batch = random.batch(&writing.acknowledged);
    writing.commit(&engine, &batch).unwrap();
    let before = world.memory.duplicate();
    let batch = large(&mut random, &writing.acknowledged);
    writing.commit(&engine, &batch).unwrap();
    let drained = world.memory.duplicate();
    let mark = |memory: &MemoryStorage| memory.with_records(1, |records| records[&MARK].clone());
    assert_ne!(mark(&before), mark(&drained));
    let batch = large(&mut random, &writing.acknowledged);
    writing.commit(&engine, &batch).unwrap();
    let small = Batch {
        expect: Some((ROOT, writing.acknowledged.get(&ROOT).cloned())),
        puts: vec![(ROOT, b"small".to_vec())],
        ..Batch::default()
    };
    writing.commit(&engine, &small).unwrap();
    drop(engine);
    let lost = World { memory: drained, ..world.duplicate() };
    assert_eq!(refusal(&lost), replay::OLDER_ENGINE);
    writing.check(&world.open().unwrap(), "nothing lost");
}

#[test]
fn verifying_finds_what_changed_behind_an_open_journal() {
    let (world, writing) = written(30);
    let engine = world.open().unwrap();
    engine.verify().unwrap();
    let (slots, entries) = ((0..2 * layout::BLOCK).step_by(311), (2 * layout::BLOCK..).step_by(97));
    let length = world.disk.tamper(|bytes| bytes.len());
    let mut found = 0;
    for at in slots.chain(entries.take_while(|at| *at < length)) {
        world.disk.tamper(|bytes| bytes[at] ^= 4);
        match engine.verify() {
            Err(StorageError::Corrupt(_) | StorageError::Damaged(_)) => found += 1,
            verified => verified.unwrap(),
        }
        world.disk.tamper(|bytes| bytes[at] ^= 4);
    }
    assert!(found > 20, "{found}");
    assert_eq!(all_in_pages(&engine, 7), writing.acknowledged);
}
