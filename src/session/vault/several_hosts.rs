//! Creating and unlocking stores that several hosts share.

use std::sync::Arc;

use super::{Vault, VaultOptions, occupied};
use crate::session::anchor::freshness::{self, Rollback};
use crate::session::anchor::{Anchor, Mark};
use crate::session::commit::handle::Session;
use crate::session::error::StoreError;
use crate::session::open::generation::{open_records, sealer};
use crate::session::open::{Open, open_root};
use crate::session::shared::{CATCHES, MOVING, Seen, check_order, pull_all};
use inmost_format::header::{Credential, Unlocked};
use inmost_format::record::{Flaw, Kind, RecordId, Tag};
use inmost_storage::{Delta, EngineKind, HeaderCopy, SharedStorage, Storage};

impl VaultOptions {
    /// Creates a store in a shared place that has none, and unlocks it. Of several hosts that do this at once, one succeeds.
    ///
    /// # Errors
    /// Those of [`create_with`](VaultOptions::create_with).
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "storages that hosts share are in some builds only")
    )]
    pub(crate) fn create_shared<'a>(
        &self,
        storage: Arc<dyn Storage>,
        engine: EngineKind,
        credential: impl Into<Credential<'a>>,
    ) -> Result<Session, StoreError> {
        if storage.read_header(HeaderCopy::A)?.is_some() {
            return Err(StoreError::AlreadyExists);
        }
        self.check_anchor_is_free()?;
        let keys = self.fill(&*storage, engine, credential).map_err(|error| match error {
            StoreError::Io(error) => occupied(error.into()),
            error => error,
        })?;
        let sealer = sealer(&keys);
        let records = open_records(&*storage, keys.header(), &sealer)?;
        let anchor = Anchor::new(&keys, self.freshness.clone());
        let mut open = Open::new(storage, records, sealer, Some(keys), &self.session)?;
        if self.freshness.is_some() {
            open.keep_anchor(anchor);
            open.remember();
        }
        Session::with(open, &self.session)
    }
}

impl Vault {
    /// Unlocks a store that other hosts may use and change at the same time.
    pub(super) fn unlock_shared(
        &mut self,
        storage: &Arc<dyn Storage>,
        place: &dyn SharedStorage,
        credential: &Credential<'_>,
        rollback: Rollback,
    ) -> Result<Session, StoreError> {
        let mut was_behind = false;
        for _ in 0..CATCHES {
            let keys = self.unlock_header(credential)?;
            let begun = newest(place, keys)
                .and_then(|(keys, delta)| self.begin_shared(storage, keys, &delta, rollback));
            match begun {
                Ok(session) => {
                    self.storage = None;
                    return Ok(session);
                }
                // The root may have been read long ago, when the vault was opened, and a program of this device have changed the
                // store and its anchor since. The next attempt asks the server.
                Err(StoreError::RolledBack { .. }) if !was_behind => was_behind = true,
                Err(error) if self.has_same_header(&**storage)? => return Err(error),
                // Another host has changed the header since it was read, so the records are of another one.
                Err(_) => {}
            }
        }
        Err(StoreError::Unavailable(MOVING.to_owned()))
    }

    fn begin_shared(
        &self,
        storage: &Arc<dyn Storage>,
        keys: Unlocked,
        delta: &Delta,
        rollback: Rollback,
    ) -> Result<Session, StoreError> {
        let header = keys.header().clone();
        let sealer = sealer(&keys);
        let engine = open_records(&**storage, &header, &sealer)?;
        let mut anchor = self.anchor(&keys)?;
        let root_value = delta.root.clone().unwrap_or_default();
        let root = open_root(&sealer, &root_value)?;
        let options = &self.options;
        let storage = Arc::clone(storage);
        let mut open = Open::at_root(
            storage,
            engine,
            sealer,
            Some(keys),
            (root, root_value),
            &options.session,
        )?;
        open.keep_sealed(&delta.rows);
        let (bound, found) = (open.root().header, open.mark());
        // Its place has no anchor.
        let anchored = 0;
        let unsettled =
            freshness::check(&header, &bound, found.as_ref(), anchored, &mut anchor, rollback)?;
        if rollback == Rollback::Refuse {
            for (commit, tag) in anchor.required().map(Mark::root) {
                let seen = Seen { commit, tag: Some(Tag(tag)) };
                check_order(open.engine(), &header.store(), &seen, open.root(), &open.root_value)?;
            }
        }
        if unsettled.header && rollback == Rollback::Refuse {
            // Header and root change together here, so an unbound header is not what a crash leaves.
            let (expected, found) = (header.revision(), bound.revision);
            return Err(StoreError::RecordsBehindHeader { expected, found });
        }
        if options.requires_fresh
            && rollback == Rollback::Refuse
            && anchor.required().next().is_none()
        {
            return Err(StoreError::FreshnessUnknown);
        }
        if options.freshness.is_some() {
            open.keep_anchor(anchor);
        }
        // Only a rewrite whose host is gone leaves any, and the next rewrite or unlock can remove it as well.
        let _ = open.storage().shared().map(SharedStorage::remove_leftovers);
        let session = Session::with(open, &options.session)?;
        session.settle(unsettled.header.then(|| header.id()), unsettled.skip)?;
        Ok(session)
    }

    /// Reads the header again. Returns whether it is the one that was unlocked.
    fn has_same_header(&mut self, storage: &dyn Storage) -> Result<bool, StoreError> {
        let headers = self.options.read_headers(storage)?;
        let ids = |headers: &[(HeaderCopy, inmost_format::header::Header)]| {
            headers.iter().map(|(_, header)| header.id()).collect::<Vec<_>>()
        };
        let is_same = ids(&headers) == ids(&self.headers);
        self.headers = headers;
        Ok(is_same)
    }
}

/// The newest records of the generation that the header names.
fn newest(place: &dyn SharedStorage, keys: Unlocked) -> Result<(Unlocked, Delta), StoreError> {
    let header = keys.header();
    let mut delta = place.take_prefetched(header.generation());
    if delta.is_none() {
        let sealer = sealer(&keys);
        let engine = open_records(place, header, &sealer)?;
        delta = pull_all(&*engine, sealer.address(RecordId::ROOT))?;
    }
    let delta = delta.filter(|delta| delta.root.is_some());
    Ok((keys, delta.ok_or(StoreError::tampered(Kind::Root, Flaw::Absent))?))
}
