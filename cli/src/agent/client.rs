//! A command's side of the connection.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::frame::{self, HELLO, REPLY};
use super::protocol::{Asked, Hello, Purpose, Said, VERSION, Welcome};
use super::{AgentFacts, address, peer};
use crate::exit::{Exit, Failure};
use crate::store::request::{Reply, Request};
use crate::store::restrictions::Restrictions;
use crate::store::wire_path;
use crate::wiped::Wiped;

/// A connection to the agent that has the store.
pub(crate) struct Connection {
    stream: UnixStream,
    process: u32,
    /// A request was not answered to its end, so what comes next answers nothing that is asked.
    is_lost: bool,
}

/// Connects to the agent that has this store, if there is one.
///
/// # Errors
/// If it does not want this client, for reasons that a person has to hear.
pub(crate) fn connect(
    store: &Path,
    anchor: Option<&Path>,
    restrictions: &Restrictions,
) -> Result<Option<Connection>, Failure> {
    let hello = Hello {
        version: VERSION,
        purpose: Purpose::Work,
        folder: address::identity(store).ok(),
        restrictions: Some(restrictions.clone()),
    };
    let anchor = anchor.map(wire_path::encode).transpose()?.unwrap_or_default();
    let Some((stream, welcome)) = greet(store, &hello, &anchor)? else { return Ok(None) };
    match welcome {
        Welcome::Come { process } => {
            // A long request takes as long as it takes, and the agent's end is noticed.
            stream.set_read_timeout(None).map_err(|error| broken(&error))?;
            Ok(Some(Connection { stream, process, is_lost: false }))
        }
        Welcome::Refused(failure) => Err(failure),
        Welcome::Ending => {
            wait_for_end(&stream)?;
            Ok(None)
        }
    }
}

/// Has the agent of this store lock it, and waits until the process is gone; whether there was one.
pub(crate) fn lock(store: &Path) -> Result<bool, Failure> {
    let hello =
        Hello { version: VERSION, purpose: Purpose::Lock, folder: None, restrictions: None };
    match greet(store, &hello, &[])? {
        None => Ok(false),
        Some((_, Welcome::Refused(failure))) => Err(failure),
        Some((stream, _)) => wait_for_end(&stream).map(|()| true),
    }
}

impl Connection {
    /// Has a request carried out.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        bytes: &[u8],
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Reply, Wiped), Failure> {
        match self.exchange(&Asked::Store(request), bytes, progress)? {
            (Said::Reply(reply), bytes) => Ok((reply, bytes)),
            (Said::Failed(failure), _) => Err(failure),
            _ => Err(garbled()),
        }
    }

    /// What the agent says of itself.
    pub(crate) fn facts(&mut self) -> Result<AgentFacts, Failure> {
        match self.exchange(&Asked::<&Request>::Facts, &[], &mut |_| {})?.0 {
            Said::Facts(facts) => Ok(facts),
            Said::Failed(failure) => Err(failure),
            _ => Err(garbled()),
        }
    }

    /// Why a command that has to hold the store itself cannot.
    pub(crate) fn lock_first(&self) -> Failure {
        Failure::new(
            Exit::InUse,
            format!("The store is unlocked: the key agent, process {}, has it.", self.process),
            "Lock it first, with `inmost lock`.",
        )
    }

    /// Asks, and waits for the last word.
    fn exchange(
        &mut self,
        asked: &Asked<&Request>,
        bytes: &[u8],
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Said, Wiped), Failure> {
        if self.is_lost {
            return Err(locked());
        }
        self.is_lost = true;
        let sent = frame::write(&mut &self.stream, asked, bytes);
        loop {
            match frame::read(&mut &self.stream, REPLY) {
                Ok(Some((Said::Progress(records), _))) => progress(records),
                Ok(Some(said)) => {
                    // Whatever was said to half a request, the other half is still on its way.
                    self.is_lost = sent.is_err();
                    return Ok(said);
                }
                // What was not even sent was not done.
                _ if sent.is_err() => return Err(locked()),
                Ok(None) => return Err(unanswered()),
                Err(error) if is_end(&error) => return Err(unanswered()),
                Err(error) => return Err(broken(&error)),
            }
        }
    }
}

/// The connection and what the agent says to it; `None` if nobody is there, or nobody who stays.
fn greet(
    store: &Path,
    hello: &Hello,
    anchor: &[u8],
) -> Result<Option<(UnixStream, Welcome)>, Failure> {
    // Where no store is, or no socket that is certainly ours, there is no agent to find.
    let Ok(socket) = address::socket(store) else { return Ok(None) };
    if !address::is_private() {
        return Ok(None);
    }
    let Ok(stream) = UnixStream::connect(socket) else { return Ok(None) };
    if peer::process(&stream).is_err() {
        return Ok(None);
    }
    let greeted = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| frame::write(&mut &stream, hello, anchor))
        .and_then(|()| frame::read(&mut &stream, HELLO));
    match greeted {
        Ok(Some((welcome, _))) => Ok(Some((stream, welcome))),
        Ok(None) => Ok(None),
        Err(error) if is_end(&error) => Ok(None),
        Err(error) => Err(broken(&error)),
    }
}

fn wait_for_end(mut stream: &UnixStream) -> Result<(), Failure> {
    let ended = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.read(&mut [0]));
    match ended {
        Ok(0) => Ok(()),
        Ok(_) => Err(garbled()),
        Err(error) if is_end(&error) => Ok(()),
        Err(error) => Err(broken(&error)),
    }
}

/// Whether the process at the other end is gone.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn locked() -> Failure {
    Failure::new(
        Exit::Locked,
        "The store was locked in the meantime.",
        "Unlock it again, with `inmost unlock`.",
    )
}

fn unanswered() -> Failure {
    Failure::new(
        Exit::Io,
        "The key agent ended before it answered.",
        "See whether the last change is there; what was acknowledged is safe.",
    )
}

fn broken(error: &io::Error) -> Failure {
    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
        return Failure::new(
            Exit::InUse,
            "The key agent of the store does not answer.",
            "Try again; if it stays, end that process and unlock the store anew.",
        );
    }
    Failure::io("The key agent cannot be talked to", error, "Lock the store with `inmost lock`.")
}

fn garbled() -> Failure {
    Failure::new(
        Exit::Other,
        "The key agent gave an answer to another question.",
        "Please report it; what the store has acknowledged is safe.",
    )
}

/// An agent that is just starting derives a key first, and one that ends lets calls finish.
const PATIENCE: Duration = Duration::from_secs(60);
