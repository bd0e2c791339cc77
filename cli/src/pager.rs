//! Output that is longer than a screen.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::shell;
use crate::shell::VARIABLE;

/// Prints a text: on a terminal in `$PAGER`, else `less`. The text goes through a pipe and never into a file. Without a pager it
/// goes to the terminal.
///
/// # Errors
/// If `$PAGER` cannot be run, and those of standard output.
pub(crate) fn page(text: &[u8]) -> Result<(), Failure> {
    // A pager would ask whether it may use such a terminal.
    let is_dumb = env::var_os("TERM").is_none_or(|name| name == "dumb");
    if !io::stdout().is_terminal() || is_dumb {
        return print(text);
    }
    let chosen = env::var_os("PAGER").filter(|pager| !pager.is_empty());
    let mut command = match &chosen {
        Some(pager) => shell::running(pager),
        None => Command::new("less"),
    };
    if env::var_os("LESS").is_none() {
        // Ends by itself if everything fits on the screen, and lets colours through.
        command.env("LESS", "FRX");
    }
    // less would keep what was searched for in a file of the home folder, and its commands could write the text to one.
    command.env("LESSHISTFILE", "-").env("LESSSECURE", "1").env_remove(VARIABLE);
    survive_interrupts();
    let Ok(mut pager) = command.stdin(Stdio::piped()).spawn() else {
        return print(text);
    };
    if let Some(mut pipe) = pager.stdin.take() {
        // The pager may end before it has read everything, which is no error.
        let _ = pipe.write_all(text);
    }
    // Until it has ended, it reads from the terminal.
    let code = pager.wait().ok().and_then(|status| status.code());
    match chosen {
        Some(pager) if code.is_some_and(|code| NOT_RUN.contains(&code)) => Err(Failure::new(
            Exit::Usage,
            format!("The pager {} cannot be run.", pager.display()),
            "Set PAGER to another program, or to `cat`.",
        )),
        _ => Ok(()),
    }
}

/// With these codes, a shell reports that it cannot execute a command, or has not found it.
const NOT_RUN: [i32; 2] = if cfg!(windows) { [9_009, 9_009] } else { [126, 127] };

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
