//! The client's side of a connection.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use inmost::{FileError, StoreError, ToolOptions, Vault, Wiped};

use crate::error::DaemonError;
use crate::frame::{self, HELLO, REPLY, REQUEST};
use crate::protocol::{Greeting, Hello, Purpose, Refusal, ServerMessage, VERSION};
use crate::request::{Reply, Request};
use crate::requests::ClientMessage;
use crate::stream::Stream;
use crate::{address, body, peer, running};

/// A connection to the daemon that holds a store.
pub(crate) struct Connection {
    store: PathBuf,
    stream: Stream,
    /// A request got no complete reply, so the next bytes do not belong to the next request.
    is_lost: bool,
}

/// How a client connects.
#[derive(Clone, Default)]
#[must_use]
pub struct ConnectOptions {
    anchor: Option<PathBuf>,
    /// What it asks for. The client checks the options of the tool.
    pub(crate) hello: Hello,
}

impl ConnectOptions {
    /// No restrictions, and no check of the anchor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects only to a daemon that unlocked the store with this anchor file.
    pub fn anchor(mut self, file: Option<&Path>) -> Self {
        self.anchor = file.map(Path::to_owned);
        self
    }

    /// Fixes the options of every tool call of this client: they replace the options of the
    /// [`MemoryTool`](inmost::MemoryTool). If they restrict the tool to less than the whole store, or screen it, the
    /// daemon refuses all other requests on this connection. Screening runs in the daemon.
    pub fn tool(mut self, options: ToolOptions) -> Self {
        self.hello.tool = Some(options);
        self
    }

    /// Connects only for [`Client::daemon`](crate::Client::daemon) and [`Client::status`](crate::Client::status). The daemon refuses all other requests on this connection,
    /// but accepts it even while it has too many clients. It ends the connection if it is not used for some seconds.
    pub fn status_only(mut self) -> Self {
        self.hello.status_only = true;
        self
    }

    /// Labels the changes of this client in the history of the store; see
    /// [`Session::acting_as`](inmost::Session::acting_as). The label is fixed for the connection.
    pub fn actor(mut self, actor: Option<&str>) -> Self {
        // The daemon cuts it to the length that the store keeps. A longer one need not be sent.
        self.hello.actor = actor.map(|actor| {
            let end = actor.char_indices().nth(MOST_ACTOR).map_or(actor.len(), |(end, _)| end);
            Wiped::new(actor.get(..end).unwrap_or_default().to_owned())
        });
        self
    }

    /// What this client reads does not count as use of a file; see
    /// [`Session::without_recording`](inmost::Session::without_recording).
    pub fn without_recording(mut self) -> Self {
        self.hello.is_unrecorded = true;
        self
    }

    /// When this client looks at names and metadata, that does not restart the idle time of the daemon: it does so for programs
    /// that watch a folder. Reading a text and every change still restart it.
    pub fn as_watcher(mut self) -> Self {
        self.hello.is_watching = true;
        self
    }

    /// The changes of this client count as those of the command-line program.
    #[doc(hidden)]
    pub fn as_program(mut self) -> Self {
        self.hello.is_program = true;
        self
    }
}

/// Connects to the daemon that holds this store, if there is one. Returns its process too.
pub(crate) fn connect(
    store: &Path,
    options: &ConnectOptions,
) -> Result<Option<(Connection, u32)>, DaemonError> {
    // Without its folder, a store could not be told from another one at this path.
    let Ok(folder) = address::identity(store) else { return Ok(None) };
    let hello = Hello { folder: Some(folder), ..options.hello.clone() };
    let anchor =
        options.anchor.as_deref().map(body::encode_anchor).transpose()?.unwrap_or_default();
    let Some((stream, greeting)) = greet(store, &hello, &anchor)? else { return Ok(None) };
    match greeting {
        Greeting::Accepted { process } => {
            // No timeout for replies: a long request takes long, and if the daemon ends, so does the connection.
            let is_set = stream.set_read_timeout(None);
            is_set.map_err(|error| DaemonError::of_connection(store, &error))?;
            let store = store.to_owned();
            Ok(Some((Connection { store, stream, is_lost: false }, process)))
        }
        Greeting::Refused(refusal) => Err(refused(store, refusal)),
        ending => ended(store, &stream, ending).map(|()| None),
    }
}

