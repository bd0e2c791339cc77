//! The URL of a database, and of a vault in it.

use std::fmt;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::vault_id::VaultId;

/// A parsed URL: `postgres://USER@HOST[:PORT][,HOST...]/DATABASE[?vault=ID]`.
///
/// These parameters are understood: `vault`, `sslmode` (`verify-full` or `disable`), `sslrootcert`, `host`, `port`,
/// `target_session_attrs`, `load_balance_hosts`, `connect_timeout` (seconds) and `application_name`.
#[derive(Clone, Debug)]
pub struct PostgresUrl {
    pub(super) config: Config,
    /// The vault that the URL names.
    pub vault: Option<VaultId>,
    /// Whether the URL asks for TLS or against it; `None` if it says nothing.
    pub(super) tls: Option<bool>,
    pub(super) root_certificates: Option<PathBuf>,
}

/// What is wrong with a URL. It repeats nothing of what could be a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UrlError {
    /// It does not begin with `postgres://` or `postgresql://`.
    Scheme,
    /// It contains a password.
    Password,
    /// A parameter is not understood. The text is its name.
    Parameter(String),
    /// The value of this parameter is not valid.
    Value(&'static str),
    /// It names no host.
    Host,
    /// Without TLS, everything could be read and changed on the way to this host.
    Plain(String),
    /// The rest of the URL is not valid.
    Syntax,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("the URL of a database begins with postgres://"),
            Self::Password => f.write_str(
                "the URL contains a password, which other users of this machine could see; put it into a password file \
                 (PGPASSFILE or ~/.pgpass) or into PGPASSWORD",
            ),
            Self::Parameter(name) => write!(f, "the URL has the parameter {name}, which is not known here"),
            Self::Value("sslmode") => f.write_str("sslmode in the URL must be verify-full or disable"),
            Self::Value("vault") => f.write_str("vault in the URL must have 32 hexadecimal digits"),
            Self::Value(name) => write!(f, "the value of {name} in the URL is not valid"),
            Self::Host => f.write_str("the URL names no host"),
            Self::Plain(host) => write!(
                f,
                "sslmode=disable is allowed only for a server on this machine, and {host} is not; remove sslmode from the URL"
            ),
            Self::Syntax => f.write_str("the URL is not valid; it has the form postgres://USER@HOST/DATABASE?vault=ID"),
        }
    }
}

impl std::error::Error for UrlError {}

impl PostgresUrl {
    /// Whether a text is meant as such a URL. Does no I/O.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        scheme(text).is_some()
    }

    /// Parses a URL. Does no I/O.
    ///
    /// # Errors
    /// [`UrlError`]. A URL with a password is refused as a whole, because it would show in lists of processes.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let rest = scheme(text).ok_or(UrlError::Scheme)?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        refuse_password(address, query)?;
        let mut parsed =
            Self { config: Config::new(), vault: None, tls: None, root_certificates: None };
        let mut kept = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if !parsed.take(name, value)? {
                kept.push(parameter);
            }
        }
        let url = format!("postgres://{address}?{}", kept.join("&"));
        let own = std::mem::replace(&mut parsed.config, url.parse().map_err(|_| UrlError::Syntax)?);
        drop(own);
        parsed.check()?;
        Ok(parsed)
    }

    /// Takes a parameter; returns whether it is understood here and not by the client library.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, UrlError> {
        match name {
            "vault" => self.vault = Some(value.parse().map_err(|_| UrlError::Value("vault"))?),
            "sslmode" => {
                self.tls = Some(match value {
                    "verify-full" => true,
                    "disable" => false,
                    _ => return Err(UrlError::Value("sslmode")),
                });
            }
            "sslrootcert" if value.is_empty() || value.contains('%') => {
                return Err(UrlError::Value("sslrootcert"));
            }
            "sslrootcert" => self.root_certificates = Some(PathBuf::from(value)),
            name if PASSED_ON.contains(&name) => return Ok(false),
            name => return Err(UrlError::Parameter(name.chars().take(32).collect())),
        }
        Ok(true)
    }

    fn check(&self) -> Result<(), UrlError> {
        let hosts = self.config.get_hosts();
        if hosts.is_empty() {
            return Err(UrlError::Host);
        }
        match hosts.iter().find(|host| !is_local(host)) {
            Some(Host::Tcp(host)) if self.tls == Some(false) => Err(UrlError::Plain(host.clone())),
            _ => Ok(()),
        }
    }

    /// Whether connections are encrypted: always, unless every host is this machine and the URL does not ask for it.
    pub(super) fn uses_tls(&self) -> bool {
        self.tls.unwrap_or_else(|| !self.config.get_hosts().iter().all(is_local))
    }
}

