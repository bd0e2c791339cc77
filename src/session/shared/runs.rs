//! Several calls in one commit of a shared store.

use crate::session::commit::exclusive::Exclusive;
use crate::session::commit::handle::Session;
use crate::session::commit::series::fits;
use crate::session::error::StoreError;
use crate::session::transaction::Txn;
use crate::session::transaction::overlay::Overlay;
use crate::session::transaction::overlay::VERSIONS_OF_GROUP;
use crate::session::upkeep::reap;
use inmost_storage::limits::BATCH_RECORDS_MAX;

impl Session {
    /// Runs calls in their order, and makes the changes of as many of them durable together as fit one commit. Returns the
    /// result of each, of at least one. If another host was faster, all of them run again.
    ///
    /// # Errors
    /// An error of the store, as `work` returns it outside, ends the run: then nothing has changed. The error of a call,
    /// inside, changes nothing for the others.
    pub(crate) fn run_together<T, E: From<StoreError>>(
        &self,
        calls: usize,
        mut work: impl FnMut(usize, &mut Txn<'_>) -> Result<Result<T, E>, StoreError>,
    ) -> Result<Vec<Result<T, E>>, StoreError> {
        self.exclusive(|exclusive| {
            let results = exclusive.commit_together(calls, &mut work)?;
            // A full group leaves little room for reaping. Without this step, a long import would discard records faster than
            // they are reaped.
            if self.read_once(|open| Ok::<_, StoreError>(reap::is_due(open)?))? {
                exclusive.reap()?;
            }
            Ok(results)
        })
    }
}

impl Exclusive<'_> {
    fn commit_together<T, E: From<StoreError>>(
        &self,
        calls: usize,
        work: &mut impl FnMut(usize, &mut Txn<'_>) -> Result<Result<T, E>, StoreError>,
    ) -> Result<Vec<Result<T, E>>, StoreError> {
        let author = self.session().author.clone();
        // As many as have a number of their own, and no more if they change nothing: writers wait meanwhile.
        let calls = calls.min(usize::try_from(VERSIONS_OF_GROUP).unwrap_or(usize::MAX));
        self.commit_planned(|open| {
            let mut group = Overlay::default();
            let mut results = Vec::with_capacity(calls);
            for call in 0..calls {
                let mut txn = Txn::new(open, &group, &author);
                let result = work(call, &mut txn)?;
                let changes = txn.into_overlay();
                if result.is_ok() && !changes.is_empty() {
                    if group.is_empty() && group.records_with(&changes) > BATCH_RECORDS_MAX {
                        results.push(Err(StoreError::TooLarge.into()));
                        continue;
                    }
                    if !group.is_empty() && !fits(open, &group, &changes)? {
                        break;
                    }
                    group.merge(changes)?;
                }
                results.push(result);
            }
            Ok((results, group))
        })
    }
}
