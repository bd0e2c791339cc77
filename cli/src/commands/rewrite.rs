//! The part that `compact`, `purge` and `migrate` share: they rewrite the whole store.

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
    let after = store.status()?.disk_bytes;
    drop(store);
    print(format!("The store was {verb}: {before} bytes before, {after} now.\n").as_bytes())
}
