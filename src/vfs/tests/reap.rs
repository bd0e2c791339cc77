//! What a delete or a long write leaves behind is taken away, all of it, and is in nobody's way meanwhile.

use super::model::{make_commits, text};
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
