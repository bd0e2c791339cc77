//! Tests of interrupted keyslot changes.

use super::*;

/// A keyslot change on a store that has the passphrase and raw key of `Secrets::new(1)` in slots 0 and 1.
#[derive(Clone, Copy, Debug)]
enum Change {
    Add,
    Replace,
    Remove,
    Rotate,
}

impl Change {
    const ALL: [Self; 4] = [Self::Add, Self::Replace, Self::Remove, Self::Rotate];

    fn make(self, session: &Session) -> Result<(), StoreError> {
        let (one, two) = (Secrets::new(1), Secrets::new(2));
        match self {
            Self::Add => session.add_slot(&tiny(two.passphrase())).map(drop),
            Self::Replace => session.replace_slot(0, &tiny(two.passphrase())),
            Self::Remove => session.remove_slot(0),
            Self::Rotate => session.rotate(one.raw()).map(drop),
        }
    }

    /// Whether the passphrases of `Secrets::new(1)` and `Secrets::new(2)` open the store afterwards. The raw key always
    /// does.
    fn opens_after(self) -> (bool, bool) {
        match self {
            Self::Add => (true, true),
            Self::Replace => (false, true),
            Self::Remove | Self::Rotate => (false, false),
        }
    }
}

/// A store after a fault at one operation of a change, counted from 1. Returns whether the change was acknowledged, and
/// whether it reached the fault.
fn faulty_change(change: Change, operation: u64, fault: Fault) -> (Store, bool, bool) {
    let one = Secrets::new(1);
    let store = Store::create(one.passphrase());
    let session = store.unlock(one.passphrase()).unwrap();
    session.add_slot(&tiny(one.raw())).unwrap();
    session.lock();
    let storage = FaultyStorage::new(store.memory.clone());
    let faults = storage.faults();
    let session = store.unlock_on(storage, one.passphrase()).unwrap();
    let begin = faults.operations();
    faults.set(begin + operation, fault);
    let made = change.make(&session).is_ok();
    let met = faults.operations() >= begin + operation;
    if made {
        assert_eq!(
            session.files().read("/memories/short.md").is_ok(),
            fault != Fault::Stopped || !met
        );
    }
    drop(session);
    store.memory.crash();
    (store, made, met)
}

/// Runs `check` on a store for every way a change can be interrupted.
fn at_every_operation(mut check: impl FnMut(Change, &Store, bool, &str)) {
    for change in Change::ALL {
        for fault in [Fault::Refused, Fault::Unreported, Fault::Stopped] {
            for operation in 1.. {
                let (store, made, met) = faulty_change(change, operation, fault);
                check(change, &store, made, &format!("{change:?}, {fault:?} at {operation}"));
                if !met {
                    // Headers, root and anchor at least.
                    assert!(made && operation > 5);
                    break;
                }
            }
        }
    }
}

#[test]
fn after_a_fault_at_any_operation_the_store_is_as_before_or_as_after() {
    let (one, two) = (Secrets::new(1), Secrets::new(2));
    at_every_operation(|change, store, made, case| {
        // The credential that both states have makes the unlock settle on one of them.
        assert!(store.opens(one.raw()), "{case}");
        let opens = (store.opens(one.passphrase()), store.opens(two.passphrase()));
        let after = change.opens_after();
        assert!(opens == after || (opens == (true, false) && !made), "{case}: {opens:?}");
    });
}

#[test]
fn after_a_fault_at_any_operation_no_credential_finds_a_false_rollback() {
    let (one, two) = (Secrets::new(1), Secrets::new(2));
    // Each credential in turn is the first after the fault. Any result but success or a wrong credential panics.
    for first in [one.passphrase(), two.passphrase(), one.raw()] {
        at_every_operation(|change, store, made, case| {
            let opened = store.opens(first);
            if made && first.kind() == SlotKind::Passphrase {
                let (old, new) = change.opens_after();
                let is_old = matches!(first, Credential::Passphrase(text) if text.expose() == b"passphrase 1");
                assert_eq!(opened, if is_old { old } else { new }, "{case}");
            }
            assert!(store.opens(one.raw()), "{case}");
            // The state that it settled on remains.
            if opened {
                assert!(store.opens(first), "{case}");
            }
            let [a, b] = store.headers();
            assert_eq!(a, b, "{case}");
            assert_eq!(store.memory.generations().unwrap().len(), 1, "{case}");
            assert!(store.memory.set_aside_generations().unwrap().is_empty(), "{case}");
            assert!(store.memory.rewriting().unwrap().is_none(), "{case}");
            let session = store.unlock(one.raw()).unwrap();
            assert_eq!(session.status().unwrap().anchor, AnchorStatus::Known, "{case}");
            session.lock();
        });
    }
}

#[test]
fn an_interrupted_recovery_from_an_interrupted_change_recovers() {
    let one = Secrets::new(1);
    for change in Change::ALL {
        for operation in 1.. {
            let (store, _, met) = faulty_change(change, operation, Fault::Unreported);
            for recovery in 1.. {
                let storage = FaultyStorage::new(store.memory.clone());
                let faults = storage.faults();
                faults.set(recovery, Fault::Stopped);
                let opened = store.unlock_on(storage, one.raw());
                let done = faults.operations() < recovery;
                assert!(opened.is_ok() || !done);
                drop(opened);
                store.memory.crash();
                if done {
                    break;
                }
            }
            assert!(store.opens(one.raw()), "{change:?} at {operation}");
            if !met {
                break;
            }
        }
    }
}

#[test]
fn a_failed_change_halts_the_session() {
    let one = Secrets::new(1);
    let store = Store::create(one.passphrase());
    let mut halted = 0;
    for operation in 1.. {
        let storage = FaultyStorage::new(store.memory.clone());
        let faults = storage.faults();
        let session = store.unlock_on(storage, one.passphrase()).unwrap();
        let begin = faults.operations();
        faults.set(begin + operation, Fault::Refused);
        let made = session.replace_slot(0, &tiny(one.passphrase()));
        let met = faults.operations() >= begin + operation;
        if made.is_err() {
            assert!(matches!(made, Err(StoreError::Io(_))));
            assert!(matches!(session.slots(), Err(StoreError::Halted)));
            assert!(matches!(session.status(), Err(StoreError::Halted)));
            halted += 1;
        }
        drop(session);
        store.memory.crash();
        assert!(store.opens(one.passphrase()));
        if !met {
            break;
        }
    }
    // The root's batch and its sync before both copies and again after them, but not the anchor.
    assert_eq!(halted, 6);
}
