//! The connections of a process, shared by all of its vaults.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inmost_storage::StorageError;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::config::PostgresConfig;
use super::connection::Connection;
use super::failure::Failure;
use super::{rows, statements, tls};

/// A database, and a bounded pool of connections to it. Clones share the pool.
#[derive(Clone)]
pub struct Server(Arc<Pool>);

struct Pool {
    config: PostgresConfig,
    tls: Option<MakeRustlsConnect>,
    held: Mutex<Held>,
    returned: Condvar,
    round_trips: Arc<AtomicU64>,
    process: u32,
}

#[derive(Default)]
struct Held {
    idle: Vec<(Connection, Instant)>,
    /// Connections that are open or being opened, idle ones included.
    open: usize,
    /// Transactions that hold a connection.
    transactions: usize,
}

/// What a connection is taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// One call.
    Call,
    /// A transaction. Its host may need another connection before it ends.
    Transaction,
}

/// What a server says about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Hosts and ports that were given.
    pub address: String,
    /// The database.
    pub database: String,
    /// The role.
    pub role: String,
    /// The version of the server.
    pub version: String,
    /// Whether the connection is encrypted and verified.
    pub uses_tls: bool,
    /// Whether the server is a standby, which takes no changes.
    pub is_standby: bool,
    /// What a commit waits for: the setting `synchronous_commit`.
    pub synchronous_commit: String,
    /// The standbys that commits wait for, as the setting `synchronous_standby_names` names them; empty for none.
    pub synchronous_standbys: String,
}

impl Server {
    /// Makes an empty pool. Connects when the first call needs it.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`] if there are no certificates to verify the server with.
    pub fn new(config: PostgresConfig) -> Result<Self, StorageError> {
        let roots = config.root_certificates.as_deref();
        let tls = config.uses_tls().then(|| tls::connector(roots)).transpose()?;
        Ok(Self(Arc::new(Pool {
            config,
            tls,
            held: Mutex::default(),
            returned: Condvar::new(),
            round_trips: Arc::default(),
            process: std::process::id(),
        })))
    }

