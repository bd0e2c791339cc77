//! One vault in a database.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inmost_storage::{
    BareFiles, Delta, Engine, EngineKind, HeaderCopy, SharedStorage, Storage, StorageError, limits,
};
use tokio_postgres::types::Type;

use super::bare::BareRecords;
use super::connection::Parameter;
use super::engine::PostgresEngine;
use super::failure::Failure;
use super::generation::{Generation, as_generation, size};
use super::opening::{Opening, header};
use super::place::Place;
use super::pool::Server;
use super::vault_id::VaultId;
use super::{rows, statements};

/// One vault. Any number of hosts may have a value of this type for the same vault.
pub struct PostgresStorage {
    place: Arc<Place>,
    /// What opening has read, until it is used.
    opening: Mutex<Opening>,
}

impl PostgresStorage {
    #[cfg(test)]
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Opens a vault, in one round trip that also reads what an unlock needs.
    ///
    /// # Errors
    /// [`StorageError::Missing`] if there is no such vault, [`StorageError::Unavailable`].
    pub fn open(server: &Server, vault: VaultId) -> Result<Self, StorageError> {
        let opened = Self::at(server, vault)?;
        if opened.opening().header.is_none() {
            return Err(StorageError::Missing);
        }
        Ok(opened)
    }

    /// Prepares a new vault. It exists once its header is written.
    ///
    /// # Errors
    /// [`StorageError::Io`] of the kind `AlreadyExists`, [`StorageError::Unavailable`].
    pub fn create(server: &Server, vault: VaultId) -> Result<Self, StorageError> {
        let opened = Self::at(server, vault)?;
        if opened.opening().header.is_some() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        }
        Ok(opened)
    }

    /// Deletes a vault: first the header, which alone holds its keys, then all records.
    ///
    /// The server keeps deleted rows until it vacuums them, and longer in its log, its standbys and its backups.
    ///
    /// # Errors
    /// [`StorageError::Missing`], [`StorageError::Unavailable`].
    pub fn destroy(server: &Server, vault: VaultId) -> Result<(), StorageError> {
        let name = vault.0.as_slice();
        // Each statement may be repeated, so a lost reply is not an unknown outcome.
        let run = |statement| {
            server.read(|connection| connection.query(statement, &[(&name, Type::BYTEA)]))
        };
        let had_header = !run(statements::DESTROY_HEADER)?.is_empty();
        let mut had_records = false;
        loop {
            let found = run(statements::DESTROY_SOME)?;
            let count = rows::number(&found).map_err(Failure::of_read)?;
            // A count that cannot be comes from a server that would go on for ever.
            if count <= 0 {
                break;
            }
            had_records = true;
        }
        let had_generations = !run(statements::DESTROY_GENERATIONS)?.is_empty();
        run(statements::DESTROY_TRAILS)?;
        if had_header || had_records || had_generations {
            Ok(())
        } else {
            Err(StorageError::Missing)
        }
    }

    fn at(server: &Server, vault: VaultId) -> Result<Self, StorageError> {
        let opening = Opening::read(server, vault)?;
        let lacks_root = opening.header.is_some() && opening.newest.is_none();
        let place = Place::new(server, vault, lacks_root);
        Ok(Self { place: Arc::new(place), opening: Mutex::new(opening) })
    }

    fn opening(&self) -> MutexGuard<'_, Opening> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn generation(&self, number: i64) -> Generation {
        Generation { place: Arc::clone(&self.place), number }
    }

    /// Deletes the records of a generation under this lease, then the generation.
    fn empty(&self, number: i64, lease: &[u8], and_remove: bool) -> Result<(), StorageError> {
        let seconds = lease_seconds();
        loop {
            let gone = self.place.query(
                statements::REMOVE_SOME,
                &[(&number, Type::INT8), (&lease, Type::BYTEA), (&seconds, Type::FLOAT8)],
            )?;
            if rows::number(&gone).map_err(Failure::of_read)? <= 0 {
                break;
            }
        }
        if and_remove {
            let parameters: [Parameter<'_>; 2] = [(&number, Type::INT8), (&lease, Type::BYTEA)];
            self.place.query(statements::REMOVE_GENERATION, &parameters)?;
        }
        Ok(())
    }

    /// Removes generations that nobody needs: the one of this number, or all of them.
    fn remove(&self, only: Option<i64>) -> Result<usize, StorageError> {
        let own: Vec<Vec<u8>> =
            self.place.leases().values().map(|held| held.lease.clone()).collect();
        let seconds = lease_seconds();
        let parameters: [Parameter<'_>; 3] =
            [(&own, Type::BYTEA_ARRAY), (&seconds, Type::FLOAT8), (&only, Type::INT8)];
        let mut claimed = self.place.query(statements::CLAIM_LEFTOVERS, &parameters)?;
        if only.is_some() && claimed.is_empty() {
            claimed = self.place.query(statements::CLAIM_OWN, &parameters)?;
        }
        for row in &claimed {
            let read = || Ok((rows::column::<i64>(row, 0)?, rows::column::<Vec<u8>>(row, 1)?));
            let (number, lease) = read().map_err(Failure::of_read)?;
            self.empty(number, &lease, true)?;
            self.place.end_lease(number);
            self.opening().generations.remove(&number);
        }
        Ok(claimed.len())
    }

    fn stored_generations(&self) -> Result<Vec<i64>, StorageError> {
        let found = self.place.query(statements::GENERATIONS, &[])?;
        let numbers = found.iter().map(|row| rows::column(row, 0)).collect::<Result<_, Failure>>();
        numbers.map_err(Failure::of_read)
    }
}

impl Storage for PostgresStorage {
    fn shared(&self) -> Option<&dyn SharedStorage> {
        Some(self)
    }

    fn read_header(&self, copy: HeaderCopy) -> Result<Option<Vec<u8>>, StorageError> {
        if copy == HeaderCopy::B {
            return Ok(None);
        }
        if let Some(header) = self.opening().header.take() {
            return Ok(Some(header));
        }
        let found = self.place.query(statements::HEADER, &[])?;
        found.first().map(|row| header(row, 0)).transpose().map_err(Failure::of_read)
    }

    fn write_header(&self, copy: HeaderCopy, bytes: &[u8]) -> Result<(), StorageError> {
        if copy == HeaderCopy::B {
            return Ok(());
        }
        let created =
            self.place.leases().last_key_value().map(|(it, held)| (*it, held.lease.clone()));
        if let Some((number, lease)) = created {
            let parameters: [Parameter<'_>; 3] =
                [(&number, Type::INT8), (&bytes, Type::BYTEA), (&lease, Type::BYTEA)];
            let found = self.place.query(statements::CREATE_VAULT, &parameters)?;
            if rows::number(&found).map_err(Failure::of_read)? == 1 {
                self.place.end_lease(number);
                return Ok(());
            }
        }
        // The reply to an earlier attempt may have been lost.
        if self.read_header(HeaderCopy::A)?.as_deref() == Some(bytes) {
            return self.place.vouch_anew();
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists).into())
    }

    fn generations(&self) -> Result<Vec<u64>, StorageError> {
        let numbers = self.stored_generations()?.into_iter().map(u64::try_from);
        numbers
            .collect::<Result<_, _>>()
            .map_err(|_| Failure::Malformed("a negative generation").of_read())
    }

    fn create_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        check_kind(engine)?;
        let number = as_generation(number)?;
        let seconds = lease_seconds();
        let parameters: [Parameter<'_>; 2] = [(&number, Type::INT8), (&seconds, Type::FLOAT8)];
        let created = self.place.query(statements::CREATE_GENERATION, &parameters)?;
        let Some(row) = created.first() else {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
        };
        let read = || Ok((rows::column::<Vec<u8>>(row, 0)?, rows::column::<bool>(row, 1)?));
        let (lease, replaces) = read().map_err(Failure::of_read)?;
        if replaces {
            self.empty(number, &lease, false)?;
        }
        self.place.begin_lease(number, lease);
        self.opening().generations.insert(number);
        Ok(Box::new(PostgresEngine(self.generation(number))))
    }

    fn open_generation(
        &self,
        number: u64,
        engine: EngineKind,
    ) -> Result<Box<dyn Engine>, StorageError> {
        check_kind(engine)?;
        let number = as_generation(number)?;
        let is_known = self.opening().generations.contains(&number);
        if !is_known && !self.stored_generations()?.contains(&number) {
            return Err(StorageError::Missing);
        }
        Ok(Box::new(PostgresEngine(self.generation(number))))
    }

    fn bare_files(&self, number: u64) -> Result<Box<dyn BareFiles>, StorageError> {
        let number = as_generation(number)?;
        if !self.stored_generations()?.contains(&number) {
            return Err(StorageError::Missing);
        }
        Ok(Box::new(BareRecords::find(self.generation(number))?))
    }

    fn remove_generation(&self, number: u64) -> Result<(), StorageError> {
        let number = as_generation(number)?;
        if self.remove(Some(number))? == 0 && self.stored_generations()?.contains(&number) {
            return Err(StorageError::InUse(None));
        }
        Ok(())
    }

    fn size(&self) -> Result<u64, StorageError> {
        let vault = self.place.vault();
        self.place.server.read(|connection| size(connection, vault, None))
    }
}

impl SharedStorage for PostgresStorage {
    fn most_connections(&self) -> usize {
        self.place.server.most_connections()
    }

    fn renew_lease(&self, generation: u64) -> Result<(), StorageError> {
        self.place.renew_lease(as_generation(generation)?)
    }

    fn remove_leftovers(&self) -> Result<(), StorageError> {
        // The first time, what opening has seen is enough to know that there is nothing to do.
        let is_alone = {
            let mut opening = self.opening();
            let is_fresh = std::mem::take(&mut opening.is_fresh);
            is_fresh && opening.generations.len() <= 1
        };
        if is_alone {
            return Ok(());
        }
        self.remove(None).map(drop)
    }

    fn take_prefetched(&self, generation: u64) -> Option<Delta> {
        let newest = &mut self.opening().newest;
        newest.take_if(|delta| delta.generation == generation)
    }
}

fn check_kind(engine: EngineKind) -> Result<(), StorageError> {
    match engine {
        EngineKind::Postgres => Ok(()),
        EngineKind::Sled | EngineKind::Redb | EngineKind::Memory => Err(StorageError::NotBuilt),
    }
}

fn lease_seconds() -> f64 {
    limits::LEASE.as_secs_f64()
}
