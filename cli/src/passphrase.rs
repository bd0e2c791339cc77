//! The sources of a passphrase: a file, a file descriptor, a command, the environment, or a prompt at the terminal or on the
//! desktop.
//!
//! The first source that is given is used, in this order. If it fails, no other source is tried. A passphrase is never a
//! command-line argument, because every user of the machine can read those. One trailing newline and a leading byte order
//! mark are stripped from what a file, descriptor, command or variable gives; nothing else is trimmed. A new passphrase has one
//! line: what follows a line break could not be typed at a prompt.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use inmost::{Passphrase, RecoveryKey};
use zeroize::Zeroizing;

use crate::descriptor::{self, Descriptor, MAX_BYTES, strip};
use crate::desktop_prompt::DesktopPrompt;
use crate::exit::{Exit, Failure};
use crate::shell::VARIABLE;
use crate::terminal::Terminal;
use crate::{new_passphrase, shell, streams};
use inmost_console::Wiped;

/// The sources that a command line can give.
#[derive(clap::Args)]
pub(crate) struct PassphraseArgs {
    /// Read it from a file; `-` is standard input, for commands that do not read standard input themselves
    #[arg(id = "passphrase_file", long = "passphrase-file", value_name = "FILE", help_heading = HEADING)]
    pub(crate) file: Option<PathBuf>,

    /// Read it from an open file descriptor
    #[arg(id = "passphrase_fd", long = "passphrase-fd", value_name = "N", help_heading = HEADING)]
    pub(crate) fd: Option<Descriptor>,

    /// Read it from the output of a shell command, such as a password manager
    #[arg(id = "passphrase_command", long = "passphrase-command", value_name = "COMMAND", help_heading = HEADING)]
    pub(crate) command: Option<OsString>,

    /// Ask for the passphrase of an existing store with this kind of program instead of the terminal
    #[arg(long, value_name = "PROGRAM", help_heading = HEADING)]
    pub(crate) prompt: Option<DesktopPrompt>,
}

const HEADING: &str =
    "Passphrase: the first source given, else INMOST_PASSPHRASE, else you are asked";

/// How a command uses standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// The command does not read it, so it can give the passphrase.
    Free,
    /// The command reads it.
    Taken,
    /// The command reads it, and was started by another program, whose terminal must not be used for a prompt.
    Unattended,
}

/// How a command asks for a passphrase.
#[derive(Clone, Copy)]
pub(crate) struct Asking {
    pub(crate) input: Input,
    /// Whether what was typed before did not open the store.
    pub(crate) is_again: bool,
}

impl Asking {
    pub(crate) fn first(input: Input) -> Self {
        Self { input, is_again: false }
    }
}

/// The kind of credential that the options give.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Passphrase,
    RecoveryKey,
}

impl By {
    pub(crate) fn recovery(is_given: bool) -> Self {
        if is_given { Self::RecoveryKey } else { Self::Passphrase }
    }
}

impl PassphraseArgs {
    /// Refuses to read both the passphrase and other data from standard input. Does no I/O.
    pub(crate) fn check(&self, input: Input) -> Result<(), Failure> {
        let wants_input = match (&self.file, &self.fd) {
            (Some(file), _) => file == Path::new("-"),
            (None, fd) => fd.as_ref().is_some_and(Descriptor::is_standard_input),
        };
        if wants_input && input != Input::Free {
            return Err(Failure::usage(
                "The passphrase cannot be read from standard input: this command reads other data from it.",
                "Use another source: a file, --passphrase-fd, --passphrase-command or INMOST_PASSPHRASE.",
            ));
        }
        Ok(())
    }

    /// The passphrase of an existing store.
    pub(crate) fn of_store(&self, store: &Path, asking: Asking) -> Result<Passphrase, Failure> {
        match self.given(asking.input)? {
            Some(text) => parse(text, &self.source()),
            None => parse(self.ask(store, asking, "Passphrase")?, ANSWER),
        }
    }

