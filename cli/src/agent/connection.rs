//! The agent's side of a connection. Whatever a client does, stalls or sends, it harms nobody but itself.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use inmost::Session;

use super::frame::{self, HELLO, REQUEST};
use super::peer;
use super::protocol::{Asked, Folder, Hello, Purpose, Said, VERSION, Welcome};
use super::state::{Connected, NotNow, State};
use crate::exit::{Exit, Failure};
use crate::store::local::Local;
use crate::store::request::Request;

/// What an agent has.
pub(super) struct Agent {
    pub(super) session: Session,
    /// The folder that was unlocked.
    pub(super) folder: Folder,
    /// The path of the anchor that the store was unlocked with.
    pub(super) anchor: Vec<u8>,
    pub(super) state: State,
}

/// Serves a client until it goes, fails, or the agent ends.
///
/// # Errors
/// Of the connection, which concern nobody but the client.
pub(super) fn serve(agent: &Agent, stream: &UnixStream) -> io::Result<()> {
    stream.set_write_timeout(Some(FRAME_TIME))?;
    let process = peer::process(stream)?;
    let mut reader =
        Timed { stream, limit: FRAME_TIME, deadline: Some(Instant::now() + HELLO_TIME) };
    let read = frame::read::<Hello>(&mut reader, HELLO);
    let hello = match read {
        Ok(Some((hello, anchor))) => agent.admit(&hello, anchor.expose(), process),
        Ok(None) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Welcome::Refused(rubbish()))
        }
        Err(error) => return Err(error),
    };
    let (connected, local) = match hello {
        Ok(admitted) => admitted,
        Err(welcome) => {
            frame::write(&mut &*stream, &welcome, &[])?;
            if matches!(welcome, Welcome::Ending) {
                // Its end is what the client waits for.
                agent.state.end();
                loop {
                    std::thread::park();
                }
            }
            return Ok(());
        }
    };
    frame::write(&mut &*stream, &Welcome::Come { process: std::process::id() }, &[])?;
    loop {
        let mut reader = Timed { stream, limit: FRAME_TIME, deadline: None };
        match frame::read::<Asked<Request>>(&mut reader, REQUEST) {
            Ok(Some((asked, bytes))) => {
                agent.answer(stream, &connected, &local, &asked, bytes.expose())?;
            }
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return frame::write(&mut &*stream, &Said::Failed(rubbish()), &[]);
            }
            Err(error) => return Err(error),
        }
    }
}

impl Agent {
    /// Lets a client in, restricted as it asks to be, or says why not.
    fn admit(
        &self,
        hello: &Hello,
        anchor: &[u8],
        process: u32,
    ) -> Result<(Connected<'_>, Local), Welcome> {
        if hello.purpose == Purpose::Lock {
            return Err(Welcome::Ending);
        }
        if hello.version != VERSION {
            return Err(Welcome::Refused(other_version(hello.version)));
        }
        if hello.folder.is_some_and(|folder| folder != self.folder) {
            // The store was moved or removed; what is at its place now is none of ours.
            return Err(Welcome::Ending);
        }
        if !anchor.is_empty() && anchor != self.anchor {
            return Err(Welcome::Refused(other_anchor()));
        }
        let restrictions = hello.restrictions.clone().unwrap_or_default();
        let local = Local::new(self.session.clone(), &restrictions).map_err(Welcome::Refused)?;
        match self.state.connect(process) {
            Ok(connected) => Ok((connected, local)),
            Err(NotNow::Ending) => Err(Welcome::Ending),
            Err(NotNow::Full) => Err(Welcome::Refused(full())),
        }
    }

    /// Answers a request. The work ends with the answer on its way, so that an agent that ends does not cut it off.
    fn answer(
        &self,
        mut stream: &UnixStream,
        connected: &Connected<'_>,
        local: &Local,
        asked: &Asked<Request>,
        bytes: &[u8],
    ) -> io::Result<()> {
        // To look does not keep a store unlocked.
        let is_use = !matches!(asked, Asked::Facts | Asked::Store(Request::Status));
        let Some(_work) = self.state.begin(is_use) else {
            return frame::write(
                &mut stream,
                &Said::Failed(inmost::StoreError::Locked.into()),
                &[],
            );
        };
        let request = match asked {
            Asked::Store(request) => request,
            Asked::Facts => return frame::write(&mut stream, &Said::Facts(connected.facts()), &[]),
        };
        let mut told = Instant::now();
        let done = local.carry_out(request, bytes, &mut |records| {
            if told.elapsed() >= PROGRESS_PAUSE {
                told = Instant::now();
                // A client that went away leaves what it has begun to be finished.
                let _ = frame::write(&mut stream, &Said::Progress(records), &[]);
            }
        });
        let sent = match done {
            Ok((reply, bytes)) => frame::write(&mut stream, &Said::Reply(reply), bytes.expose()),
            Err(failure) => frame::write(&mut stream, &Said::Failed(failure), &[]),
        };
        // A session that halted is of no more use to anybody; opened anew the store may be.
        if self.session.is_locked() {
            self.state.end();
        }
        sent
    }
}

/// Reads with a limit to the time that a frame takes, however slowly its bytes come.
struct Timed<'s> {
    stream: &'s UnixStream,
    limit: Duration,
    /// When the frame has to be there; set when its first byte is, which may be waited for as long as it likes.
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
        self.deadline = self.deadline.or_else(|| Some(Instant::now() + self.limit));
        read
    }
}

fn rubbish() -> Failure {
    Failure::usage(
        "The key agent does not understand what was sent.",
        "Use it through `inmost` of the same version.",
    )
}

fn other_version(theirs: u32) -> Failure {
    Failure::new(
        Exit::InUse,
        format!(
            "The key agent that has the store is of another version of inmost: it speaks protocol {VERSION}, and this protocol {theirs}."
        ),
        "Lock the store with `inmost lock`, then unlock it anew.",
    )
}

fn other_anchor() -> Failure {
    Failure::usage(
        "The store was unlocked without this anchor.",
        "Lock it with `inmost lock`, then unlock it with the anchor; or leave the anchor out.",
    )
}

fn full() -> Failure {
    Failure::new(
        Exit::InUse,
        "Too many processes use the store already.",
        "End some; `inmost status` of one that is connected lists them.",
    )
}

/// For a client to say what it wants.
const HELLO_TIME: Duration = Duration::from_secs(5);

/// For a frame to come once it has begun, and for one to be taken.
const FRAME_TIME: Duration = Duration::from_secs(30);

/// Often enough for a person to see that it moves.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);
