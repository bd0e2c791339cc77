//! An agent in a process of its own: this program once more, which gets its secret through a pipe and nothing from anybody
//! else.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use super::frame::{self, HELLO};
use super::{Limits, server};
use crate::exit::Failure;
use crate::passphrase::VARIABLE;
use crate::secret::{Secret, SecretShape};
use crate::store::facts::Freshness;
use crate::store::wire_path;
use crate::streams;
use crate::wiped::Wiped;

/// The hidden command that the process runs.
pub(crate) const COMMAND: &str = "agent";

/// What it is told; its bytes are the secret.
#[derive(Serialize, Deserialize)]
struct Order {
    store: Vec<u8>,
    anchor: Option<Vec<u8>>,
    limits: Limits,
    shape: SecretShape,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
enum Outcome {
    Ready(Freshness),
    Failed(Failure),
}

/// Starts an agent and waits until commands can connect to it, or it has failed. Answers how far the freshness of the store
/// is known.
pub(crate) fn start(
    store: &Path,
    anchor: Option<&Path>,
    limits: Limits,
    secret: &Secret,
) -> Result<Freshness, Failure> {
    let order = Order {
        // The process goes to another folder.
        store: wire_path::encode(store)?,
        anchor: anchor.map(wire_path::encode).transpose()?,
        limits,
        shape: secret.shape(),
    };
    let mut child = spawn().map_err(|error| failed(&error))?;
    let outcome = talk(&mut child, &order, secret);
    if let Ok(Some(Outcome::Ready(freshness))) = outcome {
        return Ok(freshness);
    }
    // It is about to end.
    let _ = child.wait();
    match outcome {
        Ok(Some(Outcome::Failed(failure))) => Err(failure),
        Ok(_) => Err(failed(&io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(failed(&error)),
    }
}

fn spawn() -> io::Result<Child> {
    // What a shell has open for its own purposes, a lock or the end of a pipe, must not stay open for hours.
    close_fds::set_fds_cloexec(3, &[]);
    Command::new(std::env::current_exe()?)
        .arg(COMMAND)
        // What lives on for hours must not have it in its environment.
        .env_remove(VARIABLE)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

fn talk(child: &mut Child, order: &Order, secret: &Secret) -> io::Result<Option<Outcome>> {
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    frame::write(&mut input, order, secret.to_bytes().expose())?;
    drop(input);
    Ok(frame::read(&mut output, HELLO)?.map(|(outcome, _)| outcome))
}

/// The process itself.
pub(crate) fn run() -> Result<(), Failure> {
    // Whoever closes the terminal ends the processes of its session, but not this one. It fails in a process that leads a
    // group, which is none that was started here.
    let _ = rustix::process::setsid();
    let mut input = streams::input().map_err(|error| Failure::input(&error))?;
    let order = frame::read::<Order>(&mut input, HELLO);
    let Ok(Some((order, bytes))) = order else {
        return Err(Failure::usage(
            "This command is for the program itself.",
            "Use `inmost unlock`.",
        ));
    };
    drop(input);
    let output = streams::output().map_err(|error| Failure::output(&error))?;
    let mut listener = Some(output);
    let served = serve(&order, bytes, &mut listener);
    // Who has heard that it is ready listens no longer.
    if let (Err(failure), Some(mut output)) = (served, listener) {
        let _ = frame::write(&mut output, &Outcome::Failed(failure), &[]);
    }
    Ok(())
}

fn serve(order: &Order, secret: Wiped, listener: &mut Option<impl Write>) -> Result<(), Failure> {
    let store = wire_path::decode(&order.store);
    let anchor = order.anchor.as_deref().map(wire_path::decode);
    let parsed = Secret::from_bytes(order.shape, secret.expose())?;
    // Wiped now: this function returns when the store is locked.
    drop(secret);
    server::start_here(&store, anchor.as_deref(), order.limits, parsed, |freshness| {
        if let Some(mut output) = listener.take() {
            frame::write(&mut output, &Outcome::Ready(freshness), &[])
                .map_err(|error| failed(&error))?;
        }
        detach().map_err(|error| failed(&error))
    })
}

/// Leaves nothing open that somebody may wait for.
fn detach() -> io::Result<()> {
    let nowhere = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

fn failed(error: &io::Error) -> Failure {
    Failure::io("The key agent could not be started", error, "Try again, or with --foreground.")
}
