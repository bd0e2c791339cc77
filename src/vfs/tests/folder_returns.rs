//! A deleted folder returns, while the commits of its return drop old versions.

use super::versions::{MONTH, assert_whole, newest};
use crate::session::tests::store::TestStore;
use crate::session::{ExpirySettings, HistorySettings, Session};
use crate::vfs::error::FileError;

/// Makes a folder and deletes it. Readings are recorded, so its return takes a commit before it moves. Returns the number of the
/// deletion.
fn delete_folder(session: &Session, files: usize, history: HistorySettings) -> u64 {
    session.expiry().set(ExpirySettings::record()).unwrap();
    session.history().set(history).unwrap();
    for number in 0..files {
        session.files().write(&format!("/memories/d/{number}"), &"x".repeat(900)).unwrap();
    }
    session.files().remove("/memories/d").unwrap();
    newest(session).number
}

fn assert_goes_on(session: &Session) {
    for number in 0..6 {
        session.files().write(&format!("/memories/{number}"), "x").unwrap();
    }
    session.files().write("/memories/d/0", "x").unwrap();
    assert_whole(session, "afterwards");
}

/// The first commit of the return dropped the folder, the second one put it into the tree, and then its records were removed.
#[test]
fn a_folder_that_its_own_return_drops_stays_gone() {
    for files in [3, 12, 60] {
        let store = TestStore::create();
        let session = store.unlock().unwrap();
        let history = HistorySettings::keep(MONTH).max_bytes(1_000);
        let deletion = delete_folder(&session, files, history);
        let restored = session.history().restore(deletion, None);
        assert!(matches!(restored, Err(FileError::VersionGone(_))), "{restored:?}");
        assert_goes_on(&session);
        drop(session);
        assert_goes_on(&store.unlock().unwrap());
    }
}

#[test]
fn a_folder_that_its_return_drops_for_a_full_disk_stays_gone() {
    let store = TestStore::create();
    let (session, watch) = store.unlock_watched();
    let deletion = delete_folder(&session, 60, HistorySettings::keep(MONTH));
    watch.take_nothing_more(true);
    let restored = session.history().restore(deletion, None);
    assert!(matches!(restored, Err(FileError::VersionGone(_))), "{restored:?}");
    watch.take_nothing_more(false);
    assert_goes_on(&session);
}
