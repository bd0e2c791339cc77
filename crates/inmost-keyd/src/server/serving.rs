//! The daemon's side of a connection. A client that stalls, or sends invalid messages, harms no other client.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inmost::{Session, StoreError, ToolOptions};

use super::state::{Arrival, NotNow, State};
use crate::facts::DaemonFacts;
use crate::frame::{self, HELLO, REPLY, REQUEST};
use crate::peer;
use crate::protocol::{Folder, Greeting, Hello, Purpose, Refusal, ServerMessage, VERSION};
use crate::request::{Context, Kind, send};
use crate::requests::ClientMessage;
use crate::rounds::Rounds;
use crate::stream::Stream;

/// A daemon and its store.
pub(super) struct Daemon {
    pub(super) session: Session,
    /// The folder that was unlocked.
    pub(super) folder: Folder,
    /// The path of the anchor that the store was unlocked with.
    pub(super) anchor: Vec<u8>,
    pub(super) state: Arc<State>,
    pub(super) rounds: Rounds,
}

/// An accepted client.
struct Accepted {
    /// The session, with the label that the client gave.
    session: Session,
    scope: Scope,
    /// Whether its look-ups are no use of the daemon.
    is_watching: bool,
}

/// What an accepted client may request.
enum Scope {
    /// Everything. The options are those of its tool calls, if it has fixed them.
    All(Option<ToolOptions>),
    /// Tool calls with these options.
    Tool(ToolOptions),
    /// The status of the store and of the daemon, soon after each reply.
    Status,
}

