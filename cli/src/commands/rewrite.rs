//! The part that `compact`, `purge` and `migrate` share: they rewrite the whole store.

use inmost::SessionStatus;

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;

/// Rewrites a store and prints its size on disk before and after.
pub(super) fn rewrite(
    args: &StoreArgs,
    verb: &str,
    work: impl FnOnce(&OpenStore, &mut dyn FnMut(u64)) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let store = args.open(&OpenOptions { hint_compaction: false, ..OpenOptions::default() })?;
    let before = store.status()?.disk_bytes;
    let mut progress = Progress::new("records written");
    work(&store, &mut |records| progress.update(records))?;
    drop(progress);
    let status = store.status()?;
    drop(store);
    let after = status.disk_bytes;
    let mut text = format!("The store was {verb}: {before} bytes before, {after} now.\n");
    text.push_str(&remaining(&status));
    print(text.as_bytes())
}

/// The line about records that no rewrite removes; empty without such records.
pub(super) fn remaining(status: &SessionStatus) -> String {
    match status.set_aside_bytes {
        0 => String::new(),
        bytes => format!(
            "Records that were set aside are still there: {bytes} bytes. `inmost discard` removes them.\n"
        ),
    }
}
