//! One blocking connection with a deadline for every call.
//!
//! The client library is asynchronous. A connection drives it on a runtime of its own, only during calls, so there are no
//! threads beside the caller's.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::config::PostgresConfig;
use super::failure::{Failure, described};
use super::login;

/// A parameter of a statement, with its type. Statements with typed parameters need no name on the server.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// An open connection. After a failure that lost it, it must be dropped.
pub(super) struct Connection {
    /// `None` once it is dropped.
    link: Option<Link>,
    call_timeout: Duration,
    is_lost: bool,
    /// Round trips of all connections of the pool.
    round_trips: Arc<AtomicU64>,
    process: u32,
}

struct Link {
    client: Client,
    driver: Driver,
    runtime: Runtime,
}

/// Reads and writes the socket, and returns what the server says besides its replies.
pub(super) type Driver = Box<
    dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, tokio_postgres::Error>>> + Send,
>;

impl Connection {
    /// Connects to a host of the configuration and logs in.
    pub(super) fn open(
        config: &PostgresConfig,
        tls: Option<&MakeRustlsConnect>,
        round_trips: Arc<AtomicU64>,
    ) -> Result<Self, Failure> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Unreachable(format!("no event queue: {error}")))?;
        let mut reasons = Vec::new();
        let found = outside_of_tasks(|| {
            runtime.block_on(async {
                timeout(config.call_timeout, login::first(config, tls, &mut reasons)).await
            })
        });
        let Ok(Some((client, driver))) = found else {
            // A name lookup that hangs must not be waited for.
            runtime.shutdown_background();
            if found.is_err() {
                reasons.push(login::silent(&config.address(), config.call_timeout));
            }
            return Err(Failure::Unreachable(reasons.join("; ")));
        };
        let mut connection = Self {
            link: Some(Link { client, driver, runtime }),
            call_timeout: config.call_timeout,
            is_lost: false,
            round_trips,
            process: std::process::id(),
        };
        // A server may warn at login, of an old collation for example. That belongs to no call.
        if connection.has_ended() {
            return Err(Failure::Unreachable(format!("{} ended the connection", config.address())));
        }
        Ok(connection)
    }

    /// Runs one statement that changes nothing, in one round trip. What the server says besides does not matter.
    pub(super) fn read(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        self.call(async |client| client.query_typed(statement, parameters).await)
            .map(|(rows, _)| rows)
    }

    /// Runs one statement that changes something, in one round trip.
    pub(super) fn query(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        self.vouched(async |client| client.query_typed(statement, parameters).await)
    }

    /// Runs statements without parameters and results, in one round trip.
    pub(super) fn run(&mut self, statements: &str) -> Result<(), Failure> {
        self.call(async |client| client.batch_execute(statements).await).map(drop)
    }

    /// Runs a statement and commits the transaction, in one round trip.
    pub(super) fn query_and_commit(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        self.vouched(async |client| {
            let mut query = pin!(client.query_typed(statement, parameters));
            let mut commit = pin!(client.batch_execute("COMMIT"));
            let (mut rows, mut committed) = (None, None);
            poll_fn(|cx| {
                // Both are sent at the first poll, in this order.
                if rows.is_none() {
                    rows = ready(query.as_mut().poll(cx));
                }
                if committed.is_none() {
                    committed = ready(commit.as_mut().poll(cx));
                }
                if rows.is_some() && committed.is_some() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            match (rows, committed) {
                (Some(Ok(rows)), Some(Ok(()))) => Ok(rows),
                (Some(Err(error)), _) | (_, Some(Err(error))) => Err(error),
                _ => Ok(Vec::new()),
            }
        })
    }

    /// Whether the connection has ended, as far as the socket says without waiting.
    pub(super) fn has_ended(&mut self) -> bool {
        let Some(Link { client, driver, runtime }) = &mut self.link else { return true };
        if self.is_lost || client.is_closed() {
            return true;
        }
        let ended = outside_of_tasks(move || {
            runtime.block_on(async {
                // The first poll hands the socket to the event queue; the turn between them looks at it.
                let mut ended = false;
                for _ in 0..2 {
                    ended = ended || poll_fn(|cx| Poll::Ready(drained(driver, cx))).await;
                    tokio::task::yield_now().await;
                }
                ended
            })
        });
        self.is_lost = ended;
        ended
    }

    /// Whether a call has failed so that the connection is of no more use.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// A call during which the server must not warn: it does so if it cannot vouch for a commit.
    fn vouched<T: Send>(
        &mut self,
        call: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error> + Send,
    ) -> Result<T, Failure> {
        match self.call(call)? {
            (value, None) => Ok(value),
            (_, Some(warning)) => Err(Failure::Warned(warning)),
        }
    }

    /// Returns the result of a call, and what the server warned of meanwhile.
    fn call<T: Send>(
        &mut self,
        call: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error> + Send,
    ) -> Result<(T, Option<String>), Failure> {
        if self.is_lost {
            // A rollback, for example, must not wait for the whole time limit once more.
            return Err(Failure::Lost("an earlier call has failed".into()));
        }
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let limit = self.call_timeout;
        let Some(Link { client, driver, runtime }) = &mut self.link else {
            return Err(Failure::Lost("it was dropped".into()));
        };
        let mut warning = None;
        let result = outside_of_tasks(|| {
            // The time limit needs the runtime from the beginning.
            runtime.block_on(async {
                timeout(limit, driven(driver, call(client), &mut warning)).await
            })
        });
        let result = match result {
            Err(_) => Err(Failure::Lost(format!("no reply within {} s", limit.as_secs()))),
            Ok(None) => Err(Failure::Lost("the server closed it".into())),
            Ok(Some(Err(error))) => Err(Failure::of_statement(&error)),
            Ok(Some(Ok(value))) => Ok((value, warning)),
        };
        // After a timeout the reply is still to come, so the connection cannot be used again: its socket is closed.
        self.is_lost |= matches!(result, Err(Failure::Lost(_)));
        result
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        if self.process != std::process::id() {
            // In a forked child, socket and event queue are still the parent's.
            std::mem::forget(link);
            return;
        }
        let Link { client, driver, runtime } = link;
        drop(driver);
        drop(client);
        // A name lookup that hangs must not be waited for.
        runtime.shutdown_background();
    }
}

/// Polls a call and the socket in turn. `None` if the connection ended before the call did.
pub(super) async fn driven<T>(
    driver: &mut Driver,
    call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    warning: &mut Option<String>,
) -> Option<Result<T, tokio_postgres::Error>> {
    let mut call = pin!(call);
    poll_fn(|cx| {
        // First what the server has sent: its warnings come before the reply that they belong to.
        let mut ended = None;
        while let Poll::Ready(message) = driver(cx) {
            match message {
                Some(Ok(AsyncMessage::Notice(notice)))
                    if !is_harmless(notice.parsed_severity()) =>
                {
                    *warning = Some(described(&notice));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    ended = Some(Some(Err(error)));
                    break;
                }
                None => {
                    ended = Some(None);
                    break;
                }
            }
        }
        if let Poll::Ready(result) = call.as_mut().poll(cx) {
            return Poll::Ready(Some(result));
        }
        // The call may have queued a request that the socket has not seen yet.
        match ended {
            Some(ended) => Poll::Ready(ended),
            None => Poll::Pending,
        }
    })
    .await
}

/// Whether the server has ended the connection, after everything that it sent was read.
fn drained(driver: &mut Driver, cx: &mut Context<'_>) -> bool {
    loop {
        match driver(cx) {
            Poll::Pending => return false,
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(_)) | None) => return true,
        }
    }
}

/// Whether a message beside the replies says nothing about a commit.
fn is_harmless(severity: Option<Severity>) -> bool {
    use Severity::{Debug, Info, Log, Notice};
    matches!(severity, Some(Debug | Info | Log | Notice))
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Runs blocking work. A task of an application's own tokio runtime may not block on another one, so the work is then done by
/// a thread beside it.
fn outside_of_tasks<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if Handle::try_current().is_err() {
        return work();
    }
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
