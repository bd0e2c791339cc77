//! Output that is longer than a screen.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::VARIABLE;
use crate::shell;

/// A pager, or standard output if it is no terminal. The text goes through a pipe and never into a file.
pub(crate) struct Pager {
    child: Option<Child>,
}

impl Pager {
    /// Starts `$PAGER`, else `less`. Without a pager the output goes to the terminal.
    pub(crate) fn start() -> Self {
        if !io::stdout().is_terminal() {
            return Self { child: None };
        }
        let mut command = match env::var_os("PAGER").filter(|pager| !pager.is_empty()) {
            Some(pager) => shell::running(&pager),
            None => Command::new("less"),
        };
        if env::var_os("LESS").is_none() {
            // Ends by itself if everything fits on the screen, and lets colours through.
            command.env("LESS", "FRX");
        }
        // less would keep what was searched for in a file of the home folder, and its commands could write the text to one.
        command.env("LESSHISTFILE", "-").env("LESSSECURE", "1").env_remove(VARIABLE);
        survive_interrupts();
        Self { child: command.stdin(Stdio::piped()).spawn().ok() }
    }

    pub(crate) fn print(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            // A broken pipe is no error: the reader has ended the pager.
            Some(pipe) => pipe.write_all(bytes).map_err(|error| Failure::output(&error)),
            None => print(bytes),
        }
    }
}

impl Drop for Pager {
    /// Waits until the pager has ended: until then it reads from the terminal.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// Ctrl-C in a pager ends a search in it. This process gets the signal too, and must not end before the pager: both would
/// then read from the terminal, the pager and the shell.
#[cfg(unix)]
fn survive_interrupts() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    // On an error Ctrl-C ends this process, as without a pager. Nobody reads the flag: all that counts is that the signal has
    // a handler.
    let _ =
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)));
}

#[cfg(not(unix))]
fn survive_interrupts() {}
