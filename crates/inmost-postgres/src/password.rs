//! Finds the password of a role where `PostgreSQL`'s own programs look for it.

use std::path::{Path, PathBuf};
use std::{env, fmt, fs, io};

use tokio_postgres::config::Host;

use super::config::PostgresConfig;

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
    TooLong,
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
            Problem::TooLong => {
                write!(f, "the password file {path} is longer than {LONGEST} bytes")
            }
            Problem::Unreadable(error) => {
                write!(f, "the password file {path} cannot be read: {error}")
            }
        }
    }
}

impl std::error::Error for PasswordFileError {}

/// Returns the password for each host, where one is found.
pub(super) fn find(config: &PostgresConfig) -> Result<Vec<Option<Vec<u8>>>, PasswordFileError> {
    if let Some(password) = env::var_os("PGPASSWORD").filter(|password| !password.is_empty()) {
        return Ok(config.hosts().map(|_| Some(password.as_encoded_bytes().to_vec())).collect());
    }
    let named = env::var_os("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let is_named = named.is_some();
    let Some(path) = named.or_else(usual_place) else { return Ok(Vec::new()) };
    match read(&path) {
        Ok(text) => {
            let choose = |(host, port)| choose(&text, config, host, port);
            Ok(config.hosts().map(choose).collect())
        }
        Err(Problem::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound && !is_named => {
            Ok(Vec::new())
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

/// Reads a password file that, on Unix, only its owner may use. Where `PostgreSQL` looks for it on Windows, only its owner may
/// read. What is not a plain file, such as `/dev/null`, has no passwords.
fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let facts = fs::metadata(path).map_err(Problem::Unreadable)?;
    if !facts.is_file() {
        return Ok(Vec::new());
    }
    if facts.len() > LONGEST {
        return Err(Problem::TooLong);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if facts.mode() & 0o077 != 0 {
            return Err(Problem::OpenToOthers);
        }
    }
    fs::read(path).map_err(Problem::Unreadable)
}

/// The password of the first line that matches a host. For a socket, a line that names its folder comes before all others.
fn choose(text: &[u8], config: &PostgresConfig, host: &Host, port: u16) -> Option<Vec<u8>> {
    let port = port.to_string();
    let wanted = [&port, config.database(), config.role()].map(str::as_bytes);
    let line = |is_host: &dyn Fn(&[u8]) -> bool| {
        text.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#")).find_map(|line| {
            let fields = fields(line.strip_suffix(b"\r").unwrap_or(line));
            let [host, others @ .., password] = fields.as_slice() else { return None };
            let mut pairs = others.iter().zip(wanted);
            let matches = is_host(host)
                && others.len() == wanted.len()
                && pairs.all(|(field, wanted)| field == b"*" || field == wanted);
            matches.then(|| password.clone())
        })
    };
    let of_name = |name: &str| line(&|field| field == b"*" || field == name.as_bytes());
    match host {
        Host::Tcp(name) => of_name(name),
        #[cfg(unix)]
        Host::Unix(folder) => line(&|field| field == folder.as_os_str().as_encoded_bytes())
            .or_else(|| of_name("localhost")),
    }
}

/// The fields of a line, which colons separate. A backslash takes the next byte as it is. The bytes may be of any encoding.
fn fields(line: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = vec![Vec::new()];
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        let taken = match byte {
            b':' => {
                fields.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next(),
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

    /// The password for each host of a URL.
    fn chosen(text: impl AsRef<[u8]>, url: &str) -> Vec<Option<String>> {
        let config = PostgresConfig::new(&crate::PostgresUrl::parse(url).unwrap());
        let choose = |(host, port)| choose(text.as_ref(), &config, host, port);
        let found = config.hosts().map(choose);
        found.map(|it| it.map(|password| String::from_utf8(password).unwrap())).collect()
    }

    fn some(passwords: &[&str]) -> Vec<Option<String>> {
        passwords.iter().map(|it| (!it.is_empty()).then(|| (*it).to_owned())).collect()
    }

    #[test]
    fn the_first_line_that_matches_is_taken() {
        let text = "# comment\nother:*:*:*:no\ndb:5432:m:app:one\r\n*:*:*:app:a\\:b\\\\c\n";
        assert_eq!(chosen(text, "postgres://app@db/m"), some(&["one"]));
        assert_eq!(chosen(text, "postgres://app@db:6432/m"), some(&["a:b\\c"]));
        assert_eq!(chosen(text, "postgres://ada@db/m"), some(&[""]));
        assert_eq!(chosen("db:5432:m:app", "postgres://app@db/m"), some(&[""]));
    }

    #[test]
    fn each_host_has_its_own_password() {
        let text = "b:*:*:*:of b\na:6432:*:*:of a\n";
        let url = "postgres://app@a:6432,b,c,a/m";
        assert_eq!(chosen(text, url), some(&["of a", "of b", "", ""]));
    }

    #[test]
    fn bytes_of_any_encoding_are_read() {
        let text = b"# f\xFCr die Datenbank\n\xFC:*:*:*:no\ndb:*:*:*:one\n";
        assert_eq!(chosen(text, "postgres://app@db/m"), some(&["one"]));
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_counts_as_its_folder_and_else_as_localhost() {
        let url = "postgres://app@/m?host=/run/a,/run/b";
        let text = "localhost:*:*:*:local\n*:*:*:*:any\n/run/b:5432:*:*:of b\n";
        assert_eq!(chosen(text, url), some(&["local", "of b"]));
        assert_eq!(chosen("*:*:*:*:any\nlocalhost:*:*:*:local", url), some(&["any", "any"]));
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
        assert_eq!(with(0o600).unwrap(), b"*:*:*:*:x\n");
        for mode in [0o640, 0o604, 0o620] {
            assert!(matches!(with(mode), Err(Problem::OpenToOthers)), "{mode:o}");
        }
        for other in [folder.path(), Path::new("/dev/null")] {
            assert_eq!(read(other).unwrap(), b"", "{}", other.display());
        }
    }
}
