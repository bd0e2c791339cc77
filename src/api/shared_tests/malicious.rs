//! A server that lies: it puts the store back, forks it, hides rows, mixes vaults and generations, and claims what is not so.
//!
//! No session returns a text that is not the one of some state that it was at, and never an older one than it
//! has seen itself.

use std::collections::HashMap;

use super::SharedStore;
use crate::session::{Session, StoreError};
use crate::vfs::{FileError, FileText};
use inmost_engines::memory::shared::Vault;
use inmost_storage::limits::TRAIL_REACH;
use inmost_testing::Random;

fn write(session: &Session, text: &str) {
    session.files().write("/memories/a.md", text).unwrap();
}

fn read(session: &Session) -> Result<String, StoreError> {
    match session.files().read("/memories/a.md") {
        Ok(text) => Ok(text.as_str().to_owned()),
        Err(FileError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn replace(store: &SharedStore, with: &Vault) {
    store.server.with(|vault| *vault = with.clone());
}

#[test]
fn a_server_that_went_back_is_noticed_by_every_session() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    write(&one, "old");
    let past = store.server.duplicate();
    write(&one, "new");
    assert_eq!(read(&two).unwrap(), "new");
    replace(&store, &past);
    assert!(matches!(read(&one), Err(StoreError::RolledBack { .. })));
    assert!(matches!(read(&two), Err(StoreError::RolledBack { .. })));
    let written = two.files().write("/memories/a.md", "two");
    assert!(matches!(written, Err(FileError::Store(StoreError::RolledBack { .. }))));
}

#[test]
fn a_fork_is_noticed_even_when_it_is_ahead() {
    let (store, one) = SharedStore::create();
    write(&one, "common");
    let fork = store.server.duplicate();
    write(&one, "lost");
    replace(&store, &fork);
    // A session that began later cannot know, and goes ahead on the fork.
    let two = store.unlock();
    for round in 0..5 {
        write(&two, &format!("fork {round}"));
    }
    assert!(matches!(read(&one), Err(StoreError::RolledBack { .. })));
}

#[test]
fn a_fork_is_noticed_after_a_long_time_away() {
    for away in [19, 20, 21, 40, 200] {
        let (store, one) = SharedStore::create();
        let two = store.unlock();
        write(&two, "common");
        let fork = store.server.duplicate();
        write(&one, "lost");
        let mark = one.mark().unwrap();
        replace(&store, &fork);
        for round in 0..away {
            write(&two, &format!("fork {round}"));
        }
        assert!(matches!(read(&one), Err(StoreError::RolledBack { .. })), "{away}");
        // Nor with a session that begins now, by the mark.
        let options = store.options.clone().at_least(mark);
        let later = SharedStore { server: store.server.clone(), options };
        let unlocked = later.try_unlock(store.server.host());
        assert!(matches!(unlocked, Err(StoreError::RolledBack { .. })), "{away}");
        assert_eq!(read(&store.unlock()).unwrap(), format!("fork {}", away - 1));
    }
}

#[test]
fn a_session_that_was_away_for_long_goes_on() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    for round in 0..700 {
        write(&two, &format!("round {round}"));
        if round % 90 == 7 {
            two.purge().unwrap();
        }
        // Times away that begin at any number of a commit.
        if round > 100 && round % 67 == 0 {
            assert_eq!(read(&one).unwrap(), format!("round {round}"));
            let options = store.options.clone().at_least(one.mark().unwrap());
            let later = SharedStore { server: store.server.clone(), options };
            write(&two, "another");
            assert_eq!(read(&later.try_unlock(store.server.host()).unwrap()).unwrap(), "another");
        }
    }
    let kept = store.server.with(|vault| vault.trails.len());
    assert!((700 / 16..=800 / 16).contains(&kept), "{kept}");
}

#[test]
fn a_session_that_was_away_beyond_the_reach_of_trails_compares_numbers() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    for round in 0..=TRAIL_REACH {
        write(&two, &format!("round {round}"));
    }
    store.server.with(|vault| vault.trails.clear());
    assert_eq!(read(&one).unwrap(), format!("round {TRAIL_REACH}"));
    // One commit less, and nothing but trails can tell.
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    for round in 0..TRAIL_REACH {
        write(&two, &format!("round {round}"));
    }

    store.server.with(|vault| vault.trails.clear());
    assert!(matches!(read(&one), Err(StoreError::RolledBack { .. })));
}

#[test]
fn a_server_without_the_trails_of_a_long_time_cannot_pretend() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    for round in 0..60 {
        write(&two, &format!("round {round}"));
    }
    store.server.with(|vault| vault.trails.clear());
    assert!(matches!(read(&one), Err(StoreError::RolledBack { .. })));
    assert_eq!(read(&two).unwrap(), "round 59");
}

