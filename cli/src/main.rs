//! The `inmost` program: the memory store at a shell, in scripts, and as an agent's memory over a pipe.
//!
//! It uses the library's public API alone. Every way to fail ends in [`exit::Failure`]: two lines on standard
//! error and an exit code.

mod agent;
mod args;
mod clock;
mod commands;
mod compact_offer;
mod confined;
mod confirm;
mod credential;
mod exit;
mod json_line;
mod line_editor;
mod lines;
mod mcp;
mod new_passphrase;
mod passphrase;
mod plain;
mod progress;
mod shown;
mod store;
mod streams;
mod style;
mod terminal;
mod transfer;
mod tree;
mod wiped;
mod words;

use std::panic::{self, PanicHookInfo};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use exit::{Exit, Failure};

fn main() -> ExitCode {
    // Before anything secret is here. What the system refuses, `inmost status` tells.
    let _ = inmost::harden_process();
    panic::set_hook(Box::new(remember_place));
    let ended = panic::catch_unwind(run).unwrap_or_else(|_| Err(fault()));
    let exit = match ended {
        Ok(()) | Err(Failure::ReaderGone) => Exit::Ok,
        Err(Failure::AnswerLost | Failure::NothingFound) => Exit::Other,
        Err(Failure::Ended(code)) => return ExitCode::from(code),
        Err(Failure::Told { exit, what, advice }) => {
            streams::complain(&what, &advice);
            exit
        }
    };
    ExitCode::from(exit.code())
}

fn run() -> Result<(), Failure> {
    match args::parse()? {
        Some(command) => commands::run(&command),
        None => Ok(()),
    }
}

/// Where the last panic was.
static PLACE: Mutex<String> = Mutex::new(String::new());

/// Prints nothing: the message of a panic may quote anything, and the library catches those of its engine
/// and turns them into errors. The file's name goes without its folders, which are those of some machine.
fn remember_place(panic: &PanicHookInfo<'_>) {
    let Some(location) = panic.location() else { return };
    let name = Path::new(location.file()).file_name().unwrap_or_default().to_string_lossy();
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = format!("{name}:{}", location.line());
}

fn fault() -> Failure {
    let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    Failure::new(
        Exit::Other,
        format!("This is a fault in inmost, at {place}."),
        "Please report it; what the store has acknowledged is safe.",
    )
}
