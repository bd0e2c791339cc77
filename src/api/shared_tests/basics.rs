//! What one host sees of another.

use std::time::Duration;

use super::SharedStore;
use crate::session::{ExpirySettings, Session, StoreError};
use crate::vfs::{ExpiryHindrance, FileError, RankQuery};

#[test]
fn a_host_sees_what_another_wrote() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    one.files().write("/memories/a.md", "one\n").unwrap();
    assert_eq!(two.files().read("/memories/a.md").unwrap().as_str(), "one\n");
    two.files().write("/memories/a.md", "two\n").unwrap();
    assert_eq!(one.files().read("/memories/a.md").unwrap().as_str(), "two\n");
    assert_eq!(one.status().unwrap().commit, two.status().unwrap().commit);
}

#[test]
fn changes_of_two_hosts_are_both_kept() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    for round in 0..20 {
        one.files().append("/memories/log.md", &format!("one {round}\n")).unwrap();
        two.files().append("/memories/log.md", &format!("two {round}\n")).unwrap();
        // Neither has seen what the other wrote here.
        one.files().write(&format!("/memories/one/{round}.md"), "x").unwrap();
        two.files().write(&format!("/memories/two/{round}.md"), "x").unwrap();
    }
    let three = store.unlock();
    let log = three.files().read("/memories/log.md").unwrap();
    assert_eq!(log.as_str().lines().count(), 40);
    assert_eq!(three.status().unwrap().files, 41);
    assert!(three.check().unwrap().is_clean());
}

#[test]
fn a_refusal_rests_on_the_newest_state() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    one.files().write("/memories/a.md", "one").unwrap();
    two.files().remove("/memories/a.md").unwrap();
    // The first host still has the file in its cache.
    let renamed = one.files().rename("/memories/a.md", "/memories/b.md");
    assert!(matches!(renamed, Err(FileError::NotFound)));
    two.files().write("/memories/c.md", "two").unwrap();
    one.files().rename("/memories/c.md", "/memories/d.md").unwrap();
}

#[test]
fn no_file_expires_because_nobody_knows_what_other_hosts_read() {
    let (_store, one) = SharedStore::create();
    one.files().write("/memories/a.md", "one\n").unwrap();
    one.expiry().set(ExpirySettings::record()).unwrap();
    let report = one.expiry().expire(Duration::ZERO, false, |_| {}).unwrap();
    assert_eq!(report.hindrance, Some(ExpiryHindrance::NotRecording));
    assert!(one.files().exists("/memories/a.md").unwrap());
}

#[test]
fn a_long_write_of_one_host_passes_short_ones_of_another() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    let long = "0123456789abcde\n".repeat(20_000);
    two.files().write("/memories/a.md", "short").unwrap();
    one.files().write("/memories/a.md", &long).unwrap();
    two.files().write("/memories/b.md", "short").unwrap();
    assert_eq!(two.files().read("/memories/a.md").unwrap().as_str(), long);
    one.files().remove("/memories/a.md").unwrap();
    for round in 0..80 {
        two.files().write("/memories/b.md", &format!("{round}")).unwrap();
    }
    assert!(two.check().unwrap().is_clean());
    assert_eq!(store.server.with(|vault| vault.generations[&1].rows.len()), 4);
}

#[test]
fn a_store_is_created_once() {
    let (store, one) = SharedStore::create();
    one.files().write("/memories/a.md", "one").unwrap();
    let host = std::sync::Arc::new(store.server.host());
    let again =
        store.options.create_shared(host, inmost_storage::EngineKind::Memory, &super::raw_key());
    assert!(matches!(again, Err(StoreError::AlreadyExists)));
    assert_eq!(store.unlock().status().unwrap().files, 1);
}

#[test]
fn a_ranking_sees_what_another_host_has_changed() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    let paths = |session: &Session| -> Vec<String> {
        let ranked = session.files().rank("/memories", &RankQuery::new("quokka")).unwrap();
        ranked.files.into_iter().map(|file| file.path.into_string()).collect()
    };
    one.files().write("/memories/a.md", "a quokka\n").unwrap();
    assert_eq!(paths(&two), ["/memories/a.md"]);
    two.files().write("/memories/b.md", "quokka\n").unwrap();
    two.files().write("/memories/a.md", "a wombat\n").unwrap();
    assert_eq!(paths(&one), ["/memories/b.md"]);
    two.files().rename("/memories/b.md", "/memories/c.md").unwrap();
    assert_eq!(paths(&one), ["/memories/c.md"]);
    two.files().remove("/memories/c.md").unwrap();
    assert_eq!(paths(&one), [""; 0]);
}
