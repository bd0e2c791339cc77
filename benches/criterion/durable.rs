//! Durable changes: every timed call returns when its bytes are on the disk.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use inmost_benches::bare_sled::BareSled;
use inmost_benches::peer::Peer;
use inmost_benches::peers::Kind;
use inmost_benches::random::Random;
use inmost_benches::trace::text_of;

use crate::{call, create, edits, group, work};

const THREADS: usize = 8;

pub(crate) fn rows(criterion: &mut Criterion) {
    let mut group = group(criterion, "edit");
    // The append is timed before and after the rest. If the two differ, the speed of the disk changed.
    append(&mut group, "append-before");
    for kind in Kind::ALL.iter().copied().filter(|kind| *kind != Kind::BareSled) {
        for depth in [1, 3] {
            let name = format!("{}-depth-{depth}", kind.name());
            let peer = kind.begin(&work(&format!("edit-{name}"))).expect("a peer");
            edit(&mut group, &name, &*peer, depth);
        }
    }
    bare_sled(&mut group);
    for kind in [Kind::Inmost, Kind::InmostRedb] {
        together(&mut group, kind);
    }
    append(&mut group, "append-after");
    group.finish();
}

fn append(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    let path = work(name);
    let mut file = File::create(&path).expect("a file");
    let block = Random::new(1).bytes(4_096);
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            file.write_all(&block).expect("room");
            file.sync_data().expect("a sync");
        });
    });
    fs::remove_file(path).expect("the file");
}

fn edit(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, peer: &dyn Peer, depth: usize) {
    let folder = ["/memories", "/project", "/notes"][..depth].concat();
    fill(peer, &folder);
    let edits = edits(&format!("{folder}/today.md"));
    let mut turn = edits.iter().cycle();
    group.bench_function(name, |bencher| {
        bencher.iter(|| call(peer, turn.next().expect("a cycle")));
    });
}

/// Creates a file of 2 KiB among 20 others, and 20 others in every folder above it.
fn fill(peer: &dyn Peer, folder: &str) {
    let mut path = String::new();
    for segment in folder.split_inclusive('/') {
        path.push_str(segment);
        if path.len() > 1 {
            let folder = path.trim_end_matches('/');
            for number in 0..20 {
                create(peer, &format!("{folder}/other-{number}.md"), &text_of(2_000, number));
            }
        }
    }
    create(peer, &format!("{folder}/today.md"), &(text_of(2_000, 99) + "colour: green\n"));
}

fn bare_sled(group: &mut BenchmarkGroup<'_, WallTime>) {
    let sled = BareSled::begin(&work("edit-bare-sled")).expect("sled");
    group.bench_function("bare-sled-batch", |bencher| {
        bencher.iter(|| sled.change("/memories/project/notes/today.md", 2_000).expect("a change"));
    });
}

/// Eight threads, each with its own file. The time of one edit is the total time divided by the number of
/// edits.
fn together(group: &mut BenchmarkGroup<'_, WallTime>, kind: Kind) {
    let name = format!("{}-{THREADS}-threads", kind.name());
    let peer = kind.begin(&work(&format!("edit-{name}"))).expect("a peer");
    fill(&*peer, "/memories");
    for thread in 0..THREADS {
        create(&*peer, &path(thread), &(text_of(2_000, 7) + "colour: green\n"));
    }
    group.bench_function(name, |bencher| {
        // An even number of edits restores the files.
        bencher.iter_custom(|iterations| {
            let rounds = iterations.next_multiple_of(2);
            let edits = u32::try_from(rounds * THREADS as u64).expect("few enough edits");
            all_threads(&*peer, rounds) / edits
                * u32::try_from(iterations).expect("few enough iterations")
        });
    });
}

fn all_threads(peer: &dyn Peer, edits_each: u64) -> Duration {
    let barrier = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let barrier = &barrier;
            scope.spawn(move || {
                let edits = edits(&path(thread));
                barrier.wait();
                for (_, edit) in (0..edits_each).zip(edits.iter().cycle()) {
                    call(peer, edit);
                }
                barrier.wait();
            });
        }
        barrier.wait();
        let start = Instant::now();
        barrier.wait();
        start.elapsed()
    })
}

fn path(thread: usize) -> String {
    format!("/memories/of-thread-{thread}.md")
}
