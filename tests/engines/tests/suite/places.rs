//! Headers, generations and notes of a place.

use std::io;

use super::*;

pub(crate) fn header_copies_are_separate_and_replaceable(place: &Place) {
    let storage = &place.storage;
    assert!(storage.read_header(HeaderCopy::A).unwrap().is_none());
    assert!(storage.read_header(HeaderCopy::B).unwrap().is_none());
    storage.write_header(HeaderCopy::B, &[2; 4_096]).unwrap();
    assert!(storage.read_header(HeaderCopy::A).unwrap().is_none());
    storage.write_header(HeaderCopy::A, &[1; 4_096]).unwrap();
    storage.write_header(HeaderCopy::B, b"short").unwrap();
    assert_eq!(storage.read_header(HeaderCopy::A).unwrap().unwrap(), [1; 4_096]);
    assert_eq!(storage.read_header(HeaderCopy::B).unwrap().unwrap(), b"short");
    assert!(storage.generations().unwrap().is_empty());
}

pub(crate) fn a_huge_header_is_truncated(place: &Place) {
    place.storage.write_header(HeaderCopy::A, &vec![1; 1 << 20]).unwrap();
    let read = place.storage.read_header(HeaderCopy::A).unwrap().unwrap();
    assert_eq!(u64::try_from(read.len()).unwrap(), limits::HEADER_READ_BYTES);
}

pub(crate) fn generations_are_created_listed_and_removed(place: &Place) {
    let storage = &place.storage;
    assert!(storage.generations().unwrap().is_empty());
    assert!(matches!(storage.open_generation(1, place.kind), Err(StorageError::Missing)));
    let highest = place.highest();
    for number in [17, highest, 2] {
        place.create(number).close().unwrap();
    }
    assert_eq!(storage.generations().unwrap(), [2, 17, highest]);
    let again = storage.create_generation(17, place.kind);
    let Err(StorageError::Io(error)) = again else { panic!("created over a generation") };
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    storage.remove_generation(17).unwrap();
    storage.remove_generation(17).unwrap();
    assert_eq!(storage.generations().unwrap(), [2, highest]);
    assert!(matches!(storage.open_generation(17, place.kind), Err(StorageError::Missing)));
    assert!(all(&*place.create(17)).is_empty());
}

pub(crate) fn a_generation_is_set_aside_and_discarded(place: &Place) {
    let storage = &place.storage;
    let numbers = || {
        let found = storage.set_aside_generations().unwrap();
        assert!(found.iter().all(|it| it.bytes > 0));
        found.iter().map(|it| it.number).collect::<Vec<_>>()
    };
    assert!(storage.set_aside(4, None).is_err());
    for header in [None, Some(b"header".as_slice())] {
        let engine = place.create(4);
        commit(&*engine, &puts([(1, vec![1])]));
        engine.close().unwrap();
        let with_it = storage.size().unwrap();
        storage.set_aside(4, header).unwrap();
        assert!(storage.generations().unwrap().is_empty());
        assert!(storage.size().unwrap() < with_it);
        assert!(matches!(storage.open_generation(4, place.kind), Err(StorageError::Missing)));
    }
    assert_eq!(numbers(), [4, 5], "the second one got another name");
    storage.discard_set_aside(4).unwrap();
    storage.discard_set_aside(4).unwrap();
    assert_eq!(numbers(), [5]);
}

pub(crate) fn a_rewrite_is_noted_replaced_and_finished(place: &Place) {
    let storage = &place.storage;
    let noted = || storage.rewriting().unwrap();
    assert!(noted().is_none());
    storage.finish_rewrite().unwrap();
    let mut rewriting =
        Rewriting { old: 1, new: 2, scratch: 3, switched: false, kept_header: None };
    storage.begin_rewrite(&rewriting).unwrap();
    assert!(noted().as_ref() == Some(&rewriting));
    rewriting.switched = true;
    rewriting.kept_header = Some(b"header".to_vec());
    storage.begin_rewrite(&rewriting).unwrap();
    assert!(noted().as_ref() == Some(&rewriting));
    storage.finish_rewrite().unwrap();
    assert!(noted().is_none());
}

pub(crate) fn generations_share_nothing(place: &Place) {
    let (one, two) = (place.create(1), place.create(2));
    commit(&*one, &puts([(1, b"one".to_vec())]));
    assert!(all(&*two).is_empty());
    one.close().unwrap();
    place.storage.remove_generation(1).unwrap();
    commit(&*two, &puts([(2, b"two".to_vec())]));
    assert_eq!(all(&*two).len(), 1);
}
