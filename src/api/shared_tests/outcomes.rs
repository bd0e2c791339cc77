//! Changes whose reply was lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::SharedStore;
use crate::session::{Session, StoreError};
use crate::vfs::FileError;
use inmost_engines::memory::shared::{Network, Operation, Verdict};

/// Decides about the batches of one host, one after the other; the last decision stays. Other operations go well while `works`.
#[derive(Default)]
struct Plan {
    verdicts: Mutex<Vec<Verdict>>,
    batches: AtomicUsize,
    /// What is done by others after a batch was decided about.
    after: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

impl Network for Plan {
    fn before(&self, _host: u64, operation: Operation) -> Verdict {
        if operation != Operation::Apply {
            return Verdict::Perform;
        }
        if self.batches.fetch_add(1, Ordering::SeqCst) == 1
            && let Some(mut others) = self.after.lock().unwrap().take()
        {
            others();
        }
        self.verdicts.lock().unwrap().pop().unwrap_or(Verdict::Perform)
    }
}

/// A host whose next batches meet these verdicts, and another one.
fn hosts(verdicts: &[Verdict]) -> (SharedStore, Session, Session, Arc<Plan>) {
    let (store, two) = SharedStore::create();
    let plan = Arc::new(Plan::default());
    let one = store.try_unlock(store.server.host_over(plan.clone())).unwrap();
    one.files().write("/memories/a.md", "start\n").unwrap();
    plan.batches.store(0, Ordering::SeqCst);
    *plan.verdicts.lock().unwrap() = verdicts.iter().rev().copied().collect();
    (store, one, two, plan)
}

fn log(session: &Session) -> String {
    session.files().read("/memories/a.md").unwrap().as_str().to_owned()
}

#[test]
fn a_change_whose_reply_is_lost_is_made_once() {
    for verdict in [Verdict::LoseReply, Verdict::LoseRequest, Verdict::Delay] {
        let (store, one, two, _) = hosts(&[verdict]);
        one.files().append("/memories/a.md", "one\n").unwrap();
        let _ = store.server.deliver();
        assert_eq!(log(&two), "start\none\n", "{verdict:?}");
    }
}

#[test]
fn a_change_that_others_built_upon_is_recognised_by_the_trail() {
    for others in [1, 19, 20, 21, 200] {
        let (_, one, two, plan) = hosts(&[Verdict::LoseReply]);
        let writer = two.clone();
        *plan.after.lock().unwrap() = Some(Box::new(move || {
            for round in 0..others {
                writer.files().write("/memories/b.md", &format!("{round}")).unwrap();
            }
        }));
        one.files().append("/memories/a.md", "one\n").unwrap();
        assert_eq!(log(&two), "start\none\n");
    }
}

#[test]
fn a_change_that_others_overtook_is_made_again() {
    for others in [1, 20, 21, 200] {
        let (_, one, two, plan) = hosts(&[Verdict::LoseRequest]);
        let writer = two.clone();
        *plan.after.lock().unwrap() = Some(Box::new(move || {
            for _ in 0..others {
                writer.files().append("/memories/a.md", "two\n").unwrap();
            }
        }));
        one.files().append("/memories/a.md", "one\n").unwrap();
        assert_eq!(log(&two), format!("start\n{}one\n", "two\n".repeat(others)));
    }
}

#[test]
fn a_change_that_nothing_tells_about_is_reported() {
    for (verdict, is_there) in [(Verdict::LoseReply, true), (Verdict::LoseRequest, false)] {
        let (store, one, two, plan) = hosts(&[verdict]);
        let (writer, server) = (two.clone(), store.server.clone());
        *plan.after.lock().unwrap() = Some(Box::new(move || {
            // More than the trail holds, and the server has lost the earlier ones.
            for round in 0..40 {
                writer.files().write("/memories/b.md", &format!("{round}")).unwrap();
            }
            server.with(|vault| vault.trails.clear());
        }));
        let result = one.files().append("/memories/a.md", "one\n");
        assert!(matches!(result, Err(FileError::Store(StoreError::CommitUnknown))), "{verdict:?}");
        assert_eq!(log(&two) == "start\none\n", is_there);
        // Nothing says either that the newest state comes after the one that this session knows.
        let result = one.files().read("/memories/a.md");
        assert!(matches!(result, Err(FileError::Store(StoreError::RolledBack { .. }))));
    }
}

#[test]
fn a_server_that_stays_away_leaves_the_outcome_open() {
    let (_, one, two, plan) = hosts(&[Verdict::LoseReply]);
    plan.verdicts.lock().unwrap().splice(0..0, std::iter::repeat_n(Verdict::Refuse, 100));
    let result = one.files().append("/memories/a.md", "one\n");
    assert!(matches!(result, Err(FileError::Store(StoreError::CommitUnknown))));
    plan.verdicts.lock().unwrap().clear();
    assert_eq!(log(&one), "start\none\n");
    assert_eq!(log(&two), "start\none\n");
}

#[test]
fn a_server_that_cannot_be_reached_changes_nothing_and_halts_nothing() {
    let (_, one, two, _) = hosts(&[Verdict::Refuse]);
    let result = one.files().append("/memories/a.md", "one\n");
    assert!(matches!(result, Err(FileError::Store(StoreError::Unavailable(_)))));
    assert_eq!(log(&two), "start\n");
    one.files().append("/memories/a.md", "again\n").unwrap();
    assert_eq!(log(&two), "start\nagain\n");
}
