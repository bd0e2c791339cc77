//! The `inmost` program: the memory store at a shell, in scripts, and as an agent's memory over a pipe.
//!
//! It uses only the library's public API. Every failure becomes an [`exit::Failure`]: two lines on standard error and an
//! exit code.

mod args;
mod commands;
mod completion;
mod confirm;
mod credential;
mod descriptor;
mod desktop_prompt;
mod diceware;
mod disk_usage;
mod editor;
mod engine;
mod hints;
mod host_files;
mod interrupt;
mod json_line;
mod keyd;
mod keyfile;
mod line_editor;
mod lines;
mod mcp;
mod new_passphrase;
mod output;
mod pager;
mod passphrase;
mod progress;
mod recovered;
mod sandbox;
mod shell;
mod sizes;
mod store;
mod streams;
mod style;
mod terminal;
mod transfer;
mod usage;
mod version_line;
mod version_name;
mod windows_name;

use inmost_console::{display, exit, memory_path, times, version, version_diff};
use std::panic::{self, PanicHookInfo};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use exit::{Exit, Failure};

fn main() -> ExitCode {
    // Before the process holds any secret. `inmost status` shows which protections are in force, so an error here is not
    // reported.
    let _ = inmost::harden_process();
    panic::set_hook(Box::new(record_panic_location));
    let result = panic::catch_unwind(run).unwrap_or_else(|_| Err(internal_error()));
    store::sealed_copy::remove();
    let result = match result {
        Err(Failure::Error { .. }) => result,
        _ => store::opening::closed().and(result),
    };
    let exit = match result {
        Ok(()) | Err(Failure::OutputClosed) => Exit::Ok,
        Err(Failure::ReplyLost | Failure::NoMatch) => Exit::Other,
        Err(Failure::Reported(exit)) => exit,
        Err(Failure::ChildExited(code)) => return ExitCode::from(code),
        Err(Failure::Error { exit, message, advice }) => {
            streams::print_error(&message, &advice);
            exit
        }
    };
    ExitCode::from(exit.code())
}

fn run() -> Result<(), Failure> {
    match commands::parse()? {
        Some(command) => commands::run(&command),
        None => Ok(()),
    }
}

/// Where the last panic happened.
static PANIC_LOCATION: Mutex<String> = Mutex::new(String::new());

/// Prints nothing: a panic message may quote any data, and the library catches the panics of its engine and returns them as
/// errors. Only the file name is recorded, because the folders are those of the machine that built the program.
fn record_panic_location(panic: &PanicHookInfo<'_>) {
    let Some(location) = panic.location() else { return };
    let name = Path::new(location.file()).file_name().unwrap_or_default().to_string_lossy();
    *PANIC_LOCATION.lock().unwrap_or_else(PoisonError::into_inner) =
        format!("{name}:{}", location.line());
}

fn internal_error() -> Failure {
    let location = PANIC_LOCATION.lock().unwrap_or_else(PoisonError::into_inner);
    Failure::new(
        Exit::Other,
        format!("Internal error in inmost, at {location}."),
        "Please report it. Every change that the store acknowledged is safe.",
    )
}