/// Asks the daemon of this store to lock it, and waits until the process has ended. Returns whether there was one. Daemons
/// of every version can be locked.
///
/// # Errors
/// [`DaemonError::NotFound`] if a process holds the store and no daemon can be reached: then keys may still be in memory.
/// [`DaemonError::Store`] if it cannot be told whether a process holds it, as with a store of another user.
/// [`DaemonError::Unresponsive`] and [`DaemonError::Unreachable`].
pub fn lock(store: impl AsRef<Path>) -> Result<bool, DaemonError> {
    let store = store.as_ref();
    if address::is_url(store) {
        // Any number of processes may hold a store in a database, so only its sockets say whether there are daemons.
        let sockets = address::sockets_of(store)
            .map_err(|error| DaemonError::of_connection(store, &error))?;
        let mut was_unlocked = false;
        for socket in sockets.iter().filter(|socket| is_trusted(socket)) {
            was_unlocked |= lock_at(socket)?;
        }
        let folder = address::folder();
        let is_odd = |socket: &PathBuf| {
            socket.starts_with(&folder) && !is_trusted(socket) && socket.symlink_metadata().is_ok()
        };
        if sockets.iter().any(is_odd) {
            return Err(DaemonError::SocketFolderNotPrivate(folder.display().to_string()));
        }
        return Ok(was_unlocked);
    }
    let hello = lock_request();
    let mut deadline = None;
    loop {
        match greet(store, &hello, &[])? {
            Some((_, Greeting::Refused(refusal))) => return Err(refused(store, refusal)),
            Some((stream, greeting)) => return ended(store, &stream, greeting).map(|()| true),
            None => {}
        }
        // A process may hold the store for a moment: a daemon that is ending, or one that is too busy with other
        // connections to greet this one.
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + RELEASE);
        match Vault::open(store) {
            Err(StoreError::InUse(_)) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(StoreError::InUse(process)) => return Err(DaemonError::NotFound { process }),
            // Nobody can have begun to hold a store on read-only media: its lock cannot be written.
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                return Ok(false);
            }
            // These may come before the lock of the store is asked for, so a process may hold it.
            Err(
                error @ (StoreError::OtherOwner { .. }
                | StoreError::ClockBefore1970
                | StoreError::UntrustedFile(_)
                | StoreError::Io(_)),
            ) => return Err(error.into()),
            _ => return Ok(false),
        }
    }
}

/// Asks every daemon of this user to lock its store, and waits until the processes have ended. Returns how many there were. Looks
/// in every folder where a daemon of this user may listen, and on Linux at every socket and process.
///
/// # Errors
/// As for [`lock`]; the first one, after all daemons were asked. [`DaemonError::Unreached`] for a daemon whose socket cannot be
/// reached, and that does not end by itself.
pub fn lock_all() -> Result<usize, DaemonError> {
    let daemons = running::processes();
    let sockets = running::sockets();
    let folder = address::folder();
    // Another user can have made this folder, and must not keep the daemons in other folders from being locked.
    let is_odd =
        sockets.iter().any(|socket| socket.starts_with(&folder)) && !address::is_private(&folder);
    let trusted: Vec<_> = sockets.into_iter().filter(|socket| is_trusted(socket)).collect();
    // At the same time: a daemon that waits for its calls must not keep the others unlocked.
    let locked = thread::scope(|scope| {
        let asked: Vec<_> =
            trusted.iter().map(|socket| scope.spawn(move || lock_at(socket))).collect();
        let (mut locked, mut first) = (0, Ok(()));
        for asked in asked {
            match asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(was_unlocked) => locked += usize::from(was_unlocked),
                Err(error) => first = first.and(Err(error)),
            }
        }
        first.map(|()| locked)
    })?;
    // A daemon whose socket was removed notices that, and ends.
    let deadline = Instant::now() + UNREACHED;
    loop {
        let left = running::processes();
        match left.into_iter().find(|process| daemons.contains(process)) {
            None if is_odd => {
                return Err(DaemonError::SocketFolderNotPrivate(folder.display().to_string()));
            }
            None => return Ok(locked),
            Some(_) if Instant::now() < deadline => thread::sleep(PAUSE),
            Some(process) => return Err(DaemonError::Unreached { process }),
        }
    }
}

