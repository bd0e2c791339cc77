//! Reads rows. Nothing that a server returns is trusted: types and lengths are checked.

use inmost_storage::{Address, limits};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::failure::Failure;

/// The only row of a result.
pub(super) fn only(rows: &[Row]) -> Result<&Row, Failure> {
    match rows {
        [row] => Ok(row),
        _ => Err(Failure::Malformed("another number of rows")),
    }
}

/// The number that is a whole result.
pub(super) fn number(rows: &[Row]) -> Result<i64, Failure> {
    column(only(rows)?, 0)
}

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Failure> {
    row.try_get(column).map_err(|_| Failure::Malformed("a column of another type"))
}

/// A text of at most 1,000 bytes without control characters.
pub(super) fn text(row: &Row, number: usize) -> Result<String, Failure> {
    let text: &str = column(row, number)?;
    if text.len() > 1_000 || text.chars().any(char::is_control) {
        return Err(Failure::Malformed("an odd text"));
    }
    Ok(text.to_owned())
}

pub(super) fn address(row: &Row, number: usize) -> Result<Address, Failure> {
    let bytes: &[u8] = column(row, number)?;
    bytes.try_into().map(Address).map_err(|_| Failure::Malformed("an address of another length"))
}

pub(super) fn value(row: &Row, number: usize) -> Result<Vec<u8>, Failure> {
    optional_value(row, number)?.ok_or(Failure::Malformed("no value"))
}

pub(super) fn optional_value(row: &Row, number: usize) -> Result<Option<Vec<u8>>, Failure> {
    let bytes: Option<&[u8]> = column(row, number)?;
    match bytes {
        Some(bytes) if bytes.len() > limits::RECORD_VALUE_BYTES => {
            Err(Failure::Malformed("a value that is too long"))
        }
        bytes => Ok(bytes.map(<[u8]>::to_vec)),
    }
}

/// The number of a generation, which is never negative in the database.
pub(super) fn generation(row: &Row, number: usize) -> Result<u64, Failure> {
    let stored: i64 = column(row, number)?;
    u64::try_from(stored).map_err(|_| Failure::Malformed("a negative generation"))
}
