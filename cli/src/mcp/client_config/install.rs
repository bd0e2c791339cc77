//! Writes the server into a client's configuration file.
//!
//! The file is replaced in one step, so that a crash leaves the old file or the new one, and its former content is kept
//! beside it. A link is refused: the file at its end may belong to something else than the client.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str;

use similar::TextDiff;

use super::Server;
use super::client::{Client, Format};
use super::document::{self, Edited};
use crate::confirm;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::host_files;
use crate::output::{print, say, though_unread};
use crate::store::database;
use crate::streams;
use crate::style::{Style, painted_diff};

/// The client to connect.
pub(crate) struct Install<'a> {
    pub(crate) client: Client,
    /// Its configuration file, if it is not the usual one.
    pub(crate) file: Option<&'a Path>,
    /// Whether to write without asking.
    pub(crate) yes: bool,
}

/// A configuration file as it is now.
struct Current {
    text: String,
    /// `None` if there is no file.
    permissions: Option<Permissions>,
}

impl Install<'_> {
    /// Shows what changes in the client's configuration, asks, and writes it. `store` is the folder of the store.
    pub(crate) fn run(&self, server: &Server, store: &Path) -> Result<(), Failure> {
        let (file, format) = self.target()?;
        let current = read(&file)?;
        let entry = self.client.entry(server);
        let edited = document::with_server(format, &current.text, &server.name, &entry).map_err(
            |refused| {
                Failure::new(
                    Exit::Other,
                    format!("The configuration {} was not changed: {refused}.", file.display()),
                    "Correct the file, or add the output of --print-config to it by hand.",
                )
            },
        )?;
        if database::url(store).is_none() && !store.exists() {
            let place = display::path(&store.display().to_string());
            streams::warn(&format!(
                "there is no store at {place} yet; create it with `inmost init`"
            ));
        }
        let title = self.client.title();
        let shown = display::path(&file.display().to_string());
        let Some(edited) = edited else {
            return print(format!("{title} is already connected by {shown}.\n").as_bytes());
        };
        self.confirm(&file, &current, &edited, &server.name, &document::args(&entry))?;
        let backup = write(&file, &current, &edited.text).map_err(|error| {
            let message = format!("The configuration {shown} cannot be written");
            Failure::io(
                &message,
                &error,
                "Nothing was changed. Choose another file with --config-file.",
            )
        })?;
        let kept = backup.map_or_else(String::new, |backup| {
            format!("The file as it was: {}\n", backup.display())
        });
        let text = format!(
            "{shown} now connects {title} to the memory.\n{kept}Restart the client, and unlock the store with `inmost \
             unlock`.\n"
        );
        say(&text)
    }

    /// The file to change, as an absolute path, and its format.
    fn target(&self) -> Result<(PathBuf, Format), Failure> {
        let Some(format) = self.client.format() else {
            return Err(Failure::usage(
                "Claude Code adds a server for all projects with a command of its own.",
                "Run the line that `inmost mcp --print-config claude-command` prints.",
            ));
        };
        let file = match self.file {
            Some(file) => Some(file.to_owned()),
            None => etcetera::home_dir().ok().and_then(|home| self.client.file(&home)),
        };
        let file = file.ok_or_else(|| {
            Failure::usage(
                "The configuration file of this client is unknown.",
                "Name it with --config-file, or print the configuration with --print-config.",
            )
        })?;
        let file = std::path::absolute(file).map_err(|error| {
            Failure::io("The working folder cannot be determined", &error, "Use absolute paths.")
        })?;
        Ok((file, format))
    }

    /// Another store stays connected unless a person agrees: with --yes nobody would notice.
    fn confirm(
        &self,
        file: &Path,
        current: &Current,
        edited: &Edited,
        entry: &str,
        args: &[String],
    ) -> Result<(), Failure> {
        let store = |args: &[String]| {
            let mut rest = args.iter().skip_while(|arg| !arg.starts_with("--store"));
            match rest.next()?.strip_prefix("--store=") {
                Some(joined) => Some(joined.to_owned()),
                None => rest.next().cloned(),
            }
        };
        // An entry whose arguments name no store, or of another program, is that of a store that nobody here knows.
        let other =
            edited.replaced.as_deref().map(|args| store(args).unwrap_or_else(|| UNNAMED.into()));
        let other = other.filter(|other| Some(other) != store(args).as_ref());
        if let Some(other) = other.as_ref().filter(|_| self.yes) {
            return Err(Failure::new(
                Exit::Other,
                format!(
                    "{} connects another store as `{entry}`: {}.",
                    file.display(),
                    display::path(other)
                ),
                "Nothing was changed. Give this one another name with --name, or leave out --yes to replace the other.",
            ));
        }
        let name = file.display().to_string();
        let old = if current.permissions.is_some() { name.as_str() } else { "nothing" };
        let diff = TextDiff::from_lines(current.text.as_str(), edited.text.as_str());
        let diff = diff.unified_diff().header(old, &name).to_string();
        though_unread(print(painted_diff(diff.as_bytes(), Style::of_output()).as_slice()))?;
        let question = match (other, &edited.replaced) {
            (Some(other), _) => format!(
                "This disconnects the store {}; --name adds an entry beside it. Type yes to replace it: ",
                display::path(&other)
            ),
            (None, Some(_)) => {
                format!("Replace the entry `{entry}` in this file? Type yes to continue: ")
            }
            (None, None) => "Write this file? Type yes to continue: ".to_owned(),
        };
        confirm::ask(self.yes, &question, "yes")
    }
}

