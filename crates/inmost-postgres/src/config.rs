//! How a process connects to a database.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::password::{self, PasswordFileError};
use super::url::PostgresUrl;

/// How a process connects to a database: where, as whom, with how many connections, and how long calls may take.
#[derive(Clone)]
#[must_use]
pub struct PostgresConfig {
    /// Without a password.
    pub(super) config: Config,
    /// The password for each host.
    pub(super) passwords: Vec<Option<Vec<u8>>>,
    pub(super) root_certificates: Option<PathBuf>,
    pub(super) connections: usize,
    pub(super) call_timeout: Duration,
    pub(super) wait_timeout: Duration,
}

impl PostgresConfig {
    /// Starts from a URL: at most 8 connections, 5 seconds to log in to an address of a host, 30 seconds for a call, 30 seconds
    /// of waiting for a free connection.
    ///
    /// TLS is used and verified in full: the certificate must be of an authority that this machine trusts, or of the file that
    /// `sslrootcert` names, and for the host's name. Only a Unix socket and loopback are without TLS, unless the URL says
    /// `sslmode=verify-full`.
    pub fn new(url: &PostgresUrl) -> Self {
        let mut config = url.config.clone();
        // Nothing asks the server for TLS where it is not wanted: a guard takes its place there; see `plain.rs`.
        config.ssl_mode(if url.uses_tls() { SslMode::Require } else { SslMode::Disable });
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
            passwords: vec![None; config.get_hosts().len()],
            config,
            root_certificates: url.root_certificates.clone(),
            connections: CONNECTIONS,
            call_timeout: CALL_TIMEOUT,
            wait_timeout: CALL_TIMEOUT,
        }
    }

    /// Sets the password of the role.
    pub fn password(mut self, password: impl AsRef<[u8]>) -> Self {
        self.passwords.fill(Some(password.as_ref().to_vec()));
        self
    }

    /// Takes the password from where `PostgreSQL`'s own programs take it: the environment variable `PGPASSWORD`, else the
    /// file that `PGPASSFILE` names, else `~/.pgpass`. A file is searched for each host, so no host is offered the password of
    /// another one. Without any of them, the role needs no password.
    ///
    /// # Errors
    /// [`PasswordFileError`] for a password file that others may use, that is too long, or that cannot be read.
    pub fn password_from_environment(mut self) -> Result<Self, PasswordFileError> {
        let found = password::find(&self)?;
        for (password, found) in self.passwords.iter_mut().zip(found) {
            *password = found.or(password.take());
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
        self.config.get_ssl_mode() == SslMode::Require
    }

    /// The hosts and their ports, in the order of the URL.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&Host, u16)> {
        let ports = self.config.get_ports();
        self.config.get_hosts().iter().enumerate().map(|(number, host)| {
            (host, ports.get(number).or(ports.first()).copied().unwrap_or(5432))
        })
    }

    /// The hosts and ports, for messages.
    pub(super) fn address(&self) -> String {
        self.hosts().map(|(host, port)| named(host, port)).collect::<Vec<_>>().join(",")
    }

    /// How long it may take to reach one address of a host.
    pub(super) fn connect_timeout(&self) -> Duration {
        let asked = self.config.get_connect_timeout().copied();
        asked.unwrap_or(CONNECT_TIMEOUT).min(self.login_timeout())
    }

    /// How long the lookup of a host may take, and the whole login to one of its addresses. A single host has the time of a call
    /// for it, because no other one is waiting. Of several, each leaves some for the others.
    pub(super) fn login_timeout(&self) -> Duration {
        let asked = self.config.get_connect_timeout().copied();
        match u32::try_from(self.config.get_hosts().len()) {
            Ok(0 | 1) => asked.unwrap_or(self.call_timeout),
            hosts => {
                let part = self.call_timeout / hosts.unwrap_or(u32::MAX).saturating_add(1);
                asked.unwrap_or(CONNECT_TIMEOUT).min(part)
            }
        }
    }

    pub(super) fn role(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    pub(super) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.role())
    }
}

/// A host and its port, for messages.
pub(super) fn named(host: &Host, port: u16) -> String {
    match host {
        Host::Tcp(name) => format!("{name}:{port}"),
        #[cfg(unix)]
        Host::Unix(path) => format!("{}:{port}", path.display()),
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
