//! Views and listings, warm: Criterion's warm-up has repeated the same call many times.

use criterion::Criterion;
use inmost::SessionOptions;
use inmost_benches::calls::{create, view};
use inmost_benches::memory::Memory;
use inmost_benches::peers::Kind;
use inmost_benches::store;
use inmost_benches::trace::text_of;

use crate::{call, filled, group, work};

pub(crate) fn rows(criterion: &mut Criterion) {
    files(criterion);
    listings(criterion);
}

fn files(criterion: &mut Criterion) {
    let mut group = group(criterion, "view");
    for kind in Kind::ALL.iter().copied().filter(|kind| *kind != Kind::BareSled) {
        let peer = kind.begin(&work(&format!("view-{}", kind.name()))).expect("a peer");
        let path = "/memories/project/notes/today.md";
        create(&*peer, path, &text_of(2_000, 5)).expect("a file");
        let view = view(path);
        group.bench_function(kind.name(), |bencher| bencher.iter(|| call(&*peer, &view)));
    }
    group.finish();
}

fn listings(criterion: &mut Criterion) {
    let mut group = group(criterion, "list");
    for kind in Kind::ALL.iter().copied().filter(|kind| *kind != Kind::BareSled) {
        let peer = kind.begin(&work(&format!("list-{}", kind.name()))).expect("a peer");
        for number in 0..100 {
            create(&*peer, &store::path_of(number), &text_of(1_000, 1)).expect("a file");
        }
        let view = view(&store::folder_of(0));
        group.bench_function(kind.name(), |bencher| bencher.iter(|| call(&*peer, &view)));
    }
    for (files, path) in filled() {
        let session = store::open(&path, SessionOptions::new()).expect("a filled store");
        let memory = Memory::of(session.clone());
        // A folder in the middle of the store.
        let view = view(&store::folder_of(files / 2));
        group.bench_function(format!("inmost-among-{files}"), |bencher| {
            bencher.iter(|| call(&memory, &view));
        });
        session.lock();
    }
    group.finish();
}