    /// Returns how many round trips the pool has made, without those of connecting.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.0.round_trips.load(Ordering::Relaxed)
    }

    /// Asks the server about itself.
    ///
    /// # Errors
    /// [`StorageError::Unavailable`].
    pub fn facts(&self) -> Result<ServerFacts, StorageError> {
        let found = self.read(|connection| connection.read(statements::FACTS, &[]))?;
        let row = rows::only(&found).map_err(Failure::of_read)?;
        let text = |column| rows::text(row, column).map_err(Failure::of_read);
        let config = &self.0.config;
        Ok(ServerFacts {
            address: config.address(),
            database: config.database().to_owned(),
            role: config.role().to_owned(),
            uses_tls: config.uses_tls(),
            version: text(0)?,
            is_standby: text(1)? == "true",
            synchronous_commit: text(2)?,
            synchronous_standbys: text(3)?,
        })
    }

    /// Takes a connection, for a commit.
    pub(super) fn connection(&self) -> Result<Lease, Failure> {
        self.take(Use::Call)
    }

    /// Takes a connection. Transactions leave one for calls: otherwise several of them, such as rewrites of several vaults, could
    /// hold all connections and each wait for another.
    fn take(&self, wanted: Use) -> Result<Lease, Failure> {
        let pool = &self.0;
        let most = pool.config.connections.saturating_sub(1).max(1);
        if pool.process != std::process::id() {
            return Err(Failure::Forked);
        }
        let deadline = Instant::now() + pool.config.wait_timeout;
        let mut held = pool.held();
        loop {
            let is_free = wanted == Use::Call || held.transactions < most;
            let mut taken = None;
            while let Some((mut connection, since)) = held.idle.pop_if(|_| is_free) {
                if since.elapsed() < IDLE_LIMIT && !connection.has_ended() {
                    taken = Some(connection);
                    break;
                }
                held.open = held.open.saturating_sub(1);
            }
            if taken.is_some() || is_free && held.open < pool.config.connections {
                if wanted == Use::Transaction {
                    held.transactions += 1;
                }
                // From here on the drop of the lease counts it out again.
                let mut lease = Lease { connection: taken, pool: Arc::clone(pool), wanted };
                if lease.connection.is_some() {
                    return Ok(lease);
                }
                held.open += 1;
                drop(held);
                let trips = Arc::clone(&pool.round_trips);
                lease.connection = Some(Connection::open(&pool.config, pool.tls.as_ref(), trips)?);
                return Ok(lease);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let count = pool.config.connections;
                let why = format!(
                    "all {count} connections of this process are in use; allow more of them"
                );
                return Err(Failure::Unreachable(why));
            }
            held = match pool.returned.wait_timeout(held, left) {
                Ok((held, _)) => held,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Runs a call that changes nothing, on a fresh connection again if the first one is lost.
    pub(super) fn read<T>(
        &self,
        mut call: impl FnMut(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StorageError> {
        let result = match self.with(&mut call) {
            Err(failure) if failure.is_lost() => {
                // A server that restarted has ended the other ones too.
                self.drop_idle();
                self.with(&mut call)
            }
            result => result,
        };
        result.map_err(Failure::of_read)
    }

    /// Begins a transaction, on a fresh connection again if the first one is lost.
    pub(super) fn begin(&self, statements: &str) -> Result<Lease, Failure> {
        let mut may_repeat = true;
        loop {
            let mut lease = self.take(Use::Transaction)?;
            match lease.with(|connection| connection.run(statements)) {
                Ok(()) => return Ok(lease),
                Err(failure) => {
                    // It may be in the midst of a transaction that failed.
                    lease.abandon();
                    if !failure.is_lost() || !std::mem::take(&mut may_repeat) {
                        return Err(failure);
                    }
                    self.drop_idle();
                }
            }
        }
    }

    /// Runs a call once.
    fn with<T>(
        &self,
        call: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.connection()?.with(call)
    }

    /// The most connections at once.
    pub(super) fn most_connections(&self) -> usize {
        self.0.config.connections
    }

    /// The longest time that a call may take.
    pub(super) fn call_timeout(&self) -> Duration {
        self.0.config.call_timeout
    }

    fn drop_idle(&self) {
        let mut held = self.0.held();
        let idle = std::mem::take(&mut held.idle);
        held.open = held.open.saturating_sub(idle.len());
        drop(held);
        self.0.returned.notify_all();
    }
}

impl Pool {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use. It returns to the pool when this is dropped, unless it is lost.
pub(super) struct Lease {
    connection: Option<Connection>,
    pool: Arc<Pool>,
    wanted: Use,
}

impl Lease {
    pub(super) fn with<T>(
        &mut self,
        call: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match &mut self.connection {
            Some(connection) => call(connection),
            None => Err(Failure::Lost("it was dropped".into())),
        }
    }

    /// Runs a commit.
    pub(super) fn commit(
        &mut self,
        call: impl FnOnce(&mut Connection) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        match &mut self.connection {
            Some(connection) => call(connection),
            None => Err(StorageError::Unavailable("the connection was dropped".into())),
        }
    }

    /// Ends the connection. The server rolls back what was not committed.
    pub(super) fn abandon(&mut self) {
        self.connection = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let connection = self.connection.take();
        if self.pool.process != std::process::id() {
            return;
        }
        let mut held = self.pool.held();
        match connection.filter(|connection| !connection.is_lost()) {
            Some(connection) => held.idle.push((connection, Instant::now())),
            None => held.open = held.open.saturating_sub(1),
        }
        if self.wanted == Use::Transaction {
            held.transactions = held.transactions.saturating_sub(1);
        }
        drop(held);
        // All: one of them may be a transaction that still has to wait.
        self.pool.returned.notify_all();
    }
}

/// How long an unused connection is trusted. Firewalls drop idle connections without a word, and a commit on such a one would
/// wait for its whole deadline.
const IDLE_LIMIT: Duration = Duration::from_secs(240);

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::super::tests::server_with;
    use super::*;

    #[test]
    #[ignore = "needs a server: tests/postgres/run.sh"]
    fn transactions_never_hold_all_connections() {
        let server = server_with("INMOST_TEST_POSTGRES", 2);
        let together = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    together.wait();
                    for _ in 0..20 {
                        let transaction = server.begin("BEGIN").unwrap();
                        // Regression: with two of these at once, each waited for the connection of the other.
                        server.read(|connection| connection.read(statements::FACTS, &[])).unwrap();
                        drop(transaction);
                    }
                });
            }
        });
        let held = server.0.held();
        assert_eq!(held.transactions, 0);
        assert!(held.open <= 2, "{}", held.open);
    }
}