/// Whether only this user can have created a socket.
fn is_trusted(socket: &Path) -> bool {
    socket.parent().is_some_and(address::is_private)
}

/// Asks the daemon behind a socket to lock its store, and waits until it has ended. Returns whether there was one.
fn lock_at(socket: &Path) -> Result<bool, DaemonError> {
    let deadline = Instant::now() + RELEASE;
    loop {
        match greet_at(socket, socket, &lock_request(), &[])? {
            Some((_, Greeting::Refused(refusal))) => return Err(refused(socket, refusal)),
            Some((stream, greeting)) => return ended(socket, &stream, greeting).map(|()| true),
            // A daemon that is ending, or one that is too busy to greet. Only a socket that nobody listens on is dead: any
            // other may be that of a process with keys in its memory.
            None if is_dead(socket) => return Ok(false),
            None if Instant::now() < deadline => thread::sleep(PAUSE),
            None => {
                let store = socket.display().to_string();
                let process = process(socket);
                return Err(DaemonError::Unresponsive { store, process });
            }
        }
    }
}

/// Waits until a daemon that ends has ended. An error if it has noticed that the files of its store were replaced.
fn ended(store: &Path, stream: &Stream, greeting: Greeting) -> Result<(), DaemonError> {
    wait_for_end(store, stream)?;
    match greeting {
        Greeting::EndingReplaced(what) => Err(StoreError::FilesReplaced(what).into()),
        _ => Ok(()),
    }
}

/// The process of this user that listens at a socket, if there is one.
pub(crate) fn process(socket: &Path) -> Option<u32> {
    open(socket).ok().and_then(|stream| peer::process(&stream).ok()).filter(|number| *number > 0)
}

/// Whether a socket is that of a process that has ended.
fn is_dead(socket: &Path) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    open(socket).is_err_and(|error| matches!(error.kind(), ConnectionRefused | NotFound))
}

fn lock_request() -> Hello {
    Hello { purpose: Purpose::Lock, ..Hello::default() }
}

impl Connection {
    /// Sends a request, and waits for the reply.
    pub(crate) fn call<R: Request + Into<ClientMessage>>(
        &mut self,
        request: R,
        body: &[u8],
        progress: &mut dyn FnMut(u64),
    ) -> Result<R::Reply, FileError> {
        if self.is_lost {
            return Err(StoreError::Locked.into());
        }
        let is_change = request.kind().is_change();
        let message: ClientMessage = request.into();
        self.is_lost = true;
        let sent = frame::write(&mut &self.stream, &message, body, REQUEST);
        let unsent = match sent.as_ref().map_err(io::Error::kind) {
            Err(io::ErrorKind::FileTooLarge) => Some(StoreError::TooLarge),
            Err(io::ErrorKind::InvalidData) => Some(self.unsendable()),
            _ => None,
        };
        if let Some(error) = unsent {
            // The daemon got nothing, so it will not reply.
            self.is_lost = false;
            return Err(error.into());
        }
        loop {
            let read = frame::read::<ServerMessage<<R::Reply as Reply>::Head>>;
            let (message, body) = match read(&mut &self.stream, REPLY) {
                Ok(Some(message)) => message,
                // The daemon executes only complete requests.
                _ if sent.is_err() => return Err(StoreError::Locked.into()),
                _ if is_change => return Err(StoreError::OutcomeUnknown.into()),
                Ok(None) => return Err(StoreError::Locked.into()),
                Err(error) if is_end(&error) => return Err(StoreError::Locked.into()),
                Err(error) => {
                    let error = DaemonError::of_connection(&self.store, &error);
                    return Err(StoreError::from(error).into());
                }
            };
            // The daemon replied before the request was complete, so it still waits for the rest.
            self.is_lost = sent.is_err();
            match message {
                ServerMessage::Progress(records) => {
                    self.is_lost = true;
                    progress(records);
                }
                ServerMessage::Reply(head) => {
                    let unexpected = || StoreError::from(unexpected_reply(&self.store));
                    return Ok(R::Reply::from_parts(head, body).ok_or_else(unexpected)?);
                }
                ServerMessage::Failed(error) => return Err(error),
                ServerMessage::Refused(Refusal::Restricted) => {
                    return Err(self.restricted().into());
                }
                ServerMessage::Refused(refusal) => {
                    return Err(StoreError::from(refused(&self.store, refusal)).into());
                }
            }
        }
    }