fn scheme(text: &str) -> Option<&str> {
    text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"))
}

/// Refuses `user:password@host` and `?password=`, before anything else looks at the text.
fn refuse_password(address: &str, query: &str) -> Result<(), UrlError> {
    // The last @: a password may contain others, and even a slash.
    let user = address.rsplit_once('@').map_or("", |(user, _)| user);
    let named = query.split('&').any(|parameter| {
        let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        // Also if the name is percent-encoded in part.
        name.contains("pass") || name.contains('%')
    });
    if user.contains(':') || named || query.contains('@') {
        return Err(UrlError::Password);
    }
    Ok(())
}

/// Whether nothing between this program and the host can be read by others: a socket in a folder, or loopback.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The parameters that the client library understands and that are harmless.
const PASSED_ON: [&str; 6] = [
    "host",
    "port",
    "target_session_attrs",
    "load_balance_hosts",
    "connect_timeout",
    "application_name",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str) -> UrlError {
        PostgresUrl::parse(url).err().unwrap_or_else(|| panic!("{url} was accepted"))
    }

    #[test]
    fn a_url_names_server_database_and_vault() {
        let id = "00ff0102030405060708090a0b0c0d0e";
        let url =
            format!("postgres://app@db.example:6432,[::1]/memories?vault={id}&connect_timeout=3");
        let parsed = PostgresUrl::parse(&url).unwrap();
        assert_eq!(parsed.vault.unwrap().to_string(), id);
        assert_eq!(parsed.config.get_user(), Some("app"));
        assert_eq!(parsed.config.get_dbname(), Some("memories"));
        assert_eq!(parsed.config.get_hosts().len(), 2);
        assert!(parsed.uses_tls(), "one host is not this machine");
    }

    #[test]
    fn a_password_is_refused_and_never_repeated() {
        let secret = "hunter2";
        for url in [
            "postgres://app:hunter2@db.example/memories",
            "postgres://app:hunt/hunter2@db.example/memories",
            "postgres://app:@db.example/memories",
            "postgres://app@db.example/memories?password=hunter2",
            "postgres://app@db.example/memories?PassWord=hunter2",
            "postgres://app@db.example/memories?%70assword=hunter2",
            "postgresql://app:x?hunter2@db.example/memories",
        ] {
            assert_eq!(error(url), UrlError::Password, "{url}");
            assert!(!error(url).to_string().contains(secret));
        }
    }

    #[test]
    fn plaintext_is_for_this_machine_only() {
        let uses_tls = |url: &str| PostgresUrl::parse(url).unwrap().uses_tls();
        assert!(!uses_tls("postgres://app@localhost/m"));
        assert!(!uses_tls("postgres://app@127.0.0.1/m"));
        assert!(!uses_tls("postgres://app@/m?host=/run/postgresql"));
        assert!(uses_tls("postgres://app@127.0.0.1/m?sslmode=verify-full"));
        assert!(uses_tls("postgres://app@10.0.0.1/m"));
        assert!(uses_tls("postgres://app@127.0.0.1.example/m"));
        let plain = error("postgres://app@10.0.0.1/m?sslmode=disable");
        assert_eq!(plain, UrlError::Plain("10.0.0.1".into()));
        let plain = error("postgres://app@localhost/m?host=10.0.0.1&sslmode=disable");
        assert_eq!(plain, UrlError::Plain("10.0.0.1".into()));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(error("mysql://app@h/m"), UrlError::Scheme);
        assert_eq!(error("postgres://app@h/m?sslmode=prefer"), UrlError::Value("sslmode"));
        assert_eq!(error("postgres://app@h/m?vault=7"), UrlError::Value("vault"));
        assert_eq!(
            error("postgres://app@h/m?hostaddr=1.2.3.4"),
            UrlError::Parameter("hostaddr".into())
        );
        assert_eq!(error("postgres:///m"), UrlError::Host);
        assert_eq!(error("postgres://app@h:port/m"), UrlError::Syntax);
    }
}
