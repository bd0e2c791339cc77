//! What a delete or a long write leaves behind is taken away, all of it, and is in nobody's way meanwhile.

use super::model::{Call, Model, dump, make_commits, text};
use crate::vault::tests::store::TestStore;

/// Long files in folders wait to be reaped while another long file is written: the pieces that reaping moves
/// into the system folder came after the file that was being staged there, which was then not found again.
#[test]
fn a_long_write_goes_well_while_folders_are_reaped() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let files = session.files();
    for folder in 0..20 {
        for file in 0..3 {
            files.write(&format!("/memories/d/{folder}/{file}"), &text("x", 5_000)).unwrap();
        }
    }
    files.remove("/memories/d").unwrap();
    let long = text("long", 300_000);
    files.write("/memories/long", &long).unwrap();
    assert_eq!(files.read("/memories/long").unwrap().as_str(), long);
    make_commits(&session, 100);
    drop(session);
    store.assert_tidy("after the last commit");
}

/// An edit that takes away most of a file wrote the little that is left as a rope, of which a later delete,
/// taking it for a single record, left the chunks behind.
#[test]
fn a_file_that_shrinks_in_one_edit_leaves_nothing_behind() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    let long = text("long", 50_000);
    let mut model = Model::new();
    for call in [
        Call::Write("/memories/a", format!("head\n{long}tail\n")),
        Call::Replace("/memories/a", long.clone(), String::new()),
        Call::Write("/memories/b", format!("head\n{long}tail\n")),
        Call::Replace("/memories/b", long.clone(), text("rest", 3_500)),
        Call::Write("/memories/c", long.clone()),
        Call::Replace("/memories/c", long, String::new()),
    ] {
        call.make(&store, &session).unwrap();
        call.apply(&mut model);
        assert_eq!(dump(&session).unwrap(), model);
    }
    for path in ["/memories/a", "/memories/b", "/memories/c"] {
        session.files().remove(path).unwrap();
    }
    make_commits(&session, 9);
    drop(session);
    store.assert_tidy("after the last commit");
}

/// Calls that share a commit leave more behind than one long file each; reaping one of them a commit fell behind
/// for ever.
#[test]
fn reaping_keeps_up_with_many_files_of_middle_length() {
    let store = TestStore::create();
    let session = store.unlock().unwrap();
    for number in 0..100 {
        session.files().write(&format!("/memories/d/{number}"), &text("x", 5_000)).unwrap();
    }
    session.files().remove("/memories/d").unwrap();
    make_commits(&session, 20);
    drop(session);
    store.assert_tidy("after the last commit");
}
