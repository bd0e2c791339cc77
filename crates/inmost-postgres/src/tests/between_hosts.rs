//! What hosts do to each other's statements.

use super::*;

/// A host that has sent a statement waits for the others; nothing of what they do may wait for it in turn.
#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn a_removal_does_not_wait_for_a_header_that_is_being_changed() {
    let (vault, _engine) = store();
    let host = vault.host();
    drop(host.create_generation(2, EngineKind::Postgres).unwrap());
    let server = server("INMOST_TEST_POSTGRES");
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
    let mut switching = server.begin(begin).unwrap();
    let id = vault.id.0.as_slice();
    let change = "UPDATE inmost.vault SET header = header WHERE vault = $1 RETURNING 1::bigint";
    let changed = switching
        .with(|connection| connection.query(change, &[(&id, tokio_postgres::types::Type::BYTEA)]));
    assert_eq!(changed.unwrap().len(), 1);
    host.remove_leftovers().unwrap();
    assert!(matches!(host.remove_generation(2), Err(StorageError::InUse(_))));
    switching.with(|connection| connection.run("ROLLBACK")).unwrap();
    drop(switching);
    host.remove_generation(2).unwrap();
    assert_eq!(host.generations().unwrap(), [1]);
}

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn trails_are_kept_with_their_roots_and_not_for_ever() {
    let (vault, engine) = store();
    let trail = |number: u64| Some(vec![u8::try_from(number % 251).unwrap(); TRAIL_BYTES]);
    let with_trail = |from: &[u8], to: &[u8], number: u64| SharedBatch {
        trail: trail(number),
        ..root(Some(from), to, number)
    };
    engine.shared().unwrap().commit(&with_trail(b"one", b"16", 16)).unwrap();
    engine.shared().unwrap().commit(&with_trail(b"16", b"32", 32)).unwrap();
    // A batch that is refused leaves none.
    let refused = engine.shared().unwrap().commit(&with_trail(b"one", b"48", 48));
    assert!(matches!(refused, Err(StorageError::Conflict)));
    // A root that was given up leaves one, which the next root of this number replaces.
    engine.shared().unwrap().commit(&with_trail(b"32", b"64", 64)).unwrap();
    engine
        .shared()
        .unwrap()
        .commit(&SharedBatch { trail: trail(7), ..root(Some(b"64"), b"sixty-four", 64) })
        .unwrap();
    let kept = |since, until| -> Vec<Option<Vec<u8>>> {
        engine.shared().unwrap().trails(since, until).unwrap().into_iter().map(Some).collect()
    };
    assert_eq!(kept(20, 64), [trail(16), trail(32), trail(7)]);
    assert_eq!(kept(32, 63), [trail(32)]);
    assert_eq!(kept(5, 31), [trail(16)]);
    assert_eq!(kept(5, 15), []);
    let within = engine.shared().unwrap().begin(Access::Locked, &ROOT).unwrap();
    assert_eq!(within.shared().unwrap().trails(40, 64).unwrap().len(), 2);
    within.shared().unwrap().commit(&with_trail(b"sixty-four", b"last", 33 + TRAILS_KEPT)).unwrap();
    assert_eq!(kept(0, 10_000), [trail(7), trail(33 + TRAILS_KEPT)]);
    PostgresStorage::destroy(&vault.server, vault.id).unwrap();
    assert_eq!(kept(0, 10_000), []);
}