#[test]
fn hidden_and_exchanged_rows_are_no_text() {
    let (store, one) = SharedStore::create();
    write(&one, "first");
    one.files().write("/memories/b.md", "second").unwrap();
    let rows = store.server.with(|vault| vault.generations[&1].rows.clone());
    let addresses: Vec<_> = rows.keys().copied().collect();
    let is_refused = || match store.try_unlock(store.server.host()).map(|session| read(&session)) {
        Err(error) | Ok(Err(error)) => {
            assert!(matches!(error, StoreError::Tampered { .. }), "{error}");
            true
        }
        Ok(Ok(text)) => {
            assert_eq!(text, "first");
            false
        }
    };
    let mut refused = [0; 2];
    for hidden in &addresses {
        store.server.with(|vault| vault.generations.get_mut(&1).unwrap().rows.remove(hidden));
        refused[0] += usize::from(is_refused());
        store.server.with(|vault| vault.generations.get_mut(&1).unwrap().rows = rows.clone());
    }
    for (one, two) in addresses.iter().zip(addresses.iter().skip(1)) {
        store.server.with(|vault| {
            let stored = &mut vault.generations.get_mut(&1).unwrap().rows;
            stored.insert(*one, rows[two].clone());
            stored.insert(*two, rows[one].clone());
        });
        refused[1] += usize::from(is_refused());
        store.server.with(|vault| vault.generations.get_mut(&1).unwrap().rows = rows.clone());
    }
    // The root, the folder and the file are needed, the other file is not.
    assert!((3..addresses.len()).contains(&refused[0]) && refused[1] > 1, "{refused:?}");
}

#[test]
fn of_many_texts_only_the_damaged_are_missing() {
    let (store, one) = SharedStore::create();
    let paths = ["/memories/a.md", "/memories/b.md", "/memories/c.md"];
    for path in paths {
        one.files().write(path, path).unwrap();
    }
    let rows = store.server.with(|vault| vault.generations[&1].rows.clone());
    let mut alone = 0;
    for hidden in rows.keys() {
        store.server.with(|vault| vault.generations.get_mut(&1).unwrap().rows.remove(hidden));
        if let Ok(session) = store.try_unlock(store.server.host()) {
            let texts = session.files().read_many(&paths).unwrap();
            let is_whole = |(text, path): (&Result<_, _>, &str)| match text {
                Ok(text) => FileText::as_str(text) == path,
                Err(FileError::Store(StoreError::Tampered { .. })) => false,
                Err(error) => panic!("{error}"),
            };
            let whole = texts.iter().zip(paths).filter(|it| is_whole(*it)).count();
            assert_eq!(whole, texts.iter().flatten().count());
            alone += usize::from(whole == 2);
        }
        store.server.with(|vault| vault.generations.get_mut(&1).unwrap().rows = rows.clone());
    }
    assert_eq!(alone, 3);
}

#[test]
fn the_records_of_another_vault_are_refused() {
    let (store, one) = SharedStore::create();
    write(&one, "mine");
    let (other, theirs) = SharedStore::create();
    write(&theirs, "theirs");
    write(&theirs, "theirs again");
    let their_vault = other.server.duplicate();
    // The rows alone, then with their header.
    let header = store.server.with(|vault| vault.header.clone());
    let mut mixed = their_vault.clone();
    mixed.header = header;
    replace(&store, &mixed);
    assert!(matches!(
        read(&one),
        Err(StoreError::Unavailable(why)) if why.contains("do not belong together")
    ));
    assert!(store.try_unlock(store.server.host()).is_err());
    let (store, one) = SharedStore::create();
    write(&one, "mine");
    replace(&store, &their_vault);
    assert!(matches!(read(&one), Err(StoreError::Locked | StoreError::Tampered { .. })));
}

#[test]
fn an_older_generation_is_refused() {
    let (store, one) = SharedStore::create();
    let two = store.unlock();
    write(&one, "before");
    let past = store.server.duplicate();
    one.purge().unwrap();
    write(&one, "after");
    assert_eq!(read(&two).unwrap(), "after");
    replace(&store, &past);
    for session in [&one, &two] {
        assert!(matches!(
            read(session),
            Err(StoreError::HeaderRolledBack { .. } | StoreError::RolledBack { .. })
        ));
    }
}

/// Mixes rows of all states that the server has had, at random.
#[test]
fn no_mixture_of_states_gives_a_wrong_text() {
    let (mut refused, mut returned) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let (store, one) = SharedStore::create();
        let (mut states, mut order) = (Vec::new(), HashMap::new());
        let seeing = random.below(6);
        let mut reader = None;
        for number in 0..6 {
            let text = format!("state {number}.").repeat(1 + random.below(900));
            write(&one, &text);
            order.insert(text, number);
            states.push(store.server.duplicate());
            if number == seeing {
                reader = Some(store.unlock());
            }
        }
        let reader = reader.unwrap();
        for _ in 0..4 {
            let base = states[random.below(6)].clone();
            let other = &states[random.below(6)].generations[&1].rows;
            let mixture = random.below(4);
            store.server.with(|vault| {
                *vault = base;
                let rows = &mut vault.generations.get_mut(&1).unwrap().rows;
                for (address, row) in other {
                    if random.below(4) < mixture {
                        rows.insert(*address, row.clone());
                    }
                }
            });
            match read(&reader) {
                Ok(text) => {
                    returned += 1;
                    let number = *order.get(&text).unwrap_or_else(|| panic!("a new text: {text}"));
                    assert!(number >= seeing, "seed {seed}: {number} after {seeing}");
                }
                Err(StoreError::RolledBack { .. } | StoreError::Tampered { .. }) => refused += 1,
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
    }
    assert!(refused > 100 && returned > 100, "{refused} refused, {returned} returned");
}
