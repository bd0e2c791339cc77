//! How a process connects to a database.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation, TargetSessionAttrs};

#[cfg(unix)]
use super::failure::Failure;
use super::password::{self, PasswordFileError};
use super::url::PostgresUrl;

/// How a process connects to a database: where, as whom, with how many connections, and how long calls may take.
#[derive(Clone)]
#[must_use]
pub struct PostgresConfig {
    pub(super) config: Config,
    pub(super) root_certificates: Option<PathBuf>,
    pub(super) connections: usize,
    pub(super) call_timeout: Duration,
    pub(super) wait_timeout: Duration,
}

impl PostgresConfig {
    /// Starts from a URL: at most 8 connections, 5 seconds to connect to a host, 30 seconds for a call, 30 seconds of waiting
    /// for a free connection.
    ///
    /// TLS is used and verified in full: the certificate must be of an authority that this machine trusts, or of the file that
    /// `sslrootcert` names, and for the host's name. Only a Unix socket and loopback are without TLS, unless the URL says
    /// `sslmode=verify-full`.
    pub fn new(url: &PostgresUrl) -> Self {
        let mut config = url.config.clone();
        // Without TLS, a guard takes its place on TCP; see `plain.rs`. So nothing asks the server for TLS either.
        config.ssl_mode(SslMode::Require);
        if !url.uses_tls() {
            config.ssl_negotiation(SslNegotiation::Direct);
            if config.get_hosts().iter().any(is_socket) {
                config.ssl_mode(SslMode::Disable);
            }
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("inmost");
        }
        if config.get_hosts().len() > 1
            && config.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            // Of several hosts, only the one that takes writes is of use.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Self {
            config,
            root_certificates: url.root_certificates.clone(),
            connections: CONNECTIONS,
            call_timeout: CALL_TIMEOUT,
            wait_timeout: CALL_TIMEOUT,
        }
    }

    /// Sets the password of the role.
    pub fn password(mut self, password: impl AsRef<[u8]>) -> Self {
        self.config.password(password);
        self
    }

    /// Takes the password from where `PostgreSQL`'s own programs take it: the environment variable `PGPASSWORD`, else the
    /// file that `PGPASSFILE` names, else `~/.pgpass`. Without any of them, the role needs no password.
    ///
    /// # Errors
    /// [`PasswordFileError`] for a password file that others may use, that is not a plain file, or that cannot be read.
    pub fn password_from_environment(mut self) -> Result<Self, PasswordFileError> {
        if let Some(found) = password::find(&self.config)? {
            self.config.password(found);
        }
        Ok(self)
    }

    /// Sets the most connections that are open at once, for all vaults of the process; 8 by default, at least 1. With 1, a
    /// rewrite of a vault that other hosts keep changing fails, because it cannot keep them from it.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets how long one call to the server may take; 30 seconds by default. A commit that takes longer has an unknown outcome.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets how long a call waits for a free connection; 30 seconds by default.
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.wait_timeout = timeout;
        self
    }

    /// Whether connections are encrypted.
    #[must_use]
    pub fn uses_tls(&self) -> bool {
        // The guard of plain connections takes the place of TLS, and is negotiated directly; see `new`.
        self.config.get_ssl_negotiation() == SslNegotiation::Postgres
    }

    /// The hosts and ports, for messages.
    pub(super) fn address(&self) -> String {
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(number, host)| {
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        });
        hosts.collect::<Vec<_>>().join(",")
    }

    /// Whether it connects through Unix sockets.
    #[cfg(unix)]
    pub(super) fn has_socket(&self) -> bool {
        self.config.get_hosts().iter().any(is_socket)
    }

    /// Connects to the first Unix socket that accepts.
    #[cfg(unix)]
    pub(super) async fn connect_to_socket(&self) -> Result<tokio::net::UnixStream, Failure> {
        let ports = self.config.get_ports();
        let limit = self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let mut failure = String::new();
        for (number, host) in self.config.get_hosts().iter().enumerate() {
            let Host::Unix(folder) = host else {
                return Err(Failure::Unreachable(MIXED.to_owned()));
            };
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            let path = folder.join(format!(".s.PGSQL.{port}"));
            match tokio::time::timeout(limit, tokio::net::UnixStream::connect(path)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failure = error.to_string(),
                Err(_) => "it does not respond".clone_into(&mut failure),
            }
        }
        Err(Failure::Unreachable(format!("cannot connect to {}: {failure}", self.address())))
    }

    pub(super) fn role(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    pub(super) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.role())
    }
}

fn is_socket(host: &Host) -> bool {
    match host {
        Host::Tcp(_) => false,
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Without the password.
impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresConfig({}@{}/{})", self.role(), self.address(), self.database())
    }
}

/// A thread of a process rarely does more than one call at a time, and the server's connections are for all its clients.
const CONNECTIONS: usize = 8;
#[cfg(unix)]
const MIXED: &str = "the URL names Unix sockets and other hosts; name only one kind";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than a failover usually takes, so that a commit that waits for it ends with an outcome.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> PostgresConfig {
        PostgresConfig::new(&PostgresUrl::parse(url).unwrap())
    }

    #[test]
    fn debug_shows_no_password() {
        let config = config("postgres://app@h1:7,h2:8/m").password("hunter2");
        assert_eq!(format!("{config:?}"), "PostgresConfig(app@h1:7,h2:8/m)");
    }

    #[test]
    fn of_several_hosts_the_one_that_takes_writes_is_used() {
        let attributes = |url| config(url).config.get_target_session_attrs();
        assert_eq!(attributes("postgres://app@h1,h2/m"), TargetSessionAttrs::ReadWrite);
        assert_eq!(attributes("postgres://app@h1/m"), TargetSessionAttrs::Any);
    }
}
