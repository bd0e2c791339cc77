//! The URL of a database, and of a vault in it.

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
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlError {
    /// It does not begin with `postgres://` or `postgresql://`.
    #[error("the URL of a database begins with postgres://")]
    Scheme,
    /// It contains a password.
    #[error(
        "the URL contains a password, which other users of this machine could see; put it into a password file \
         (PGPASSFILE or ~/.pgpass) or into PGPASSWORD"
    )]
    Password,
    /// A parameter is not understood. The text is its name.
    #[error("the URL has the parameter {0}, which is not known here")]
    Parameter(String),
    /// The value of this parameter is not valid.
    #[error("{}", of_value(.0))]
    Value(&'static str),
    /// It names no host.
    #[error("the URL names no host")]
    Host,
    /// It names no role.
    #[error(
        "the URL names no role of the database; it has the form postgres://USER@HOST/DATABASE?vault=ID"
    )]
    Role,
    /// Without TLS, everything could be read and changed on the way to this host.
    #[error(
        "sslmode=disable is allowed only for a server on this machine, and {0} is not; remove sslmode from the URL"
    )]
    Plain(String),
    /// The rest of the URL is not valid.
    #[error("the URL is not valid; it has the form postgres://USER@HOST/DATABASE?vault=ID")]
    Syntax,
}

/// What the value of a parameter must be.
fn of_value(name: &str) -> String {
    let what = match name {
        "sslmode" => "sslmode in the URL must be verify-full or disable",
        "vault" => "vault in the URL must have 32 hexadecimal digits",
        "port" => {
            "port in the URL must have numbers, for hosts that host names; a host in the address is written HOST:PORT"
        }
        "sslrootcert" => {
            "sslrootcert in the URL must be the path of a file, or system, which needs TLS"
        }
        name => return format!("the value of {name} in the URL is not valid"),
    };
    what.to_owned()
}

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
            let Some(name) = PASSED_ON.into_iter().find(|known| *known == name) else {
                parsed.take(name, value)?;
                continue;
            };
            let parameter = match (name, value) {
                ("target_session_attrs", "primary") => "target_session_attrs=read-write".into(),
                // The client library takes one host a parameter.
                ("host", _) => {
                    parameter.replace("%2C", ",").replace("%2c", ",").replace(',', "&host=")
                }
                _ => parameter.to_owned(),
            };
            // By itself, so that an error can name it.
            let alone = format!("postgres://role@/?{parameter}").parse::<Config>();
            alone.map_err(|_| UrlError::Value(name))?;
            kept.push(parameter);
        }
        let is_system = |file: &mut PathBuf| file.as_os_str() == "system";
        if parsed.root_certificates.take_if(is_system).is_some()
            && parsed.tls.replace(true) == Some(false)
        {
            return Err(UrlError::Value("sslrootcert"));
        }
        let url = format!("postgres://{address}?{}", kept.join("&"));
        parsed.config = url.parse().map_err(|_| UrlError::Syntax)?;
        parsed.check()?;
        Ok(parsed)
    }

    /// Takes a parameter that the client library does not get.
    fn take(&mut self, name: &str, value: &str) -> Result<(), UrlError> {
        match name {
            "vault" => self.vault = Some(value.parse().map_err(|_| UrlError::Value("vault"))?),
            "sslmode" => {
                self.tls = Some(match value {
                    "verify-full" => true,
                    "disable" => false,
                    _ => return Err(UrlError::Value("sslmode")),
                });
            }
            "sslrootcert" => {
                let path = decoded(value).filter(|path| !path.is_empty());
                self.root_certificates = Some(path.ok_or(UrlError::Value("sslrootcert"))?.into());
            }
            name => return Err(UrlError::Parameter(name.chars().take(32).collect())),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), UrlError> {
        let hosts = self.config.get_hosts();
        if hosts.is_empty() {
            return Err(UrlError::Host);
        }
        // The client library would log in as the user of this process.
        if self.config.get_user().is_none_or(str::is_empty) {
            return Err(UrlError::Role);
        }
        // One is for all hosts. Otherwise each host has its own; those of the address count too.
        let ports = self.config.get_ports().len();
        if ports > 1 && ports != hosts.len() {
            return Err(UrlError::Value("port"));
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
    let user = address.rsplit_once('@').map(|(user, _)| user);
    let is_secret = query.split('&').any(|parameter| {
        let name = parameter.split('=').next().unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        // A question mark in a password moves the rest of it and the @ behind it here. So a @ may stand only in the value of
        // a parameter that is known, and only if the address has its own.
        let is_known = user.is_some() && (name == "sslrootcert" || PASSED_ON.contains(&name));
        // Also if the name is percent-encoded in part.
        lower.contains("pass") || lower.contains('%') || parameter.contains('@') && !is_known
    });
    if is_secret || user.is_some_and(|user| user.contains(':')) {
        return Err(UrlError::Password);
    }
    Ok(())
}

/// A value without its percent encoding, which the client library undoes.
fn decoded(value: &str) -> Option<String> {
    let config: Config = format!("postgres://role@/?application_name={value}").parse().ok()?;
    config.get_application_name().map(str::to_owned)
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
            "postgres://app@server:x?hunter2@db.example/memories",
            "postgres://app@server:x?hunter2&y=z@db.example/memories",
            "postgres://db.example/memories?application_name=x@hunter2",
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
        for url in ["postgres://h/m", "postgres://@h/m", "postgres:///m?host=/run/postgresql"] {
            assert_eq!(error(url), UrlError::Role, "{url}");
        }
        assert_eq!(error("postgres://app@h:port/m"), UrlError::Syntax);
    }

    #[test]
    fn a_value_that_is_not_valid_is_named_by_its_parameter() {
        for (parameter, name) in [
            ("port=x", "port"),
            ("port", "port"),
            ("host=%FF", "host"),
            // The host in the address has its port already, even if it is not written.
            ("port=6432", "port"),
            ("connect_timeout=5s", "connect_timeout"),
            ("target_session_attrs=standby", "target_session_attrs"),
            ("load_balance_hosts=yes", "load_balance_hosts"),
            ("sslrootcert=", "sslrootcert"),
            ("sslrootcert=system&sslmode=disable", "sslrootcert"),
        ] {
            let url = format!("postgres://app@localhost/m?{parameter}");
            assert_eq!(error(&url), UrlError::Value(name), "{url}");
        }
    }

    #[test]
    fn values_are_understood_as_in_libpq() {
        let parse = |query: &str| {
            PostgresUrl::parse(&format!("postgres://app@localhost/m?{query}")).unwrap()
        };
        let name = parse("application_name=worker@host1").config;
        assert_eq!(name.get_application_name(), Some("worker@host1"));
        let primary = parse("target_session_attrs=primary").config.get_target_session_attrs();
        assert_eq!(primary, tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        let file = parse("sslrootcert=/etc/a%20b/ca@home.pem");
        assert_eq!(file.root_certificates, Some("/etc/a b/ca@home.pem".into()));
        assert!(!file.uses_tls());
        for query in ["host=h1,h2&port=1,2", "host=h1%2Ch2&port=1%2c2"] {
            let two = parse(query).config;
            assert_eq!(two.get_hosts()[1..], ["h1", "h2"].map(|name| Host::Tcp(name.into())));
            assert_eq!(two.get_ports(), [5432, 1, 2]);
        }
        for query in ["sslrootcert=system", "sslmode=verify-full&sslrootcert=system"] {
            let system = parse(query);
            assert!(system.uses_tls() && system.root_certificates.is_none(), "{query}");
        }
    }
}
