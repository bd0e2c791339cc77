//! SQLCipher with its defaults: one table of files, and a write-ahead log that is synced at every commit. It
//! gets a raw key, because inmost's key is also derived before timing starts.

use std::error::Error;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::peer::{CallResult, Peer};
use crate::text;
use crate::trace::Call;

/// A connection to a database of files.
pub struct SqlCipher {
    connection: Mutex<Connection>,
}

impl SqlCipher {
    /// Creates an empty database.
    ///
    /// # Errors
    /// The errors of the database, and a build that does not encrypt.
    pub fn begin(path: &Path) -> Result<Self, Box<dyn Error>> {
        std::fs::create_dir_all(path)?;
        let database = Self::connect(path)?;
        database.connection().execute_batch(
            "CREATE TABLE file (path TEXT PRIMARY KEY, bytes INTEGER NOT NULL, text TEXT NOT NULL)",
        )?;
        Ok(database)
    }

    /// Opens another connection to a database.
    ///
    /// # Errors
    /// The errors of the database, and a build that does not encrypt.
    pub fn connect(path: &Path) -> Result<Self, Box<dyn Error>> {
        let connection = Connection::open(path.join("memories.db"))?;
        // Writers of several connections wait for each other, for as long as it takes.
        connection.busy_timeout(Duration::from_secs(60))?;
        let key = format!("x'{}'", "5a".repeat(32));
        connection.pragma_update(None, "key", key)?;
        let version: Option<String> =
            connection.query_row("PRAGMA cipher_version", [], |row| row.get(0)).optional()?;
        if version.is_none() {
            return Err("this build of SQLite does not encrypt".into());
        }
        let mode: String =
            connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err("the write-ahead log cannot be enabled".into());
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().expect("no panic")
    }
}

impl Peer for SqlCipher {
    fn call(&self, json: &str) -> CallResult {
        let call: Call = serde_json::from_str(json)?;
        let mut connection = self.connection();
        if let Call::View { path, view_range } = call {
            return match read(&connection, &path)? {
                Some(content) => Ok(text::view(&path, &content, view_range)),
                None => list(&connection, &path),
            };
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let told = change(&transaction, call)?;
        transaction.commit()?;
        Ok(told)
    }

    fn text(&self, path: &str) -> Option<CallResult> {
        let text = read(&self.connection(), path).map_err(Into::into);
        Some(text.and_then(|text| text.ok_or_else(|| format!("no file {path}").into())))
    }
}

fn change(transaction: &Transaction<'_>, call: Call) -> CallResult {
    match call {
        Call::View { .. } => unreachable!("a view is not a change"),
        Call::Create { path, file_text } => {
            let mut insert = transaction
                .prepare_cached("INSERT INTO file (path, bytes, text) VALUES (?1, ?2, ?3)")?;
            insert.execute(params![path, file_text.len(), file_text])?;
            Ok(format!("File created successfully at: {path}"))
        }
        Call::StrReplace { path, old_str, new_str } => {
            let content = existing(transaction, &path)?;
            let (edited, told) = text::str_replace(&content, &old_str, &new_str)?;
            write(transaction, &path, &edited)?;
            Ok(told)
        }
        Call::Insert { path, insert_line, insert_text } => {
            let content = existing(transaction, &path)?;
            write(transaction, &path, &text::insert(&content, insert_line, &insert_text)?)?;
            Ok(format!("The file {path} has been edited."))
        }
        Call::Delete { path } => {
            let mut delete = transaction.prepare_cached("DELETE FROM file WHERE path = ?1")?;
            one(delete.execute([&path])?, &path)?;
            Ok(format!("Successfully deleted {path}"))
        }
        Call::Rename { old_path, new_path } => {
            let mut rename =
                transaction.prepare_cached("UPDATE file SET path = ?2 WHERE path = ?1")?;
            one(rename.execute([&old_path, &new_path])?, &old_path)?;
            Ok(format!("Successfully renamed {old_path} to {new_path}"))
        }
    }
}

fn read(connection: &Connection, path: &str) -> rusqlite::Result<Option<String>> {
    let mut select = connection.prepare_cached("SELECT text FROM file WHERE path = ?1")?;
    select.query_row([path], |row| row.get(0)).optional()
}

fn existing(connection: &Connection, path: &str) -> CallResult {
    read(connection, path)?.ok_or_else(|| format!("The path {path} does not exist").into())
}

fn write(
    connection: &Connection,
    path: &str,
    text: &str,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut update =
        connection.prepare_cached("UPDATE file SET bytes = ?2, text = ?3 WHERE path = ?1")?;
    one(update.execute(params![path, text.len(), text])?, path)
}

fn one(changed: usize, path: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
    if changed == 1 { Ok(()) } else { Err(format!("Error: The path {path} does not exist").into()) }
}

/// Lists a folder. A folder exists if paths share it as a prefix. All files below count, and entries within
/// two levels are shown.
fn list(connection: &Connection, path: &str) -> CallResult {
    let mut select = connection.prepare_cached(
        "SELECT path, bytes FROM file WHERE path > ?1 AND path < ?2 ORDER BY path",
    )?;
    // In ASCII, `0` follows `/`.
    let mut rows = select.query([format!("{path}/"), format!("{path}0")])?;
    let (mut total, mut entries) = (0, std::collections::BTreeMap::<String, u64>::new());
    while let Some(row) = rows.next()? {
        let (file, bytes): (String, u64) = (row.get(0)?, row.get(1)?);
        let names: Vec<&str> = file[path.len() + 1..].split('/').collect();
        if names.iter().any(|name| text::is_hidden(name)) {
            continue;
        }
        total += bytes;
        for depth in 1..=names.len().min(2) {
            let slash = if depth < names.len() { "/" } else { "" };
            let entry = format!("{path}/{}{slash}", names[..depth].join("/"));
            *entries.entry(entry).or_default() += bytes;
        }
    }
    if entries.is_empty() {
        return Err(format!("The path {path} does not exist. Please provide a valid path.").into());
    }
    Ok(text::listing(path, total, entries.into_iter().collect()))
}