    fn unsendable(&self) -> StoreError {
        let store = self.store.display();
        StoreError::KeyDaemon(format!(
            "This request cannot be sent to the key daemon of the store in {store}."
        ))
    }

    fn restricted(&self) -> StoreError {
        let store = self.store.display();
        StoreError::KeyDaemon(format!(
            "This connection to the key daemon of the store in {store} is restricted, and does not allow this request."
        ))
    }
}

/// The connection and the daemon's greeting; `None` if there is no daemon.
fn greet(
    store: &Path,
    hello: &Hello,
    anchor: &[u8],
) -> Result<Option<(Stream, Greeting)>, DaemonError> {
    // Without a socket in a trusted folder, there is no daemon.
    for socket in address::sockets_of(store).unwrap_or_default() {
        let greeted = greet_at(&socket, store, hello, anchor)?;
        if greeted.is_some() {
            return Ok(greeted);
        }
    }
    Ok(None)
}

#[cfg(unix)]
fn open(socket: &Path) -> io::Result<Stream> {
    Stream::connect(socket)
}

#[cfg(windows)]
fn open(socket: &Path) -> io::Result<Stream> {
    Stream::connect(&address::pipe(socket)?)
}

/// `store` is what an error names.
fn greet_at(
    socket: &Path,
    store: &Path,
    hello: &Hello,
    anchor: &[u8],
) -> Result<Option<(Stream, Greeting)>, DaemonError> {
    if !is_trusted(socket) {
        return Ok(None);
    }
    let Ok(stream) = open(socket) else { return Ok(None) };
    let Ok(process) = peer::process(&stream) else { return Ok(None) };
    let is_lock = matches!(hello.purpose, Purpose::Lock);
    let greeted = stream
        .set_read_timeout(Some(if is_lock { LOCK_TIMEOUT } else { TIMEOUT }))
        .and_then(|()| frame::write(&mut &stream, hello, anchor, HELLO))
        .and_then(|()| frame::read(&mut &stream, HELLO));
    match greeted {
        Ok(Some((greeting, _))) => Ok(Some((stream, greeting))),
        Ok(None) => Ok(None),
        Err(error) if is_end(&error) => Ok(None),
        // Other versions have other greetings.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(DaemonError::OtherVersion { daemon: None, client: VERSION })
        }
        Err(error) => Err(DaemonError::of_connection(store, &error).of_process(process)),
    }
}

fn refused(store: &Path, refusal: Refusal) -> DaemonError {
    match refusal {
        Refusal::OtherVersion(daemon) => {
            DaemonError::OtherVersion { daemon: Some(daemon), client: VERSION }
        }
        Refusal::OtherAnchor => DaemonError::OtherAnchor,
        Refusal::TooManyClients => DaemonError::TooManyClients,
        Refusal::InvalidMessage | Refusal::Restricted => unexpected_reply(store),
    }
}

fn unexpected_reply(store: &Path) -> DaemonError {
    DaemonError::UnexpectedReply { store: store.display().to_string() }
}

fn wait_for_end(store: &Path, mut stream: &Stream) -> Result<(), DaemonError> {
    // macOS refuses to set a timeout once the other end is closed.
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let process = peer::process(stream).unwrap_or_default();
    match stream.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(unexpected_reply(store)),
        Err(error) if is_end(&error) => Ok(()),
        Err(error) => Err(DaemonError::of_connection(store, &error).of_process(process)),
    }
}

/// Whether the process at the other end has ended.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// Long enough for a daemon that still derives its key, or that lets calls finish before it ends.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a daemon may take to take note of a request to lock. One that is stopped never does.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a daemon may take to notice that its socket is gone, to let calls finish, and to lock.
const UNREACHED: Duration = Duration::from_secs(15);

/// How long a store may still be held after its daemon has closed its socket.
const RELEASE: Duration = Duration::from_secs(1);

/// The time between two attempts to open a store that is held.
const PAUSE: Duration = Duration::from_millis(20);

/// Characters of a label. No fewer than the bytes that the store keeps.
const MOST_ACTOR: usize = 256;