fn read(path: &Path) -> Result<Current, Failure> {
    let refused = |reason: &str| {
        Failure::new(
            Exit::Other,
            format!("The configuration {} was not changed: {reason}.", path.display()),
            "Name the file that the client reads with --config-file.",
        )
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Current { text: String::new(), permissions: None });
        }
        Ok(metadata) if metadata.is_symlink() => {
            let end = fs::read_link(path).unwrap_or_default();
            return Err(refused(&format!("it is a link to {}", end.display())));
        }
        _ => {}
    }
    let read = || {
        let file = host_files::open(path)?;
        let permissions = file.metadata()?.permissions();
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok((bytes, permissions))
    };
    let (bytes, permissions) = read().map_err(|error: io::Error| {
        let message = format!("The configuration {} cannot be read", path.display());
        Failure::io(&message, &error, "Nothing was changed. Check the permissions of the file.")
    })?;
    if u64::try_from(bytes.len()) == Ok(MAX_BYTES) {
        return Err(refused("it is larger than 8 MiB"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Current { text, permissions: Some(permissions) }),
        Err(_) => Err(refused("it is not UTF-8")),
    }
}

/// The store of an entry whose arguments name none.
const UNNAMED: &str = "one that its arguments do not name";

/// Far more than any client's configuration.
const MAX_BYTES: u64 = 8 << 20;

/// Replaces the file and returns the path of the copy of its former content.
fn write(path: &Path, current: &Current, text: &str) -> io::Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    host_files::make_folder(folder)?;
    let mut backup = None;
    if let Some(permissions) = &current.permissions {
        let (copy, file) = create_beside(path, "bak")?;
        fill(&file, current.text.as_bytes(), Some(permissions))
            .inspect_err(|_| drop(fs::remove_file(&copy)))?;
        backup = Some(copy);
    }
    let (new, file) = create_beside(path, "new")?;
    let replaced = fill(&file, text.as_bytes(), current.permissions.as_ref())
        .and_then(|()| unchanged(path, current))
        .and_then(|()| fs::rename(&new, path));
    if let Err(error) = replaced {
        let _ = fs::remove_file(&new);
        if let Some(copy) = &backup {
            let _ = fs::remove_file(copy);
        }
        return Err(error);
    }
    // The file is in place. Without this sync a crash of the machine may bring the old one back.
    let _ = host_files::sync_parent(path);
    Ok(backup)
}

/// Fails if the file is no longer what the person was shown: the client may have written it meanwhile.
fn unchanged(path: &Path, current: &Current) -> io::Result<()> {
    let now = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if now.as_deref() == current.permissions.as_ref().map(|_| current.text.as_bytes()) {
        return Ok(());
    }
    Err(io::Error::other("another program changed it meanwhile"))
}

fn fill(mut file: &File, bytes: &[u8], permissions: Option<&Permissions>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions.clone())?;
    }
    file.sync_all()
}

/// Creates a new file beside `path`, named after it.
fn create_beside(path: &Path, ending: &str) -> io::Result<(PathBuf, File)> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    for number in 1..1000 {
        let mut name = name.clone();
        if number > 1 {
            name.push(number.to_string());
        }
        let candidate = path.with_file_name(name);
        match host_files::create(&candidate) {
            Ok(file) => return Ok((candidate, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many copies of it"))
}
