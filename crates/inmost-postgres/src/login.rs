//! Finds the host to work with, and logs in.
//!
//! The client library could go through several hosts itself, but it bounds only the time until a socket is open, it has one
//! password for all hosts, and it knows no guard of plain connections; see `plain.rs`.

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_postgres::config::{Host, LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::config::{PostgresConfig, named};
use super::connection::{Driver, driven};
use super::failure::unreachable;
use super::plain::Guarded;

/// Tries the hosts in turn, and returns the first session of the wanted kind. Each host before it leaves the reason why it is
/// of no use.
pub(super) async fn first(
    config: &PostgresConfig,
    tls: Option<&MakeRustlsConnect>,
    reasons: &mut Vec<String>,
) -> Option<(Client, Driver)> {
    let mut hosts: Vec<_> = config.hosts().zip(&config.passwords).collect();
    in_order(&config.config, &mut hosts);
    for ((host, port), password) in hosts {
        let mut login = config.config.clone();
        if let Some(password) = password {
            login.password(password);
        }
        let address = named(host, port);
        match (Attempt { config, login, tls, address }).at(host, port).await {
            Ok(found) => return Some(found),
            Err(reason) => reasons.push(reason),
        }
    }
    None
}

/// Puts hosts, or addresses of a host, into the order in which they are tried.
pub(super) fn in_order<T>(config: &Config, items: &mut [T]) {
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        // Each state has other keys. The order is no secret.
        items.sort_by_cached_key(|_| RandomState::new().hash_one(()));
    }
}

/// A try to log in to one host.
struct Attempt<'a> {
    config: &'a PostgresConfig,
    /// With the password for this host.
    login: Config,
    tls: Option<&'a MakeRustlsConnect>,
    /// The host and port, for messages.
    address: String,
}

impl Attempt<'_> {
    async fn at(&self, host: &Host, port: u16) -> Result<(Client, Driver), String> {
        match host {
            #[cfg(unix)]
            Host::Unix(folder) => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                self.limited(async {
                    if self.tls.is_some() {
                        return Err(self.failed(&"a Unix socket has no TLS"));
                    }
                    let stream = tokio::net::UnixStream::connect(path).await;
                    let stream = stream.map_err(|error| self.failed(&error))?;
                    self.session(Guarded::new(stream), NoTls).await
                })
                .await
            }
            Host::Tcp(name) => {
                let found = lookup_host((name.as_str(), port));
                let found = timeout(self.config.login_timeout(), found).await;
                let found =
                    found.map_err(|_| self.failed(&"the lookup of its name takes too long"))?;
                let mut addresses: Vec<_> = found.map_err(|error| self.failed(&error))?.collect();
                in_order(&self.config.config, &mut addresses);
                let mut reasons = Vec::new();
                for address in addresses {
                    match self.limited(self.over_tcp(name, address)).await {
                        Ok(found) => return Ok(found),
                        Err(reason) if reasons.contains(&reason) => {}
                        Err(reason) => reasons.push(reason),
                    }
                }
                Err(if reasons.is_empty() {
                    self.failed(&"it has no address")
                } else {
                    reasons.join("; ")
                })
            }
        }
    }

    async fn over_tcp(&self, name: &str, address: SocketAddr) -> Result<(Client, Driver), String> {
        let limit = self.config.connect_timeout();
        let stream = timeout(limit, TcpStream::connect(address)).await;
        let stream = stream.map_err(|_| silent(&self.address, limit))?;
        let stream = stream.map_err(|error| self.failed(&error))?;
        stream.set_nodelay(true).map_err(|error| self.failed(&error))?;
        match self.tls {
            None => self.session(Guarded::new(stream), NoTls).await,
            Some(tls) => {
                let tls = MakeTlsConnect::<TcpStream>::make_tls_connect(&mut tls.clone(), name);
                self.session(stream, tls.map_err(|error| self.failed(&error))?).await
            }
        }
    }

    /// Logs in over a stream, and makes sure that the session is of the wanted kind: of several servers, only one takes writes.
    async fn session<S, T>(&self, stream: S, tls: T) -> Result<(Client, Driver), String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: TlsConnect<S>,
        T::Stream: Send + 'static,
    {
        let failed =
            |error| unreachable(&error, &self.address, self.config.role(), self.config.database());
        let (client, mut connection) = self.login.connect_raw(stream, tls).await.map_err(failed)?;
        let mut driver: Driver = Box::new(move |cx| connection.poll_message(cx));
        let (wanted, refusal) = match self.login.get_target_session_attrs() {
            TargetSessionAttrs::Any => return Ok((client, driver)),
            TargetSessionAttrs::ReadOnly => ("on", "it takes writes"),
            _ => ("off", "it takes no writes"),
        };
        let question = client.simple_query("SHOW transaction_read_only");
        let answer = driven(&mut driver, question, &mut None).await;
        let answer = answer.ok_or_else(|| self.failed(&"it ended the connection"))?;
        let is_wanted = answer.map_err(failed)?.iter().any(|message| match message {
            SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten() == Some(wanted),
            _ => false,
        });
        if is_wanted { Ok((client, driver)) } else { Err(self.failed(&refusal)) }
    }

    /// Bounds a step. A host that accepts connections and then says nothing, because it hangs or is not the server at all, must
    /// not keep the next one from being tried.
    async fn limited<T>(&self, step: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        let limit = self.config.login_timeout();
        timeout(limit, step).await.unwrap_or_else(|_| Err(silent(&self.address, limit)))
    }

    fn failed(&self, why: &dyn Display) -> String {
        format!("cannot connect to {}: {why}", self.address)
    }
}

/// The reason if time is up.
pub(super) fn silent(address: &str, limit: Duration) -> String {
    format!("{address} does not respond within {} s", limit.as_secs_f64())
}
