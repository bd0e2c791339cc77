//! What a failed call means, and what to do about it.

use std::error::Error as _;

use inmost_storage::StorageError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The failure of a call to the server.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server refused the statement, and nothing of it has an effect.
    Refused(SqlState, String),
    /// There is no connection any more. What was sent may have arrived.
    Lost(String),
    /// The server warned during the call. It does so if it cannot vouch for a commit.
    Warned(String),
    /// No connection was made, or none was free, so nothing was sent.
    Unreachable(String),
    /// The connections are of the process that this one was forked from.
    Forked,
    /// The server returned something else than the statement yields.
    Malformed(&'static str),
}

impl Failure {
    /// The failure of a statement. An error that ends the connection says nothing about the statement.
    pub(super) fn of_statement(error: &Error) -> Self {
        match error.as_db_error() {
            Some(refusal) if refusal.parsed_severity() == Some(Severity::Error) => {
                Self::Refused(refusal.code().clone(), described(refusal))
            }
            Some(ending) => Self::Lost(described(ending)),
            None => Self::Lost(chain(error)),
        }
    }

    /// The failure of a read, or of anything that changes nothing of a vault.
    pub(super) fn of_read(self) -> StorageError {
        match self {
            Self::Refused(code, message) => refused(&code, &message),
            Self::Lost(why) => StorageError::Unavailable(format!("the connection was lost: {why}")),
            Self::Warned(why) => StorageError::Unavailable(format!("the server warned: {why}")),
            Self::Unreachable(why) => StorageError::Unavailable(why),
            Self::Forked => StorageError::Forked,
            Self::Malformed(what) => StorageError::Corrupt(format!("the server returned {what}")),
        }
    }

    /// The failure of a commit.
    pub(super) fn of_commit(self) -> StorageError {
        match self {
            Self::Refused(code, _) if CONFLICTS.contains(&code) => StorageError::Conflict,
            Self::Lost(why) => StorageError::Unknown(format!("the connection was lost: {why}")),
            Self::Warned(why) => StorageError::Unknown(format!("the server warned: {why}")),
            Self::Malformed(what) => StorageError::Unknown(format!("the server returned {what}")),
            failure => failure.of_read(),
        }
    }

    /// Whether another connection may succeed at once.
    pub(super) const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

/// Serialization failure, deadlock, and the division by zero by which a statement says that only one of header and root matched.
const CONFLICTS: [SqlState; 3] = [
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    SqlState::DIVISION_BY_ZERO,
];

/// The advice for a refusal of the server.
fn refused(code: &SqlState, message: &str) -> StorageError {
    let because = |what: &str| StorageError::Unavailable(format!("{what} ({message})"));
    match *code {
        SqlState::DISK_FULL => StorageError::Full,
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN | SqlState::INVALID_SCHEMA_NAME => {
            because(
                "the tables of inmost are missing in this database; load the output of `inmost postgres-schema` as its owner",
            )
        }
        SqlState::INSUFFICIENT_PRIVILEGE => because(
            "the role lacks rights on the tables of inmost; grant them as `inmost postgres-schema` does",
        ),
        SqlState::READ_ONLY_SQL_TRANSACTION => because(
            "the server is a standby, which only reads; connect to the primary, or name all servers in the URL",
        ),
        SqlState::LOCK_NOT_AVAILABLE => because("another host has held the vault for too long"),
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => {
            because("other hosts were in the way; try again")
        }
        _ => because("the server refused a statement"),
    }
}

/// Why a host cannot be used, with what to do about it.
pub(super) fn unreachable(error: &Error, address: &str, role: &str, database: &str) -> String {
    match error.as_db_error() {
        None => format!("cannot connect to {address}: {}", chain(error)),
        Some(refusal) => {
            let message = described(refusal);
            match *refusal.code() {
                SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                    format!(
                        "{address} does not accept the role {role}; check its name, its password and the server's pg_hba.conf ({message})"
                    )
                }
                SqlState::INVALID_CATALOG_NAME => {
                    format!("{address} has no database {database}; check the URL ({message})")
                }
                SqlState::TOO_MANY_CONNECTIONS => {
                    format!(
                        "{address} has no connection left; raise its limit or use a connection pool ({message})"
                    )
                }
                SqlState::CANNOT_CONNECT_NOW => {
                    format!("{address} is starting or stopping ({message})")
                }
                _ => format!("{address} refused the connection ({message})"),
            }
        }
    }
}

/// The message of the server, without characters that could control a terminal, and bounded.
pub(super) fn described(error: &DbError) -> String {
    let message = error.message().chars().filter(|character| !character.is_control());
    format!("{}: {}", error.code().code(), message.take(MESSAGE_CHARACTERS).collect::<String>())
}

/// The error and its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text.chars().filter(|character| !character.is_control()).take(MESSAGE_CHARACTERS).collect()
}

/// The longest message of a server that is passed on, in characters.
const MESSAGE_CHARACTERS: usize = 300;
