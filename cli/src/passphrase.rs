//! Where the passphrase comes from: a file, a file descriptor, a command, the environment, a person.
//!
//! The first source that is there is used, in this order, and no other is tried if it fails. It is never an
//! argument: every user of the machine can read those. Of a file, descriptor or command, one final line
//! end is not part of the passphrase, nor is a byte order mark before it; nothing else is trimmed.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use inmost::RecoveryKey;
use zeroize::Zeroizing;

use crate::credential::Phrase;
use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use crate::wiped::Wiped;
use crate::{new_passphrase, streams};

/// The sources that an invocation can name.
#[derive(clap::Args)]
pub(crate) struct PassphraseArgs {
    /// Read it from a file; `-` is standard input, where the command does not need that itself
    #[arg(long = "passphrase-file", value_name = "FILE", help_heading = HEADING)]
    pub(crate) file: Option<PathBuf>,

    /// Read it from an open file descriptor
    #[arg(long = "passphrase-fd", value_name = "N", help_heading = HEADING)]
    pub(crate) fd: Option<Descriptor>,

    /// Read it from the output of a shell command, such as a password manager's
    #[arg(long = "passphrase-command", value_name = "COMMAND", help_heading = HEADING)]
    pub(crate) command: Option<OsString>,
}

const HEADING: &str =
    "Passphrase: the first that is given, else INMOST_PASSPHRASE, else you are asked";

/// A descriptor that this process was started with, opened while the command line is read: a number that is
/// not open then would soon be that of a file of our own.
#[derive(Clone)]
pub(crate) struct Descriptor {
    number: u32,
    file: Arc<File>,
    /// What it gave: a pipe gives it once, and a server may have to open its store again.
    text: Arc<Mutex<Option<Wiped>>>,
}

impl Descriptor {
    fn read(&self) -> io::Result<Wiped> {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &mut *text {
            Some(text) => text,
            none => none.insert(read(&*self.file)?),
        };
        Ok(Wiped::of(text.expose()))
    }
}

impl FromStr for Descriptor {
    type Err = io::Error;

    fn from_str(number: &str) -> io::Result<Self> {
        let number = number.parse().map_err(|_| io::Error::other("not a number"))?;
        Ok(Self { number, file: Arc::new(open_descriptor(number)?), text: Arc::default() })
    }
}

/// What the command does with standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing: the passphrase may come from there.
    Free,
    /// It reads its own matter from there.
    Taken,
    /// The same, and another program started it, whose terminal is not ours to ask on.
    Unattended,
}

impl PassphraseArgs {
    /// Refuses to read both the passphrase and something else from standard input. Does no I/O.
    pub(crate) fn check(&self, input: Input) -> Result<(), Failure> {
        let wants_input = match (&self.file, &self.fd) {
            (Some(file), _) => file == Path::new("-"),
            (None, fd) => fd.as_ref().is_some_and(|fd| fd.number == 0),
        };
        if wants_input && input != Input::Free {
            return Err(Failure::usage(
                "Standard input cannot give the passphrase: this command reads it for itself.",
                "Use another source: a file, --passphrase-fd, --passphrase-command or INMOST_PASSPHRASE.",
            ));
        }
        Ok(())
    }

    /// The passphrase of a store that is there.
    pub(crate) fn of_store(&self, input: Input) -> Result<Phrase, Failure> {
        match self.given(input)? {
            Some(text) => Phrase::parse(text),
            None => Phrase::parse(ask(input, "Passphrase: ")?),
        }
    }

    /// The passphrase of a store that is to be made; a person chooses it now.
    pub(crate) fn of_new_store(&self, input: Input) -> Result<Phrase, Failure> {
        match self.given(input)? {
            Some(text) => Phrase::parse(text),
            None => Phrase::parse(new_passphrase::choose(&mut terminal()?)?),
        }
    }

