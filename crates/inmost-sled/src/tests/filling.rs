//! Tests of filling a new generation.

use super::log_check::{memory, open_at};
use super::*;

#[test]
fn a_filled_log_is_little_longer_than_its_records() {
    let parent = memory();
    let folder = parent.path().join("generation");
    let engine = SledEngine::create(&folder).unwrap();
    let records = puts((0..8_000).map(|number| (number, vec![7; 1_000]))).puts;
    for page in records.chunks(limits::BATCH_RECORDS_MAX) {
        engine.fill(page).unwrap();
    }
    engine.sync().unwrap();
    let frontier = engine.frontier();
    Box::new(engine).close().unwrap();
    let length = fs::metadata(folder.join(repair::LOG)).unwrap().len();
    let live = 8_000 * (32 + 1_000);
    assert!(length < live * 3 / 2 + 2 * log::SEGMENT, "{length} bytes for {live}");
    let engine = open_at(&folder, frontier).unwrap();
    assert_eq!(engine.scan(None, usize::MAX).unwrap(), records);
}
