//! Durable changes: every timed call returns when its bytes are on the disk.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use inmost_benches::bare_sled::BareSled;
use inmost_benches::calls::{create_edited, edits, fill};
use inmost_benches::overwrite::Overwrite;
use inmost_benches::peer::Peer;
use inmost_benches::peers::Kind;
use inmost_benches::random::Random;

use crate::{call, group, work};

const THREADS: usize = 8;

pub(crate) fn rows(criterion: &mut Criterion) {
    let mut group = group(criterion, "edit");
    // The references are timed before and after the rest. If the two differ, the speed of the disk changed.
    references(&mut group, "before");
    for kind in Kind::ALL.iter().copied().filter(|kind| *kind != Kind::BareSled) {
        for depth in [1, 3] {
            let name = format!("{}-depth-{depth}", kind.name());
            let peer = kind.begin(&work(&format!("edit-{name}"))).expect("a peer");
            edit(&mut group, &name, &*peer, depth);
        }
    }
    bare_sled(&mut group);
    for kind in ["inmost", "inmost-redb", "sqlcipher"].into_iter().filter_map(Kind::named) {
        let name = format!("{}-{THREADS}-threads", kind.name());
        let peers = kind.begin_shared(&work(&format!("edit-{name}")), THREADS).expect("a peer");
        together(&mut group, &name, &peers);
    }
    if let Some(kind) = Kind::named("sqlcipher") {
        let name = format!("{}-{THREADS}-threads-one-connection", kind.name());
        let peer = kind.begin(&work(&format!("edit-{name}"))).expect("a peer");
        together(&mut group, &name, &[peer]);
    }
    references(&mut group, "after");
    group.finish();
}

fn references(group: &mut BenchmarkGroup<'_, WallTime>, when: &str) {
    overwrite(group, &format!("overwrite-{when}"));
    append(group, &format!("append-{when}"));
}

fn overwrite(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    let path = work(name);
    let mut file = Overwrite::begin(&path).expect("a file");
    group.bench_function(name, |bencher| bencher.iter(|| file.write_next().expect("a sync")));
    fs::remove_file(path).expect("the file");
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
    let edits = edits(&fill(peer, depth).expect("files"));
    let mut turn = edits.iter().cycle();
    group.bench_function(name, |bencher| {
        bencher.iter(|| call(peer, turn.next().expect("a cycle")));
    });
}

fn bare_sled(group: &mut BenchmarkGroup<'_, WallTime>) {
    let sled = BareSled::begin(&work("edit-bare-sled")).expect("sled");
    group.bench_function("bare-sled-batch", |bencher| {
        bencher.iter(|| sled.change("/memories/project/notes/today.md", 2_000).expect("a change"));
    });
}

/// Eight threads, each with its own file. They take one of the peers each, or share the only one. The time of
/// one edit is the total time divided by the number of edits.
fn together(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, peers: &[Box<dyn Peer>]) {
    let first = peers.first().expect("a peer");
    fill(&**first, 1).expect("files");
    for thread in 0..THREADS {
        create_edited(&**first, &path(thread)).expect("a file");
    }
    group.bench_function(name, |bencher| {
        // An even number of edits restores the files.
        bencher.iter_custom(|iterations| {
            let rounds = iterations.next_multiple_of(2);
            let edits = u32::try_from(rounds * THREADS as u64).expect("few enough edits");
            all_threads(peers, rounds) / edits
                * u32::try_from(iterations).expect("few enough iterations")
        });
    });
}

fn all_threads(peers: &[Box<dyn Peer>], edits_each: u64) -> Duration {
    let barrier = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for (thread, peer) in (0..THREADS).zip(peers.iter().cycle()) {
            let barrier = &barrier;
            scope.spawn(move || {
                let edits = edits(&path(thread));
                barrier.wait();
                for (_, edit) in (0..edits_each).zip(edits.iter().cycle()) {
                    call(&**peer, edit);
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
