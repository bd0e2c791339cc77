//! Running a person's editor, and cleaning up after it whatever ends it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::private_folder::PrivateFolder;
use crate::exit::{Exit, Failure};
use crate::streams;

/// The editor that the environment names.
pub(super) struct Editor {
    /// A program and its options, as a shell reads them.
    command: OsString,
    options: &'static [&'static str],
}

impl Editor {
    pub(super) fn of_environment() -> Result<Self, Failure> {
        let named = |variable| env::var_os(variable).filter(|command| !command.is_empty());
        let command = named("VISUAL").or_else(|| named("EDITOR")).ok_or_else(|| {
            Failure::usage("No editor is named.", "Set VISUAL or EDITOR, for example EDITOR=vim.")
        })?;
        let Some(options) = options(&program(&command)) else {
            streams::warn(
                "What this editor keeps of a text elsewhere, as backups or history, is not known to inmost.",
            );
            return Ok(Self { command, options: &[] });
        };
        Ok(Self { command, options })
    }

    /// Runs it until it ends.
    ///
    /// # Errors
    /// If it fails, or if a signal ends this program; the text is then not to be written.
    pub(super) fn run(&self, folder: &PrivateFolder, signals: &mut Signals) -> Result<(), Failure> {
        // In place of the shell, so that a signal that is passed on reaches it.
        let mut script = OsString::from("exec ");
        script.push(&self.command);
        script.push(" \"$@\"");
        let failed = |error: io::Error| {
            Failure::io("The editor cannot be run", &error, "Check VISUAL and EDITOR.")
        };
        let child = Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg("sh")
            .args(self.options)
            .arg(folder.file())
            .envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, folder.path())))
            .env_remove("INMOST_PASSPHRASE")
            .spawn()
            .map_err(failed)?;
        let status = signals.outlive(child).map_err(failed)?;
        if signals.has_ended {
            return Err(unsaved("The edit was ended by a signal."));
        }
        if status.success() {
            Ok(())
        } else {
            Err(unsaved(&format!("The editor failed: {status}.")))
        }
    }
}

fn unsaved(what: &str) -> Failure {
    let advice = "The edited text was removed, and nothing was written; try again.";
    Failure::new(Exit::Other, what.to_owned(), advice)
}

/// The signals that would end this program before it has cleaned up.
pub(super) struct Signals {
    signals: signal_hook::iterator::Signals,
    has_ended: bool,
}

impl Signals {
    pub(super) fn watch() -> Result<Self, Failure> {
        let watched = [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let signals = signal_hook::iterator::Signals::new(watched)
            .map_err(|error| Failure::io("Signals cannot be watched", &error, "Try again."))?;
        Ok(Self { signals, has_ended: false })
    }

    /// Waits for the end of a child. Ctrl-C is the editor's own to answer; what is to end this program ends that first.
    fn outlive(&mut self, mut child: Child) -> io::Result<ExitStatus> {
        loop {
            // A child that ends from here on is told by its signal.
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            for signal in self.signals.wait() {
                if ![SIGHUP, SIGTERM].contains(&signal) {
                    continue;
                }
                if self.has_ended {
                    child.kill()?;
                } else {
                    // It may have ended already.
                    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
                }
                self.has_ended = true;
            }
        }
    }
}

/// The program that a command runs: behind all links, because `vi` is not always the same one.
fn program(command: &OsString) -> PathBuf {
    let command = command.to_string_lossy();
    let name = command.split_whitespace().next().unwrap_or_default();
    let folders = env::var_os("PATH").unwrap_or_default();
    // A name with a folder replaces the one it is looked for in.
    let mut places = env::split_paths(&folders).map(|folder| folder.join(name));
    let found = if name.contains('/') {
        Some(PathBuf::from(name))
    } else {
        places.find(|place| place.is_file())
    };
    found.and_then(|place| place.canonicalize().ok()).unwrap_or_default()
}

/// What makes a known editor keep nothing of a text but the file itself, after the settings of its user. Does no I/O.
fn options(program: &Path) -> Option<&'static [&'static str]> {
    let name = program.file_name()?.to_str()?;
    let is = |known: &str| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    if is("vim") || is("nvim") {
        Some(VIM)
    } else if is("nano") {
        Some(NANO)
    } else if is("emacs") {
        Some(EMACS)
    } else {
        None
    }
}

/// No swap file; nothing in viminfo or shada; no backups and undo files; and no line feed that the user did not type.
const VIM: &[&str] = &[
    "-n",
    "-i",
    "NONE",
    "-c",
    "silent! set nobackup",
    "-c",
    "silent! set nowritebackup",
    "-c",
    "silent! set noundofile",
    "-c",
    "silent! set nofixendofline",
];

/// The file of settings is where backups and histories are switched on, and no option switches them off again.
const NANO: &[&str] = &["--ignorercfiles", "--nonewlines"];

/// `savehist` and `desktop` keep what was killed and copied.
const EMACS: &[&str] = &[
    "--eval",
    "(progn (setq make-backup-files nil auto-save-default nil auto-save-list-file-prefix nil \
     create-lockfiles nil undo-tree-auto-save-history nil) \
     (when (bound-and-true-p savehist-mode) (savehist-mode -1)) \
     (when (bound-and-true-p desktop-save-mode) (desktop-save-mode -1)))",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_editors_are_known_under_their_names() {
        for (name, expected) in [
            ("vim", Some(VIM)),
            ("vim.basic", Some(VIM)),
            ("nvim", Some(VIM)),
            ("nano", Some(NANO)),
            ("emacs-nox", Some(EMACS)),
            ("emacsclient", None),
            ("vimdiff", None),
            ("code", None),
        ] {
            assert_eq!(options(&Path::new("/usr/bin").join(name)), expected, "{name}");
        }
        assert_eq!(options(Path::new("")), None);
    }

    #[test]
    fn the_program_of_a_command_is_found() {
        let sh = Path::new("/bin/sh").canonicalize().unwrap();
        for command in ["sh", "sh -e", "  sh\t-e", "/bin/sh -e"] {
            assert_eq!(program(&command.into()), sh, "{command}");
        }
        for command in ["", " ", "no-such-editor-here", "/no/such"] {
            assert_eq!(program(&command.into()), Path::new(""), "{command:?}");
        }
    }
}
