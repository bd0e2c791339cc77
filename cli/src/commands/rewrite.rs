//! The part that `compact`, `purge` and `migrate` share: they write the whole store anew.

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::OpenStore;

/// Rewrites a store and prints its size on disk before and after.
pub(super) fn rewrite(
    args: &StoreArgs,
    verb: &str,
    work: impl FnOnce(&OpenStore, &mut dyn FnMut(u64)) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (before, after) = args.with_store_as_it_is(Input::Free, |store| {
        let before = store.status()?.disk_bytes;
        let mut progress = Progress::new("records written");
        work(store, &mut |records| progress.update(records))?;
        Ok((before, store.status()?.disk_bytes))
    })?;
    print(format!("The store was {verb}: {before} bytes before, {after} now.\n").as_bytes())
}
