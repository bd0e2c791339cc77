//! A daemon in a process of its own, in the background. It gets its secret through a pipe.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use inmost::{AnchorStatus, SlotKind};
use serde::{Deserialize, Serialize};
#[cfg(windows)]
use winsafe::co;

use crate::body::{self, Wiped};
use crate::error::DaemonError;
use crate::facts::{DaemonOptions, Limits};
use crate::frame::{self, HELLO};
use crate::secret::Secret;
use crate::server;

/// The instructions for the process; the body of the frame is the secret.
#[derive(Serialize, Deserialize)]
struct Order {
    store: Vec<u8>,
    anchor: Option<Vec<u8>>,
    requires_fresh: bool,
    sync: Option<Duration>,
    limits: Limits,
    kind: SlotKind,
}

/// The reply of the process.
#[derive(Serialize, Deserialize)]
enum Outcome {
    Ready(AnchorStatus),
    Failed(DaemonError),
}

/// Starts another process as the daemon of a store, and waits until clients can connect or it has failed. Returns how far
/// the freshness of the store is known.
///
/// `program` is a program that calls [`run_in_background`] with its standard input and output, and that has no secret in
/// its arguments or its environment. From now on, no program that this process starts inherits a descriptor other than the
/// standard ones, so that none stays open in the daemon.
///
/// # Errors
/// Those of the process, or [`DaemonError::CannotStart`].
pub fn start(
    mut program: Command,
    store: &Path,
    options: &DaemonOptions,
    secret: &Secret,
) -> Result<AnchorStatus, DaemonError> {
    let order = Order {
        // Absolute: the process changes to another folder.
        store: body::encode_path(store)?,
        anchor: options.anchor.as_deref().map(body::encode_path).transpose()?,
        requires_fresh: options.requires_fresh,
        sync: options.sync,
        limits: options.limits,
        kind: secret.kind(),
    };
    let child = detached(&mut program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| failed(&error))?;
    let outcome = talk(&mut child, &order, secret);
    if let Ok(Some(Outcome::Ready(freshness))) = outcome {
        return Ok(freshness);
    }
    // It is about to end.
    let ended = child.wait();
    match outcome {
        Ok(Some(Outcome::Failed(error))) => Err(error),
        _ if ended.is_ok_and(was_killed) => Err(DaemonError::Killed),
        Ok(_) => Err(failed(&io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(failed(&error)),
    }
}

/// Whether a process was killed, as by a system that is short of memory.
#[cfg(unix)]
fn was_killed(ended: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    ended.signal() == Some(rustix::process::Signal::KILL.as_raw())
}

/// Whether a process was killed, as by a system that is short of memory. Windows refuses memory instead.
#[cfg(windows)]
fn was_killed(_ended: ExitStatus) -> bool {
    false
}

/// Keeps what this process has open from staying open for hours: a lock file, a pipe of the shell, the working folder.
#[cfg(unix)]
fn detached(program: &mut Command) -> &mut Command {
    close_fds::set_fds_cloexec(3, &[]);
    program.current_dir("/")
}

/// Without a console, which would end the process with its window, and out of reach of a Ctrl-C on the one of this process.
#[cfg(windows)]
fn detached(program: &mut Command) -> &mut Command {
    use std::os::windows::process::CommandExt;
    let flags = co::CREATE::DETACHED_PROCESS | co::CREATE::NEW_PROCESS_GROUP;
    let folder = std::env::var_os("SystemRoot").unwrap_or_else(|| "\\".into());
    program.creation_flags(flags.raw()).current_dir(folder)
}

fn talk(child: &mut Child, order: &Order, secret: &Secret) -> io::Result<Option<Outcome>> {
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    frame::write(&mut input, order, secret.to_bytes().as_slice(), HELLO)?;
    drop(input);
    Ok(frame::read(&mut output, HELLO)?.map(|(outcome, _)| outcome))
}

/// Runs in the process that [`start`] has started: serves the store until it locks. A failure to unlock it is reported to
/// the process that called `start`.
///
/// # Errors
/// [`DaemonError::NotStartedByProgram`].
pub fn run_in_background(mut input: impl Read, output: impl Write) -> Result<(), DaemonError> {
    leave_terminal();
    let order = frame::read::<Order>(&mut input, HELLO);
    let Ok(Some((order, secret))) = order else { return Err(DaemonError::NotStartedByProgram) };
    drop(input);
    let mut listener = Some(output);
    let served = serve(&order, secret, &mut listener);
    // After `Ready`, the parent no longer reads.
    if let (Err(error), Some(mut output)) = (served, listener) {
        let _ = frame::write(&mut output, &Outcome::Failed(error), &[], HELLO);
    }
    Ok(())
}

fn serve(
    order: &Order,
    secret: Wiped,
    listener: &mut Option<impl Write>,
) -> Result<(), DaemonError> {
    let store = body::decode_path(&order.store);
    let options = DaemonOptions {
        limits: order.limits,
        anchor: order.anchor.as_deref().map(body::decode_path),
        requires_fresh: order.requires_fresh,
        sync: order.sync,
    };
    let parsed = Secret::from_bytes(order.kind, secret.as_slice())?;
    // Wiped now: this function returns when the store is locked.
    drop(secret);
    server::serve(&store, &options, parsed, |freshness| {
        if let Some(mut output) = listener.take() {
            frame::write(&mut output, &Outcome::Ready(freshness), &[], HELLO)
                .map_err(|error| failed(&error))?;
        }
        detach().map_err(|error| failed(&error))
    })
}

/// In a session of its own, this process survives the end of the terminal. Fails only in the leader of a process group,
/// which `start` never starts.
#[cfg(unix)]
fn leave_terminal() {
    let _ = rustix::process::setsid();
}

#[cfg(windows)]
fn leave_terminal() {}

/// Closes the standard streams, so that no process waits for their end.
#[cfg(unix)]
fn detach() -> io::Result<()> {
    let nowhere = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Here they are the pipes of the process that called [`start`], which no other process has.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
fn detach() -> io::Result<()> {
    Ok(())
}

fn failed(error: &io::Error) -> DaemonError {
    DaemonError::CannotStart(error.to_string())
}
