//! Tests of logs with holes. Those that need holes prove nothing on a file system without them, so they check that holes
//! exist.

#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;

use super::*;

#[cfg(target_os = "linux")]
fn lengthen(folder: &Path, by: u64) -> u64 {
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    let length = log.metadata().unwrap().len() + by;
    log.set_len(length).unwrap();
    assert!(on_disk(folder) < length, "this file system does not support holes");
    length
}

/// Returns the bytes that the log occupies on disk.
#[cfg(target_os = "linux")]
fn on_disk(folder: &Path) -> u64 {
    fs::metadata(folder.join(repair::LOG)).unwrap().blocks() * 512
}

fn cut(log: &File) {
    holes::inspect(log).unwrap().cut(log).unwrap();
}

/// sled alone would write a gigabyte of zeros and then truncate it, so the length after opening proves nothing, and the log is
/// looked at meanwhile.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_ends_in_holes_is_truncated_and_fills_no_disk() {
    let (_parent, folder, history) = filled();
    let log = OpenOptions::new().read(true).write(true).open(folder.join(repair::LOG)).unwrap();
    let (before, taken) = (log.metadata().unwrap().len(), on_disk(&folder));
    lengthen(&folder, 1 << 30);
    cut(&log);
    let segment = u64::try_from(log::SEGMENT_BYTES).unwrap();
    assert_eq!(log.metadata().unwrap().len(), before.next_multiple_of(segment));
    assert_eq!(on_disk(&folder), taken);

    lengthen(&folder, 1 << 30);
    let is_open = AtomicBool::new(false);
    let (opened, most) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !is_open.load(Ordering::SeqCst) {
                most = most.max(on_disk(&folder));
            }
            most
        });
        let opened = open(&folder);
        is_open.store(true, Ordering::SeqCst);
        (opened, watch.join().unwrap())
    });
    assert!(most < taken + (64 << 20), "{most} of {taken}");
    assert_complete(&opened.unwrap(), &history);
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_is_mostly_holes_is_reported_as_damage_and_not_changed() {
    let (_parent, folder, _) = filled();
    let length = lengthen(&folder, 1 << 30);
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    files::write_all_at(&log, b"a byte", length - 6).unwrap();
    let before = on_disk(&folder);
    let Err(StorageError::Corrupt(what)) = open(&folder) else { panic!("the damaged log opened") };
    assert!(what.contains("holes"), "{what}");
    assert_eq!((on_disk(&folder), log.metadata().unwrap().len()), (before, length));
}

/// Like a sparse copy: zeroed segments in the middle occupy no space.
#[cfg(target_os = "linux")]
#[test]
fn a_log_with_some_holes_opens() {
    let (_parent, folder, history) = filled();
    let length = lengthen(&folder, 64 << 20);
    let log = OpenOptions::new().write(true).open(folder.join(repair::LOG)).unwrap();
    files::write_all_at(&log, &[0], length - 1).unwrap();
    assert_complete(&open(&folder).unwrap(), &history);
}

#[test]
fn a_log_without_holes_is_not_changed() {
    let (_parent, folder, _) = filled();
    let path = folder.join(repair::LOG);
    let before = fs::read(&path).unwrap();
    cut(&OpenOptions::new().read(true).write(true).open(&path).unwrap());
    assert!(fs::read(&path).unwrap() == before);
    fs::write(&path, b"").unwrap();
    cut(&OpenOptions::new().read(true).write(true).open(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
}

/// macOS returns the next range of data for an offset inside one. After the only range, that is the end of the file.
#[test]
fn a_log_that_the_system_reports_as_a_hole_is_not_truncated() {
    let (_parent, folder, history) = filled();
    let path = folder.join(repair::LOG);
    let before = fs::read(&path).unwrap();
    let log = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let segment = u64::try_from(log::SEGMENT_BYTES).unwrap();
    let nothing = |_: &File, _, _| None;
    let only_first = |_: &File, offset, _| (offset == 0).then_some(0..1);
    holes::inspect_with(&log, nothing).unwrap().cut(&log).unwrap();
    holes::inspect_with(&log, only_first).unwrap().cut(&log).unwrap();
    assert!(fs::read(&path).unwrap() == before);
    // Zeros behind the last segment are cut off, also where nothing else is reported.
    let length = u64::try_from(before.len()).unwrap();
    log.set_len(length + 3 * segment).unwrap();
    holes::inspect_with(&log, |_, offset, _| (offset < length).then_some(offset..length))
        .unwrap()
        .cut(&log)
        .unwrap();
    assert_eq!(log.metadata().unwrap().len(), length.next_multiple_of(segment));
    drop(log);
    assert_complete(&open(&folder).unwrap(), &history);
}
