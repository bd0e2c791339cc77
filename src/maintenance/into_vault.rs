//! A copy of the store in a vault of a database, which is read back.

use std::sync::Arc;

use inmost_format::record::node::{Root, Trail};
use inmost_postgres::{PostgresStorage, VaultId};
use inmost_storage::limits::TRAIL_REACH;
use inmost_storage::{EngineKind, SharedBatch, Storage};

use super::copy::strict;
use super::rewrite::{Versions, write_generation};
use crate::session::generation::{FIRST_GENERATION, NextGeneration, write_headers};
use crate::session::{Postgres, ReadAhead, Session, StoreError, locate, occupied};

impl Session {
    /// As [`copy_in`](Session::copy_in), into the vault that a URL names; see
    /// [`VaultOptions::open_url`](crate::VaultOptions::open_url).
    ///
    /// # Errors
    /// Those of [`copy_in`](Session::copy_in); [`StoreError::Unavailable`] also for a URL that is not valid.
    pub fn copy_to_url(&self, url: &str, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
        let (database, id) = locate(url)?;
        self.copy_in(&database, id, progress)
    }

    /// Copies the store, with its versions, into a new vault of a database, and reads the copy back. The vault opens with the
    /// same credentials and has a data key of its own. Writers wait meanwhile. This store does not change.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]; [`StoreError::Unavailable`]; [`StoreError::Tampered`] if a live record is damaged;
    /// [`StoreError::CopyNotVerified`]; [`StoreError::InMemory`].
    pub fn copy_in(
        &self,
        database: &Postgres,
        id: VaultId,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), StoreError> {
        let storage = Arc::new(PostgresStorage::create(database.server(), id).map_err(occupied)?);
        let (next, root) = self.exclusive(|_| {
            self.read_everything(|open| {
                let keys = open.keys().ok_or(StoreError::InMemory)?;
                let next =
                    NextGeneration::generation(keys, FIRST_GENERATION, EngineKind::Postgres)?;
                // The copy is a commit of its own. No trail leads to it from the states of this store, so its number is beyond what a
                // trail has to prove: their marks hold for the vault.
                let commit = open.root().commit.saturating_add(TRAIL_REACH).saturating_add(1);
                let root = Root { commit, trail: Trail::default(), ..open.root().clone() };
                let (from, root) = (ReadAhead::once(open), Versions::Keep.root(&root));
                let written =
                    write_generation(&from, &root, &*storage, &next, &mut strict, &mut *progress)?;
                // Where the chain of the commits begins that the server will see.
                let (revision, trail) = (commit, Some(root.trail.to_bytes()));
                let begin = SharedBatch { revision, trail, ..SharedBatch::default() };
                written.engine.shared().map_or(Ok(()), |engine| engine.commit(&begin))?;
                written.engine.close()?;
                write_headers(&*storage, next.header())?;
                Ok::<_, StoreError>((next, open.root().clone()))
            })
        })?;
        let engine = storage.open_generation(next.generation, next.engine)?;
        let copy = Session::of_copy(storage, engine, next.sealer)?;
        let report = copy.check_reporting(progress)?;
        copy.lock();
        if report.is_readable() && (report.files, report.bytes) == (root.files, root.bytes) {
            return Ok(());
        }
        Err(StoreError::CopyNotVerified {
            copy: format!("vault {id}"),
            why: "it does not hold the files of the store".to_owned(),
        })
    }
}
