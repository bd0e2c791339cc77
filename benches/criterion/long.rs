//! Long files: edits and views in their middle, and reading a whole file.

use std::time::{Duration, Instant};

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use inmost::{Session, SessionOptions, StorageEngine};
use inmost_benches::memory::Memory;
use inmost_benches::peer::Peer;
use inmost_benches::random::Random;
use inmost_benches::store;
use inmost_benches::trace::text_of;

use crate::{call, group, work};

const LONG: usize = 10 << 20;
const SHORT: usize = 10 << 10;
const PATH: &str = "/memories/journal.md";

pub(crate) fn rows(criterion: &mut Criterion) {
    let mut group = group(criterion, "long");
    for (name, bytes) in [("10-kib", SHORT), ("10-mib", LONG)] {
        let session = store::create(&work(name), StorageEngine::Sled).expect("a store");
        insert(&mut group, name, &session, &text_of(bytes, 4));
        view_range(&mut group, name, &session, &text_of(bytes, 4));
        session.lock();
    }
    read(&mut group);
    group.finish();
}

/// Inserts a line in the middle. When the file has grown by a twentieth, it is written again, untimed.
fn insert(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, session: &Session, text: &str) {
    let memory = Memory::of(session.clone());
    let middle = text.lines().count() / 2;
    let line = "- a line of sixty characters that is inserted in the middle\n";
    let json = serde_json::json!({
        "command": "insert", "path": PATH, "insert_line": middle, "insert_text": line,
    });
    let json = json.to_string();
    let write = || session.files().write(PATH, text).expect("a write");
    write();
    let mut grown = 0;
    group.bench_function(format!("insert-{name}"), |bencher| {
        bencher.iter_custom(|iterations| {
            let mut sum = Duration::ZERO;
            for _ in 0..iterations {
                if grown > text.len() / 20 {
                    write();
                    grown = 0;
                }
                grown += line.len();
                let start = Instant::now();
                call(&memory, &json);
                sum += start.elapsed();
            }
            sum
        });
    });
}

fn view_range(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, session: &Session, text: &str) {
    let memory = Memory::of(session.clone());
    session.files().write(PATH, text).expect("a write");
    let first = text.lines().count() / 4;
    let json =
        serde_json::json!({"command": "view", "path": PATH, "view_range": [first, first + 99]});
    let json = json.to_string();
    group.bench_function(format!("view-range-{name}"), |bencher| {
        bencher.iter(|| memory.call(&json).expect("a result"));
    });
}

/// Reads 10 MiB with the default cache and with a very small one, and opens as many buffers of 4 KiB with the
/// bare AEAD.
fn read(group: &mut BenchmarkGroup<'_, WallTime>) {
    let path = work("read");
    let session = store::create(&path, StorageEngine::Sled).expect("a store");
    session.files().write(PATH, &text_of(LONG, 6)).expect("a write");
    session.lock();
    drop(session);
    bare_aead(group);
    let few = SessionOptions::new().max_cache_bytes(64 << 10);
    for (name, options) in [("read-without-cache", few), ("read", SessionOptions::new())] {
        let session = store::open(&path, options).expect("the store");
        let files = session.files();
        group.bench_function(name, |bencher| {
            bencher.iter(|| files.read(PATH).expect("the file"));
        });
        session.lock();
    }
}

fn bare_aead(group: &mut BenchmarkGroup<'_, WallTime>) {
    let cipher = XChaCha20Poly1305::new(&[3; 32].into());
    let aad = [5; 64];
    let nonce = |index: usize| -> XNonce {
        let mut nonce = [0; 24];
        nonce[..8].copy_from_slice(&(index as u64).to_le_bytes());
        nonce.into()
    };
    let sealed: Vec<(Vec<u8>, Tag)> = (0..LONG / 4_096)
        .map(|index| {
            let mut buffer = Random::new(index as u64).bytes(4_096);
            let tag =
                cipher.encrypt_inout_detached(&nonce(index), &aad, buffer.as_mut_slice().into());
            (buffer, tag.expect("a short message"))
        })
        .collect();
    let mut buffer = vec![0; 4_096];
    group.bench_function("bare-aead", |bencher| {
        bencher.iter(|| {
            for (index, (ciphertext, tag)) in sealed.iter().enumerate() {
                // Opening works in place, and the ciphertext is needed again. An engine would copy it too.
                buffer.copy_from_slice(ciphertext);
                let opened = cipher.decrypt_inout_detached(
                    &nonce(index),
                    &aad,
                    buffer.as_mut_slice().into(),
                    tag,
                );
                opened.expect("the sealed plaintext");
                std::hint::black_box(&buffer);
            }
        });
    });
}
