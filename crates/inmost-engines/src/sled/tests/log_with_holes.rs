//! Logs that are longer than the bytes they have. On a file system without holes these tests would prove nothing, so
//! they check that there are some.

use std::os::unix::fs::MetadataExt;

use super::*;

fn lengthen(folder: &Path, by: u64) -> u64 {
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    let length = log.metadata().unwrap().len() + by;
    log.set_len(length).unwrap();
    assert!(on_disk(folder) < length, "this file system makes no holes");
    length
}

/// Bytes of disk that the log takes.
fn on_disk(folder: &Path) -> u64 {
    fs::metadata(folder.join(repair::LOG)).unwrap().blocks() * 512
}

/// sled alone would first write a gigabyte of zeros and then cut it off, so the length after opening proves nothing.
#[test]
fn a_log_with_nothing_in_its_end_is_cut_and_fills_no_disk() {
    let (_parent, folder, history) = filled();
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    let (before, taken) = (log.metadata().unwrap().len(), on_disk(&folder));
    lengthen(&folder, 1 << 30);
    holes::cut(&log).unwrap();
    let segment = u64::try_from(repair::SEGMENT_BYTES).unwrap();
    assert_eq!(log.metadata().unwrap().len(), before.next_multiple_of(segment));
    assert_eq!(on_disk(&folder), taken);
    assert_complete(&SledEngine::open(&folder).unwrap(), &history);
}

#[test]
fn a_log_that_is_mostly_holes_is_damage_and_stays_as_it_is() {
    let (_parent, folder, _) = filled();
    let length = lengthen(&folder, 1 << 30);
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    log.write_all_at(b"a byte", length - 6).unwrap();
    let before = on_disk(&folder);
    let Err(StorageError::Corrupt(what)) = SledEngine::open(&folder) else { panic!("opened") };
    assert!(what.contains("holes"), "{what}");
    assert_eq!((on_disk(&folder), log.metadata().unwrap().len()), (before, length));
}

/// As a sparse copy has it: segments of zeros in the middle take no room.
#[test]
fn some_holes_in_a_log_are_no_damage() {
    let (_parent, folder, history) = filled();
    let length = lengthen(&folder, 64 << 20);
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    log.write_all_at(&[0], length - 1).unwrap();
    assert_complete(&SledEngine::open(&folder).unwrap(), &history);
}

#[test]
fn a_log_without_holes_is_left_as_it_is() {
    let (_parent, folder, _) = filled();
    let path = folder.join(repair::LOG);
    let before = fs::read(&path).unwrap();
    holes::cut(&OpenOptions::new().write(true).open(&path).unwrap()).unwrap();
    assert!(fs::read(&path).unwrap() == before);
    fs::write(&path, b"").unwrap();
    holes::cut(&OpenOptions::new().write(true).open(&path).unwrap()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}