    /// The passphrase of a store that is about to be created; without a source, a person chooses it now.
    pub(crate) fn of_new_store(&self, input: Input) -> Result<Passphrase, Failure> {
        match self.given(input)? {
            Some(text) => parse_new(text, &self.source()),
            None if self.prompt.is_some() => Err(Failure::usage(
                "--prompt asks for the passphrase of an existing store only.",
                "Leave it out and choose a passphrase at the terminal, or give one with --passphrase-file.",
            )),
            None => parse(new_passphrase::choose(&mut terminal()?)?, ANSWER),
        }
    }

    /// A recovery key, from the options or a prompt. The environment variable holds a passphrase, so it is not read.
    pub(crate) fn recovery_key(
        &self,
        store: &Path,
        asking: Asking,
    ) -> Result<RecoveryKey, Failure> {
        let text = match self.named(asking.input)? {
            Some(text) => text,
            None => self.ask(store, asking, "Recovery key")?,
        };
        let text = std::str::from_utf8(text.as_slice()).map_err(|_| {
            Failure::usage("Invalid recovery key: it is not text.", "Check its source.")
        })?;
        Ok(RecoveryKey::parse(text)?)
    }

    /// Whether a person will be asked, because no source is given.
    pub(crate) fn prompts(&self, by: By) -> bool {
        let is_named = self.file.is_some() || self.fd.is_some() || self.command.is_some();
        !is_named && (by == By::RecoveryKey || std::env::var_os(VARIABLE).is_none())
    }

    /// Asks at the terminal, or with another program, if that is allowed.
    fn ask(&self, store: &Path, asking: Asking, what: &str) -> Result<Wiped, Failure> {
        let (place, store) = (store, store.display());
        if asking.input == Input::Unattended {
            return Err(Failure::new(
                Exit::Locked,
                format!(
                    "The store {store} is locked: no passphrase was given, and this command cannot ask for one."
                ),
                "Run `inmost unlock`, or add a source such as --passphrase-file.",
            ));
        }
        if let Some(prompt) = self.prompt {
            return prompt.ask(place, what, asking.is_again.then_some(AGAIN));
        }
        let mut terminal = Terminal::open().map_err(|_| {
            Failure::new(
                Exit::Locked,
                format!("The store {store} is locked: no passphrase was given, and there is no terminal to ask for it."),
                "Use --passphrase-file, --passphrase-fd, --passphrase-command or INMOST_PASSPHRASE, or run `inmost unlock` at a terminal.",
            )
        })?;
        if asking.is_again {
            terminal.print(&format!("{AGAIN}\n"))?;
        }
        terminal.ask(&format!("{what} for {store}: "))
    }

    /// The source that is read before a person is asked.
    fn source(&self) -> String {
        match (&self.file, &self.fd, &self.command) {
            (Some(path), ..) if path == Path::new("-") => "the standard input".to_owned(),
            (Some(path), ..) => format!("the passphrase file {}", path.display()),
            (None, Some(_), _) => "the passphrase file descriptor".to_owned(),
            (None, None, Some(_)) => "the output of the passphrase command".to_owned(),
            (None, None, None) => format!("the variable {VARIABLE}"),
        }
    }

    /// The text from the options or the environment.
    fn given(&self, input: Input) -> Result<Option<Wiped>, Failure> {
        Ok(self.named(input)?.or_else(from_environment))
    }

    /// The text from the options.
    fn named(&self, input: Input) -> Result<Option<Wiped>, Failure> {
        self.check(input)?;
        if let Some(path) = &self.file {
            let read = if path == Path::new("-") {
                streams::input().and_then(read)
            } else {
                File::open(path).and_then(read)
            };
            let source = format!("The passphrase file {}", path.display());
            return from_file(&source, read).map(Some);
        }
        if let Some(fd) = &self.fd {
            return from_file("The passphrase file descriptor", fd.read(MAX_BYTES)).map(Some);
        }
        if let Some(command) = &self.command {
            return Ok(Some(strip(run(command, input)?)));
        }
        Ok(None)
    }
}

/// The sources of a new passphrase.
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

const NEW_HEADING: &str = "New passphrase: the first source given, else you are asked";

