//! What hosts do to each other's statements.

use super::*;

#[test]
#[ignore = "needs a server: tests/postgres/run.sh"]
fn trails_are_kept_with_their_roots_and_not_for_ever() {
    let (vault, engine) = store();
    let trail = |number: u64| Some(vec![u8::try_from(number % 251).unwrap(); TRAIL_BYTES]);
    let with_trail = |from: &[u8], to: &[u8], number: u64| Batch {
        trail: trail(number),
        ..root(Some(from), to, number)
    };
    engine.apply(&with_trail(b"one", b"16", 16)).unwrap();
    engine.apply(&with_trail(b"16", b"32", 32)).unwrap();
    // A batch that is refused leaves none.
    let refused = engine.apply(&with_trail(b"one", b"48", 48));
    assert!(matches!(refused, Err(StorageError::Conflict)));
    // A root that was given up leaves one, which the next root of this number replaces.
    engine.apply(&with_trail(b"32", b"64", 64)).unwrap();
    engine.apply(&Batch { trail: trail(7), ..root(Some(b"64"), b"sixty-four", 64) }).unwrap();
    let kept = |since, until| -> Vec<Option<Vec<u8>>> {
        engine.trails(since, until).unwrap().into_iter().map(Some).collect()
    };
    assert_eq!(kept(20, 64), [trail(16), trail(32), trail(7)]);
    assert_eq!(kept(32, 63), [trail(32)]);
    assert_eq!(kept(5, 31), [trail(16)]);
    assert_eq!(kept(5, 15), []);
    let within = engine.begin(Access::Locked, &ROOT).unwrap();
    assert_eq!(within.trails(40, 64).unwrap().len(), 2);
    within.apply(&with_trail(b"sixty-four", b"last", 33 + TRAILS_KEPT)).unwrap();
    assert_eq!(kept(0, 10_000), [trail(7), trail(33 + TRAILS_KEPT)]);
    PostgresStorage::destroy(&vault.server, vault.id).unwrap();
    assert_eq!(kept(0, 10_000), []);
}