/// Serves a client until it disconnects, its connection fails, or the daemon ends.
///
/// # Errors
/// Those of the connection, which concern only the client.
pub(super) fn serve(daemon: &Daemon, stream: &Stream, arrival: &Arrival) -> io::Result<()> {
    stream.set_write_timeout(Some(FRAME_TIME))?;
    let Some(client) = greet(daemon, stream, arrival)? else { return Ok(()) };
    loop {
        let deadline = matches!(client.scope, Scope::Status).then(|| Instant::now() + HELLO_TIME);
        let mut reader = Timed { stream, deadline };
        match frame::read::<ClientMessage>(&mut reader, REQUEST) {
            Ok(Some((message, body))) => {
                daemon.execute(stream, arrival, &client, message, body.as_slice())?;
            }
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return refuse(stream, Refusal::InvalidMessage);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads the hello of a client and replies to it; `None` if the client was not accepted.
fn greet(daemon: &Daemon, stream: &Stream, arrival: &Arrival) -> io::Result<Option<Accepted>> {
    let process = peer::process(stream)?;
    let mut reader = Timed { stream, deadline: Some(Instant::now() + HELLO_TIME) };
    let accepted = match frame::read::<Hello>(&mut reader, HELLO) {
        Ok(Some((hello, anchor))) => daemon.accept(hello, anchor.as_slice(), arrival, process),
        Ok(None) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Greeting::Refused(Refusal::InvalidMessage))
        }
        Err(error) => return Err(error),
    };
    match accepted {
        Ok(client) => {
            let greeting = Greeting::Accepted { process: std::process::id() };
            frame::write(&mut &*stream, &greeting, &[], HELLO)?;
            Ok(Some(client))
        }
        Err(greeting) => {
            let is_ending = matches!(greeting, Greeting::Ending | Greeting::EndingReplaced(_));
            let kept = is_ending.then(|| arrival.keep());
            frame::write(&mut &*stream, &greeting, &[], HELLO)?;
            if is_ending {
                // The client waits for the end of the process, which ends the connection. This thread does not: it would hold
                // the session in a process that goes on.
                std::mem::forget(kept);
                daemon.state.end();
            }
            Ok(None)
        }
    }
}

impl Daemon {
    /// Accepts a client with the restrictions that it requests, or returns the refusal.
    fn accept(
        &self,
        hello: Hello,
        anchor: &[u8],
        arrival: &Arrival,
        process: u32,
    ) -> Result<Accepted, Greeting> {
        if hello.purpose == Purpose::Lock {
            return Err(self.ending());
        }
        if hello.version != VERSION {
            return Err(Greeting::Refused(Refusal::OtherVersion(VERSION)));
        }
        if hello.folder.is_some_and(|folder| folder != self.folder) {
            // The store was moved or removed, and there is another folder at its path now.
            return Err(self.ending());
        }
        if !anchor.is_empty() && anchor != self.anchor {
            return Err(Greeting::Refused(Refusal::OtherAnchor));
        }
        let session = self.session_of(&hello);
        let is_watching = hello.is_watching;
        if hello.status_only {
            return if arrival.is_late() {
                Err(Greeting::Ending)
            } else {
                Ok(Accepted { session, scope: Scope::Status, is_watching })
            };
        }
        match arrival.connect(process) {
            Ok(()) => {
                let scope = match hello.tool.map(|tool| tool.find_screen(inmost_screen::by_name)) {
                    Some(tool) if tool.is_restricted() => Scope::Tool(tool),
                    tool => Scope::All(tool),
                };
                Ok(Accepted { session, scope, is_watching })
            }
            Err(NotNow::Ending) => Err(Greeting::Ending),
            Err(NotNow::Full) => Err(Greeting::Refused(Refusal::TooManyClients)),
        }
    }

    /// Says that the daemon ends, and whether its session has noticed other files in the place of its own.
    fn ending(&self) -> Greeting {
        match self.session.status() {
            Err(StoreError::FilesReplaced(what)) => Greeting::EndingReplaced(what),
            _ => Greeting::Ending,
        }
    }

    /// The session of a client: the history shows its changes as those of the actor that it names, and its readings count as
    /// it says.
    fn session_of(&self, hello: &Hello) -> Session {
        let session =
            if hello.is_program { self.session.as_program() } else { self.session.clone() };
        let session = if hello.is_unrecorded { session.without_recording() } else { session };
        match &hello.actor {
            Some(actor) => session.acting_as(actor),
            None => session,
        }
    }

    /// Executes a request. It is under way until its reply is sent, so that a daemon that ends does not cut the reply off.
    fn execute(
        &self,
        stream: &Stream,
        arrival: &Arrival,
        client: &Accepted,
        message: ClientMessage,
        body: &[u8],
    ) -> io::Result<()> {
        let kind = message.kind();
        let (is_allowed, tool) = match &client.scope {
            Scope::All(tool) => (true, tool.as_ref()),
            Scope::Tool(tool) => (matches!(kind, Kind::Tool { .. }), Some(tool)),
            Scope::Status => (kind == Kind::Status, None),
        };
        if !is_allowed {
            return refuse(stream, Refusal::Restricted);
        }
        let is_use = match kind {
            Kind::Status => false,
            Kind::Look => !client.is_watching,
            _ => true,
        };
        let Some(work) = self.state.begin(is_use) else {
            return send::<()>(stream, Err(StoreError::Locked.into()));
        };
        let _work = (kind != Kind::Round).then_some(work);
        let (mut last, mut is_heard) = (Instant::now(), true);
        let mut progress = |records| {
            if kind == Kind::Round {
                drop(self.state.begin(is_use));
            }
            if is_heard && last.elapsed() >= PROGRESS_PAUSE {
                last = Instant::now();
                // The work goes on if the client has disconnected, and waits once at most for one that does not read.
                let message = ServerMessage::<()>::Progress(records);
                is_heard = frame::write(&mut &*stream, &message, &[], REPLY).is_ok();
            }
        };
        let mut context = Context {
            session: &client.session,
            body,
            tool,
            facts: &|| DaemonFacts { sync: self.rounds.facts(), ..arrival.facts() },
            rounds: &self.rounds,
            progress: &mut progress,
        };
        let sent = message.execute(&mut context, stream);
        // A halted session refuses everything; the store may work when it is unlocked again.
        if self.session.is_locked() {
            self.state.end();
        }
        sent
    }
}

fn refuse(mut stream: &Stream, refusal: Refusal) -> io::Result<()> {
    frame::write(&mut stream, &ServerMessage::<()>::Refused(refusal), &[], REPLY)
}

/// Reads frames, each within a limited time, however slowly its bytes arrive.
struct Timed<'s> {
    stream: &'s Stream,
    /// The time by which the frame must be complete; set at its first byte, which may take any time.
    deadline: Option<Instant>,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = match self.deadline {
            None => None,
            Some(deadline) => match deadline.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Err(io::ErrorKind::TimedOut.into()),
                left => Some(left),
            },
        };
        self.stream.set_read_timeout(left)?;
        let read = (&mut &*self.stream).read(buffer);
        self.deadline = self.deadline.or_else(|| Some(Instant::now() + FRAME_TIME));
        read
    }
}

/// The time limit for a hello.
const HELLO_TIME: Duration = Duration::from_secs(5);

/// The time limit to receive a frame once its first byte has arrived, and to send one.
const FRAME_TIME: Duration = Duration::from_secs(30);

/// Between two reports of progress to a person.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);
