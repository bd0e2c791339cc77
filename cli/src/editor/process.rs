//! Runs the editor, and lets the caller clean up even if a signal ends it.

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

/// The editor that VISUAL or EDITOR gives, else vi.
pub(crate) struct Editor {
    /// A program and its options, in shell syntax.
    command: OsString,
    options: &'static [&'static str],
}

impl Editor {
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        let named = |variable| env::var_os(variable).filter(|command| !command.is_empty());
        let command =
            named("VISUAL").or_else(|| named("EDITOR")).or_else(fallback).ok_or_else(|| {
                Failure::usage(
                    "No editor is configured, and there is no vi.",
                    "Set VISUAL or EDITOR, for example EDITOR=nano.",
                )
            })?;
        let Some(options) = options(&program(&command)) else {
            streams::warn(
                "This editor is unknown to inmost. It may write copies of the text, such as backups or a history, to the disk.",
            );
            return Ok(Self { command, options: &[] });
        };
        Ok(Self { command, options })
    }

    /// Runs the editor until it ends by itself.
    ///
    /// # Errors
    /// If it cannot be started, or a signal ends it or asks this program to end. The text must not be written then.
    pub(crate) fn run(
        &self,
        folder: &PrivateFolder,
        signals: &mut Signals,
    ) -> Result<ExitStatus, Failure> {
        // `exec` replaces the shell, so that a forwarded signal reaches the editor.
        let mut script = OsString::from("exec ");
        script.push(&self.command);
        script.push(" \"$@\"");
        let failed = |error: io::Error| {
            Failure::io("The editor cannot be started", &error, "Check VISUAL and EDITOR.")
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
            return Err(unsaved("A signal ended the edit."));
        }
        if status.code().is_none() {
            return Err(unsaved(&format!("The editor failed: {status}.")));
        }
        Ok(status)
    }
}

/// The editor that every Unix has, by convention.
fn fallback() -> Option<OsString> {
    let vi = OsString::from("vi");
    (program(&vi) != PathBuf::new()).then_some(vi)
}

fn unsaved(message: &str) -> Failure {
    let advice = "The edited text was removed and nothing was written. Try again.";
    Failure::new(Exit::Other, message.to_owned(), advice)
}

/// Catches the signals that would end this program before it has cleaned up.
pub(crate) struct Signals {
    signals: signal_hook::iterator::Signals,
    has_ended: bool,
}

impl Signals {
    pub(crate) fn watch() -> Result<Self, Failure> {
        let watched = [SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let signals = signal_hook::iterator::Signals::new(watched).map_err(|error| {
            Failure::io("Signal handlers cannot be installed", &error, "Try again.")
        })?;
        Ok(Self { signals, has_ended: false })
    }

    /// Waits until the child ends. Ctrl-C is left to the editor. A signal that asks this program to end is forwarded to the
    /// child.
    fn outlive(&mut self, mut child: Child) -> io::Result<ExitStatus> {
        loop {
            // If the child ends after this line, SIGCHLD wakes the loop below.
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
                    // Fails if the child has ended already.
                    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
                }
                self.has_ended = true;
            }
        }
    }
}

/// The path of the program that a command runs, with links resolved: `vi` may be a link to any of several editors.
fn program(command: &OsString) -> PathBuf {
    let command = command.to_string_lossy();
    let name = command.split_whitespace().next().unwrap_or_default();
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut candidates = env::split_paths(&folders).map(|folder| folder.join(name));
    let program = if name.contains('/') {
        Some(PathBuf::from(name))
    } else {
        candidates.find(|path| path.is_file())
    };
    program.and_then(|path| path.canonicalize().ok()).unwrap_or_default()
}

/// Options that stop a known editor from writing copies of the text. They override the settings of the user. `None` for an
/// unknown editor. Does no I/O.
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

/// No swap file, no viminfo or shada, no backups, no undo files; and no line feed added at the end.
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

/// Only the settings file can enable backups and histories, and no option disables them, so the file is ignored.
const NANO: &[&str] = &["--ignorercfiles", "--nonewlines"];

/// `savehist` and `desktop` save killed and copied text, so both are disabled.
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
    fn editors_are_recognised_by_their_names() {
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
