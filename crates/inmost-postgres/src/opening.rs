//! Everything that an unlock needs from the server, in one round trip.

use std::collections::BTreeSet;

use inmost_storage::{Delta, StorageError, limits};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::failure::Failure;
use super::generation::{OPENING, fill};
use super::pool::Server;
use super::schema::Schema;
use super::vault_id::VaultId;
use super::{rows, statements};

/// A vault as it was when it was opened.
pub(super) struct Opening {
    /// The header; `None` if there is no such vault.
    pub(super) header: Option<Vec<u8>>,
    pub(super) generations: BTreeSet<i64>,
    /// The newest records of the current generation.
    pub(super) newest: Option<Delta>,
    /// Whether nothing was asked of the server since.
    pub(super) is_fresh: bool,
}

impl Opening {
    pub(super) fn read(server: &Server, vault: VaultId) -> Result<Self, StorageError> {
        let name = vault.0.as_slice();
        let most = i64::try_from(OPENING.records.saturating_add(1)).unwrap_or(i64::MAX);
        let found = server.read(|connection| {
            connection.read(statements::OPEN, &[(&name, Type::BYTEA), (&most, Type::INT8)])
        })?;
        check_server(&found)?;
        Self::parse(&found).map_err(Failure::of_read)
    }

    fn parse(found: &[Row]) -> Result<Self, Failure> {
        let of = |kind| found.iter().filter(move |row| kind_of(row) == Some(kind));
        let generations =
            of(GENERATION).map(|row| rows::column(row, 1)).collect::<Result<_, Failure>>()?;
        let Some(head) = of(HEAD).next() else {
            return Ok(Self { header: None, generations, newest: None, is_fresh: true });
        };
        let root = of(ROOT).next().map(|row| rows::value(row, 3)).transpose()?;
        let mut newest = Delta {
            generation: rows::generation(head, 1)?,
            root,
            rows: Vec::new(),
            is_complete: true,
        };
        let records = of(RECORD).map(|row| Ok((rows::address(row, 2)?, rows::value(row, 3)?)));
        fill(&mut newest, records, OPENING)?;
        let newest = newest.root.is_some().then_some(newest);
        Ok(Self { header: Some(header(head, 3)?), generations, newest, is_fresh: true })
    }
}

/// The header of a row, bounded in length.
pub(super) fn header(row: &Row, number: usize) -> Result<Vec<u8>, Failure> {
    let bytes: &[u8] = rows::column(row, number)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= limits::HEADER_READ_BYTES => Ok(bytes.to_vec()),
        _ => Err(Failure::Malformed("a header that is too long")),
    }
}

/// Refuses tables of another version, and a server that loses acknowledged changes when it loses power.
fn check_server(found: &[Row]) -> Result<(), StorageError> {
    let number = |kind| {
        let mut numbers = found.iter().filter(|row| kind_of(row) == Some(kind));
        numbers.next().and_then(|row| rows::column::<i64>(row, 1).ok())
    };
    let unavailable = |why: String| Err(StorageError::Unavailable(why));
    let own = i64::from(Schema::VERSION);
    match number(VERSION) {
        Some(version) if version == own => {}
        Some(version) if version > own => {
            return unavailable(format!(
                "the tables of inmost in this database are of version {version}, and this program knows version {own}; use a newer one"
            ));
        }
        _ => {
            return unavailable(
                "the tables of inmost in this database are incomplete or of an earlier version; load the output of `inmost postgres-schema` into a new database".into(),
            );
        }
    }
    match number(SETTINGS) {
        Some(0) => Ok(()),
        Some(1) => unavailable(
            "the server acknowledges changes before they are on its disk (synchronous_commit = off); change that for the role or the database".into(),
        ),
        Some(3) => unavailable(
            "the server is told to send no warnings (client_min_messages), and one of them says that a change may be lost; change that for the role or the database".into(),
        ),
        _ => unavailable("the server does not wait for its disk (fsync = off); change that".into()),
    }
}

fn kind_of(row: &Row) -> Option<i32> {
    row.try_get(0).ok()
}

const VERSION: i32 = 0;
const SETTINGS: i32 = 1;
const HEAD: i32 = 2;
const GENERATION: i32 = 3;
const ROOT: i32 = 4;
const RECORD: i32 = 5;
