//! What it costs to open a store, change it once and close it. Printed, not judged: `cargo test --release -p
//! inmost-engine-tests --test folder cost -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use super::*;

fn key(number: u32) -> Address {
    // Spread like the keyed hashes of real addresses.
    let mixed = (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut address = [9; 32];
    address[..8].copy_from_slice(&mixed.to_be_bytes());
    Address(address)
}

fn batch(numbers: impl Iterator<Item = u32>, bytes: usize) -> Batch {
    let puts = numbers.map(|number| (key(number), number.to_le_bytes().repeat(bytes / 4)));
    Batch { puts: puts.collect(), ..Batch::default() }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
#[ignore = "prints times"]
fn cost_of_opening_changing_and_closing() {
    for records in [100, 100_000_u32] {
        let (_parent, path) = parent_and_path();
        let storage = LocalStorage::create(&path, LOCAL).unwrap();
        let start = Instant::now();
        let engine = storage.create_generation(1, EngineKind::Sled).unwrap();
        for first in (0..records).step_by(50) {
            engine.apply(&batch(first..records.min(first + 50), 2_000)).unwrap();
            engine.sync().unwrap();
        }
        let filled = start.elapsed();
        let start = Instant::now();
        engine.close().unwrap();
        println!("{records} records: filled in {filled:?}, closed in {:?}", start.elapsed());
        storage.write_header(HeaderCopy::A, b"header a").unwrap();
        drop(storage.publish().unwrap());
        let mut times = [const { Vec::new() }; 3];
        let mut rounds = Vec::new();
        for round in 0..41 {
            let mut step = Instant::now();
            let mut next = |index: usize| {
                times[index].push(step.elapsed());
                step = Instant::now();
            };
            let storage = LocalStorage::open(&path, LOCAL).unwrap();
            let engine = storage.open_generation(1, EngineKind::Sled).unwrap();
            next(0);
            let numbers = (0..5).map(|each| (round * 7_919 + each * 104_729) % records);
            engine.apply(&batch(numbers, 1_000)).unwrap();
            engine.sync().unwrap();
            next(1);
            engine.close().unwrap();
            next(2);
            rounds.push(times.iter().filter_map(|times| times.last()).sum());
        }
        let longest: Duration = *rounds.iter().max().unwrap();
        let [open, edit, close] = times.map(median);
        println!(
            "{records} records: open {open:?}, edit {edit:?}, close {close:?}; together {:?}, at most {longest:?}",
            median(rounds)
        );
    }
}
