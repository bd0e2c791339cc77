//! Tests of the memory that sled's page cache takes. Linux only, because they read it from `/proc`.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::SledEngine;
use inmost_storage::{Address, Batch, Engine};

const RECORDS: u64 = 60_000;

/// The addresses are spread like those of a store, whose addresses are hashes.
fn address(number: u64) -> Address {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    Address(bytes)
}

fn largest_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// The child process of the next test. Does nothing in a normal test run.
#[test]
fn child_reads_every_record() {
    let Some(folder) = env::var_os("INMOST_TEST_EVICTION") else { return };
    let before = largest_kib();
    let engine = super::open(Path::new(&folder)).unwrap();
    for number in 0..RECORDS {
        assert!(engine.get_many(&[address(number)]).unwrap()[0].is_some());
    }
    let added = (largest_kib() - before) >> 10;
    assert!(added < 90, "{added} MiB");
}

#[test]
#[ignore = "writes 250 MiB"]
fn a_large_store_read_at_random_stays_near_the_capacity() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("generation");
    let engine = SledEngine::create(&folder).unwrap();
    for first in (0..RECORDS).step_by(25) {
        let puts = (first..first + 25).map(|number| (address(number), vec![7; 2_089]));
        engine.apply(&Batch { puts: puts.collect(), ..Batch::default() }).unwrap();
        engine.sync().unwrap();
    }
    Box::new(engine).close().unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tests::eviction::child_reads_every_record"])
        .env("INMOST_TEST_EVICTION", &folder)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}