impl NewPassphraseArgs {
    /// The new passphrase; without a source, a person chooses it now. The environment variable is not read: it holds the
    /// old passphrase.
    pub(crate) fn choose(&self) -> Result<Passphrase, Failure> {
        let sources = PassphraseArgs {
            file: self.file.clone(),
            fd: self.fd.clone(),
            command: self.command.clone(),
            prompt: None,
        };
        if let Some(text) = sources.named(Input::Free)? {
            return parse_new(text, &sources.source());
        }
        let mut terminal = Terminal::open().map_err(|_| no_new_passphrase())?;
        parse(new_passphrase::choose(&mut terminal)?, ANSWER)
    }
}

fn no_new_passphrase() -> Failure {
    Failure::usage(
        "No new passphrase was given, and there is no terminal to ask for it.",
        "Use --new-passphrase-file, --new-passphrase-fd or --new-passphrase-command.",
    )
}

/// The passphrase that a source has given.
fn parse(text: Wiped, source: &str) -> Result<Passphrase, Failure> {
    Passphrase::from_bytes(text.into_inner()).map_err(|error| {
        let advice = format!("Correct {source}, or use another source.");
        Failure::usage(format!("Invalid passphrase from {source}: {error}."), advice)
    })
}

/// The passphrase that a source has given for a new keyslot.
fn parse_new(text: Wiped, source: &str) -> Result<Passphrase, Failure> {
    let given = std::str::from_utf8(text.as_slice()).unwrap_or_default();
    if given.contains(NOT_TYPED) {
        return Err(Failure::usage(
            format!("Invalid new passphrase from {source}: it has more than one line, or a NUL."),
            "Give the passphrase in one line: with a password manager, its first line alone.",
        ));
    }
    parse(text, source)
}

/// Characters that a person cannot type at a prompt.
const NOT_TYPED: [char; 6] = ['\n', '\r', '\0', '\u{85}', '\u{2028}', '\u{2029}'];

/// What a person has typed, as a source.
const ANSWER: &str = "the answer to the prompt";

/// The terminal, to ask for a passphrase that does not unlock a store.
pub(crate) fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().map_err(|_| no_terminal())
}

/// The error of a command that needs a passphrase although no store is locked.
pub(crate) fn no_terminal() -> Failure {
    Failure::usage(
        "No passphrase was given, and there is no terminal to ask for it.",
        "Use --passphrase-file, --passphrase-fd, --passphrase-command or INMOST_PASSPHRASE.",
    )
}

const AGAIN: &str = "That does not open the store. Try again.";

fn read(reader: impl io::Read) -> io::Result<Wiped> {
    Wiped::read(reader, MAX_BYTES)?.ok_or_else(descriptor::too_long)
}

fn from_file(source: &str, read: io::Result<Wiped>) -> Result<Wiped, Failure> {
    let text = read.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::FileTooLarge => "It must give the passphrase and nothing else.",
            _ => "Check that it exists and that you have permission to read it.",
        };
        Failure::io(&format!("{source} cannot be read"), &error, advice)
    })?;
    Ok(strip(text))
}

/// The output of a command. The command inherits the terminal, and standard input if that is free, so that a password
/// manager can ask for its own password.
fn run(command: &OsStr, input: Input) -> Result<Wiped, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(
            Exit::Other,
            format!("The passphrase command failed: {error}."),
            "Run it by itself to see the cause.",
        )
    };
    let mut child = shell::running(command)
        .env_remove(VARIABLE)
        .stdin(if input == Input::Free { Stdio::inherit() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    // `read` drops our end of the pipe, so a command that continues to print ends as well.
    let text = child.stdout.take().map(read);
    let status = child.wait().map_err(|error| failed(&error))?;
    let text = text.transpose().map_err(|error| failed(&error))?;
    match text {
        Some(text) if status.success() => Ok(text),
        _ => Err(failed(&status)),
    }
}

/// The value of the variable, even if it is empty: a script that set it by mistake gets an error instead of a prompt.
fn from_environment() -> Option<Wiped> {
    let value = Zeroizing::new(std::env::var_os(VARIABLE)?.into_encoded_bytes());
    Some(strip(Wiped::new(value.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_passphrase_is_not_read_from_standard_input_that_the_command_reads() {
        let args = |file: Option<&str>, fd: Option<u32>| PassphraseArgs {
            file: file.map(PathBuf::from),
            fd: fd.map(Descriptor::of_number),
            command: None,
            prompt: None,
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
