//! The key daemon as a process of this program, which `inmost unlock` starts in the background.

use std::path::Path;
use std::process::Command;

use inmost::AnchorStatus;
use inmost_keyd::{DaemonError, DaemonOptions, Secret};

use crate::exit::Failure;
use crate::shell::VARIABLE;
use crate::streams;

/// The hidden command that the process runs.
pub(crate) const COMMAND: &str = "keyd";

/// Starts a daemon and waits until commands can connect to it. Returns how far the freshness of the store is known.
pub(crate) fn start(
    store: &Path,
    options: &DaemonOptions,
    secret: &Secret,
) -> Result<AnchorStatus, DaemonError> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| DaemonError::CannotStart(error.to_string()))?;
    let mut command = Command::new(program);
    // The process lives for hours, and must not have the passphrase in its environment.
    command.arg(COMMAND).env_remove(VARIABLE);
    inmost_keyd::start(command, store, options, secret)
}

/// The process itself.
pub(crate) fn run() -> Result<(), Failure> {
    let input = streams::input().map_err(|error| Failure::input(&error))?;
    let output = streams::output().map_err(|error| Failure::output(&error))?;
    Ok(inmost_keyd::run_in_background(input, output)?)
}
