//! Finds the password of a role where `PostgreSQL`'s own programs look for it.

use std::path::{Path, PathBuf};
use std::{env, fmt, fs, io};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// A password file that is not used.
#[derive(Debug)]
pub struct PasswordFileError {
    path: PathBuf,
    problem: Problem,
}

#[derive(Debug)]
enum Problem {
    #[cfg(unix)]
    OpenToOthers,
    NotAFile,
    Unreadable(io::Error),
}

impl fmt::Display for PasswordFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.problem {
            #[cfg(unix)]
            Problem::OpenToOthers => {
                write!(
                    f,
                    "other users can read or write the password file {path}; run `chmod 600` on it"
                )
            }
            Problem::NotAFile => write!(f, "the password file {path} is not a plain file"),
            Problem::Unreadable(error) => {
                write!(f, "the password file {path} cannot be read: {error}")
            }
        }
    }
}

impl std::error::Error for PasswordFileError {}

/// Returns the password for the first host that one is found for.
pub(super) fn find(config: &Config) -> Result<Option<Vec<u8>>, PasswordFileError> {
    if let Some(password) = env::var_os("PGPASSWORD").filter(|password| !password.is_empty()) {
        return Ok(Some(password.into_encoded_bytes()));
    }
    let named = env::var_os("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let (is_named, path) = match (named, usual_place()) {
        (Some(path), _) => (true, path),
        (None, Some(path)) => (false, path),
        (None, None) => return Ok(None),
    };
    match read(&path) {
        Ok(text) => Ok(choose(&text, config)),
        Err(Problem::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound && !is_named => {
            Ok(None)
        }
        Err(problem) => Err(PasswordFileError { path, problem }),
    }
}

/// Where a password file lies if no variable names one.
fn usual_place() -> Option<PathBuf> {
    #[cfg(windows)]
    return env::var_os("APPDATA").map(|data| Path::new(&data).join(r"postgresql\pgpass.conf"));
    #[cfg(not(windows))]
    return env::home_dir().map(|home| home.join(".pgpass"));
}

/// Reads a password file that is a plain file and, on Unix, that only its owner may use. Where `PostgreSQL` looks for it on
/// Windows, only its owner may read.
fn read(path: &Path) -> Result<String, Problem> {
    let facts = fs::metadata(path).map_err(Problem::Unreadable)?;
    if !facts.is_file() || facts.len() > LONGEST {
        return Err(Problem::NotAFile);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if facts.mode() & 0o077 != 0 {
            return Err(Problem::OpenToOthers);
        }
    }
    fs::read_to_string(path).map_err(Problem::Unreadable)
}

/// The password of the first matching line, for the first host that has one.
fn choose(text: &str, config: &Config) -> Option<Vec<u8>> {
    let user = config.get_user()?;
    let database = config.get_dbname().unwrap_or(user);
    let ports = config.get_ports();
    config.get_hosts().iter().enumerate().find_map(|(number, host)| {
        let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432).to_string();
        let host = match host {
            Host::Tcp(name) => name.as_str(),
            #[cfg(unix)]
            Host::Unix(_) => "localhost",
        };
        let wanted = [host, &port, database, user];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let fields = fields(line);
            let [.., password] = fields.as_slice() else { return None };
            let matches = fields.len() == wanted.len() + 1
                && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
            matches.then(|| password.clone().into_bytes())
        })
    })
}

/// The fields of a line, which colons separate. A backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let taken = match character {
            ':' => {
                fields.push(String::new());
                continue;
            }
            '\\' => characters.next(),
            other => Some(other),
        };
        if let Some(field) = fields.last_mut() {
            field.extend(taken);
        }
    }
    fields
}

/// The longest password file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, url: &str) -> Option<String> {
        let config: Config = url.parse().unwrap();
        choose(text, &config).map(|password| String::from_utf8(password).unwrap())
    }

    #[test]
    fn the_first_line_that_matches_is_taken() {
        let text = "# comment\nother:*:*:*:no\ndb:5432:m:app:one\n*:*:*:app:a\\:b\\\\c\n";
        assert_eq!(chosen(text, "postgres://app@db/m").as_deref(), Some("one"));
        assert_eq!(chosen(text, "postgres://app@db:6432/m").as_deref(), Some("a:b\\c"));
        assert_eq!(chosen(text, "postgres://app@x,other/m").as_deref(), Some("a:b\\c"));
        assert_eq!(chosen(text, "postgres://ada@db/m"), None);
        assert_eq!(chosen("db:5432:m:app", "postgres://app@db/m"), None);
    }

    #[test]
    fn a_socket_counts_as_localhost() {
        let text = "localhost:*:*:*:local\n";
        assert_eq!(
            chosen(text, "postgres://app@/m?host=/run/postgresql").as_deref(),
            Some("local")
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        fs::write(&path, "*:*:*:*:x\n").unwrap();
        let with = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            read(&path)
        };
        assert_eq!(with(0o600).unwrap(), "*:*:*:*:x\n");
        for mode in [0o640, 0o604, 0o620] {
            assert!(matches!(with(mode), Err(Problem::OpenToOthers)), "{mode:o}");
        }
        assert!(matches!(read(folder.path()), Err(Problem::NotAFile)));
    }
}