    /// A recovery key, from the sources that are named or from a person; what the environment holds is a passphrase.
    pub(crate) fn recovery_key(&self, input: Input) -> Result<RecoveryKey, Failure> {
        let text = match self.named(input)? {
            Some(text) => text,
            None => ask(input, "Recovery key: ")?,
        };
        let text = std::str::from_utf8(text.expose()).map_err(|_| {
            Failure::usage("This is no recovery key.", "Check what it is taken from.")
        })?;
        Ok(RecoveryKey::parse(text)?)
    }

    /// Whether a person is going to be asked.
    pub(crate) fn asks(&self) -> bool {
        let is_named = self.file.is_some() || self.fd.is_some() || self.command.is_some();
        !is_named && std::env::var_os(VARIABLE).is_none()
    }

    /// What the first source gives, if there is one.
    fn given(&self, input: Input) -> Result<Option<Wiped>, Failure> {
        Ok(self.named(input)?.or_else(from_environment))
    }

    /// What the first source that the invocation names gives.
    fn named(&self, input: Input) -> Result<Option<Wiped>, Failure> {
        self.check(input)?;
        if let Some(path) = &self.file {
            let read = if path == Path::new("-") {
                streams::input().and_then(read)
            } else {
                File::open(path).and_then(read)
            };
            return Ok(Some(from_file("The passphrase file cannot be read", read)?));
        }
        if let Some(fd) = &self.fd {
            let what = "The file descriptor of the passphrase cannot be read";
            return Ok(Some(from_file(what, fd.read())?));
        }
        if let Some(command) = &self.command {
            return Ok(Some(bare(run(command, input)?)));
        }
        Ok(None)
    }
}

/// Where a passphrase that is to replace or join another comes from.
#[derive(clap::Args)]
pub(crate) struct NewPassphraseArgs {
    /// Read the new passphrase from a file
    #[arg(id = "new_passphrase_file", long = "new-passphrase-file", value_name = "FILE", help_heading = NEW_HEADING)]
    file: Option<PathBuf>,

    /// Read it from an open file descriptor
    #[arg(id = "new_passphrase_fd", long = "new-passphrase-fd", value_name = "N", help_heading = NEW_HEADING)]
    fd: Option<Descriptor>,

    /// Read it from the output of a shell command
    #[arg(id = "new_passphrase_command", long = "new-passphrase-command", value_name = "COMMAND", help_heading = NEW_HEADING)]
    command: Option<OsString>,
}

const NEW_HEADING: &str = "New passphrase: the first that is given, else you are asked";

impl NewPassphraseArgs {
    /// The new passphrase; a person chooses it now if no source is named. Never that of the environment: it opened the
    /// store, so it is the old one.
    pub(crate) fn choose(&self) -> Result<Phrase, Failure> {
        let sources = PassphraseArgs {
            file: self.file.clone(),
            fd: self.fd.clone(),
            command: self.command.clone(),
        };
        match sources.named(Input::Free)? {
            Some(text) => Phrase::parse(text),
            None => Phrase::parse(new_passphrase::choose(&mut terminal()?)?),
        }
    }
}

/// Asks a person, if one is there.
fn ask(input: Input, prompt: &str) -> Result<Wiped, Failure> {
    if input == Input::Unattended {
        return Err(Failure::new(
            Exit::Locked,
            "The store is locked: no passphrase was given, and nobody can be asked.",
            "Run `inmost unlock`, or start the program with a source of the passphrase.",
        ));
    }
    terminal()?.ask(prompt)
}

pub(crate) fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().map_err(|_| {
        Failure::usage(
            "No passphrase was given, and there is no terminal to ask for it.",
            "Use --passphrase-file, --passphrase-fd, --passphrase-command or INMOST_PASSPHRASE.",
        )
    })
}

/// Longer than any passphrase, so that its own error is the one that is told.
const MOST_BYTES: usize = 16 << 10;

fn read(reader: impl io::Read) -> io::Result<Wiped> {
    let read = Wiped::read(reader, MOST_BYTES)?;
    read.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "too long for a passphrase"))
}

