//! Tests of logs with holes. They prove nothing on a file system without holes, so they check that holes
//! exist.

use std::os::unix::fs::MetadataExt;

use super::*;

fn lengthen(folder: &Path, by: u64) -> u64 {
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    let length = log.metadata().unwrap().len() + by;
    log.set_len(length).unwrap();
    assert!(on_disk(folder) < length, "this file system does not support holes");
    length
}

/// Returns the bytes that the log occupies on disk.
fn on_disk(folder: &Path) -> u64 {
    fs::metadata(folder.join(repair::LOG)).unwrap().blocks() * 512
}

fn cut(log: &File) {
    holes::inspect(log).unwrap().cut(log).unwrap();
}

/// sled alone would write a gigabyte of zeros and then truncate it, so the length after opening proves
/// nothing.
#[test]
fn a_log_that_ends_in_holes_is_truncated_and_fills_no_disk() {
    let (_parent, folder, history) = filled();
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    let (before, taken) = (log.metadata().unwrap().len(), on_disk(&folder));
    lengthen(&folder, 1 << 30);
    cut(&log);
    let segment = u64::try_from(repair::SEGMENT_BYTES).unwrap();
    assert_eq!(log.metadata().unwrap().len(), before.next_multiple_of(segment));
    assert_eq!(on_disk(&folder), taken);
    assert_complete(&open(&folder).unwrap(), &history);
}

#[test]
fn a_log_that_is_mostly_holes_is_reported_as_damage_and_not_changed() {
    let (_parent, folder, _) = filled();
    let length = lengthen(&folder, 1 << 30);
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    log.write_all_at(b"a byte", length - 6).unwrap();
    let before = on_disk(&folder);
    let Err(StorageError::Corrupt(what)) = open(&folder) else { panic!("the damaged log opened") };
    assert!(what.contains("holes"), "{what}");
    assert_eq!((on_disk(&folder), log.metadata().unwrap().len()), (before, length));
}

/// Like a sparse copy: zeroed segments in the middle occupy no space.
#[test]
fn a_log_with_some_holes_opens() {
    let (_parent, folder, history) = filled();
    let length = lengthen(&folder, 64 << 20);
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    log.write_all_at(&[0], length - 1).unwrap();
    assert_complete(&open(&folder).unwrap(), &history);
}

#[test]
fn a_log_without_holes_is_not_changed() {
    let (_parent, folder, _) = filled();
    let path = folder.join(repair::LOG);
    let before = fs::read(&path).unwrap();
    cut(&OpenOptions::new().write(true).open(&path).unwrap());
    assert!(fs::read(&path).unwrap() == before);
    fs::write(&path, b"").unwrap();
    cut(&OpenOptions::new().write(true).open(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}