fn from_file(what: &'static str, read: io::Result<Wiped>) -> Result<Wiped, Failure> {
    let text = read.map_err(|error| {
        Failure::io(what, &error, "Check that it is there and that you may read it.")
    })?;
    Ok(bare(text))
}

/// A new handle on a descriptor, by the name the system gives it: to take the number itself would need
/// unsafe code. Of a file it reads from the beginning, and a socket has no such name.
#[cfg(unix)]
fn open_descriptor(number: u32) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;

    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let mut options = File::options();
    // To open a named pipe anew waits for somebody to write, who may have written already and be gone.
    let wait = OFlags::NONBLOCK.bits().cast_signed();
    let file = options.read(true).custom_flags(wait).open(format!("{folder}/{number}"))?;
    fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_descriptor(_number: u32) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no numbered descriptors"))
}

/// What the command prints. It inherits the terminal, and standard input if that is free, so that a password
/// manager can ask for its own.
fn run(command: &OsString, input: Input) -> Result<Wiped, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(
            Exit::Other,
            format!("The passphrase command failed: {error}."),
            "Run it by itself to see what is wrong.",
        )
    };
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut child = Command::new(shell)
        .args([OsString::from(option), command.clone()])
        .env_remove(VARIABLE)
        .stdin(if input == Input::Free { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    // Our end is closed after the read, so a command that goes on printing ends too.
    let text = child.stdout.take().map(read);
    let status = child.wait().map_err(|error| failed(&error))?;
    let text = text.transpose().map_err(|error| failed(&error))?;
    match text {
        Some(text) if status.success() => Ok(text),
        _ => Err(failed(&status)),
    }
}

/// The variable's value, even if it is empty: a script that meant to give one must hear that it did not.
fn from_environment() -> Option<Wiped> {
    let value = Zeroizing::new(std::env::var_os(VARIABLE)?.into_encoded_bytes());
    let mut text = Wiped::with_capacity(value.len());
    text.append(&value);
    Some(text)
}

/// The variable of the environment that may hold it.
pub(crate) const VARIABLE: &str = "INMOST_PASSPHRASE";

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a file: some editors put a mark before it, most a line end after it, and no person sees either.
fn bare(mut text: Wiped) -> Wiped {
    if let Some(rest) = text.expose().strip_prefix(BYTE_ORDER_MARK) {
        let mut unmarked = Wiped::with_capacity(rest.len());
        unmarked.append(rest);
        text = unmarked;
    }
    if text.expose().ends_with(b"\n") {
        text.pop();
        if text.expose().ends_with(b"\r") {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_and_one_mark_are_dropped_and_nothing_else() {
        for (text, expected) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\r", "a\r"),
            ("a\n\n", "a\n"),
            (" a \n", " a "),
            ("\n", ""),
            ("\u{feff}a\n", "a"),
            ("\u{feff}", ""),
            ("\u{feff}\u{feff}a", "\u{feff}a"),
            ("a\u{feff}", "a\u{feff}"),
            ("", ""),
        ] {
            let mut bytes = Wiped::new();
            bytes.append(text.as_bytes());
            assert_eq!(bare(bytes).expose(), expected.as_bytes(), "{text:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_a_command_that_leaves_standard_input_alone_lets_it_give_the_passphrase() {
        let null = || Arc::new(File::open("/dev/null").unwrap());
        let args = |file: Option<&str>, fd: Option<u32>| PassphraseArgs {
            file: file.map(PathBuf::from),
            fd: fd.map(|number| Descriptor { number, file: null(), text: Arc::default() }),
            command: None,
        };
        for (args, wants_input) in [
            (args(Some("-"), None), true),
            (args(None, Some(0)), true),
            (args(Some("-"), Some(3)), true),
            (args(Some("file"), Some(0)), false),
            (args(None, Some(3)), false),
            (args(None, None), false),
        ] {
            assert!(args.check(Input::Free).is_ok());
            assert_eq!(args.check(Input::Taken).is_err(), wants_input);
        }
    }
}
