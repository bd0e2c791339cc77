//! A named pipe with the timeouts of a socket.
//!
//! Only overlapped calls on a pipe can be given up, and tokio makes them. One thread drives its reactor; the calls themselves
//! are waited for on the thread of the caller, which may be inside a runtime of its own.

use std::future::{Future, poll_fn};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use interprocess::ConnectWaitMode;
use interprocess::os::windows::named_pipe::pipe_mode::Bytes;
use interprocess::os::windows::named_pipe::tokio::DuplexPipeStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

/// One end of a named pipe.
pub(crate) struct Stream {
    pipe: DuplexPipeStream<Bytes>,
    read_timeout: Mutex<Option<Duration>>,
    write_timeout: Mutex<Option<Duration>>,
    /// Whether nothing more is received.
    is_ended: AtomicBool,
    /// The thread that waits for bytes.
    reader: Mutex<Option<Waker>>,
}

impl Stream {
    pub(crate) fn new(pipe: DuplexPipeStream<Bytes>) -> Self {
        Self {
            pipe,
            read_timeout: Mutex::default(),
            write_timeout: Mutex::default(),
            is_ended: AtomicBool::new(false),
            reader: Mutex::default(),
        }
    }

    /// Connects to the pipe of this name.
    pub(crate) fn connect(name: &str) -> io::Result<Self> {
        let _inside = reactor()?.enter();
        // While all instances of the pipe are taken, the daemon is about to make another one.
        let wait = ConnectWaitMode::Timeout(CONNECT_TIME);
        let connected = DuplexPipeStream::connect_by_path_with_wait_mode(name, wait);
        let pipe = block_on(connected, None).unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
        Ok(Self::new(pipe))
    }

    /// The process at the other end.
    pub(crate) fn peer_process(&self) -> io::Result<u32> {
        self.pipe.peer_process_id()
    }

    #[expect(clippy::unnecessary_wraps, reason = "as that of a socket")]
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.read_timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "as that of a socket")]
    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        *self.write_timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
        Ok(())
    }

    /// Receives nothing more. A pipe has no half that could be closed, so unlike with a socket, the other end notices only
    /// when the process ends.
    #[expect(clippy::unnecessary_wraps, reason = "as that of a socket")]
    pub(crate) fn shutdown(&self, _: Shutdown) -> io::Result<()> {
        self.is_ended.store(true, Ordering::SeqCst);
        if let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            reader.wake();
        }
        Ok(())
    }

    fn poll_read(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        // Before the flag is read, so that a shutdown in between wakes the thread.
        let waker = context.waker().clone();
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        if self.is_ended.load(Ordering::SeqCst) {
            return Poll::Ready(Ok(0));
        }
        let mut buffer = ReadBuf::new(buffer);
        let read = Pin::new(&mut &self.pipe).poll_read(context, &mut buffer);
        read.map_ok(|()| buffer.filled().len())
    }
}

impl Drop for Stream {
    /// What was written can be read after this end is closed. Waiting for that would take a thread.
    fn drop(&mut self) {
        self.pipe.assume_flushed();
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let timeout = *self.read_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let read = block_on(poll_fn(|context| self.poll_read(context, buffer)), timeout);
        read.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let timeout = *self.write_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let poll = |context: &mut Context<'_>| Pin::new(&mut &self.pipe).poll_write(context, bytes);
        block_on(poll_fn(poll), timeout).unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }

    /// At the daemon's end, waits until the client has read everything: the daemon may end right afterwards. A client does not
    /// wait, because the daemon may reply before it has read everything.
    fn flush(&mut self) -> io::Result<()> {
        if self.pipe.is_client() {
            return Ok(());
        }
        let _inside = reactor()?.enter();
        let timeout = *self.write_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = block_on(poll_fn(|context| self.pipe.poll_flush(context)), timeout);
        flushed.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}

/// The reactor of all pipes of this process.
pub(crate) fn reactor() -> io::Result<&'static Runtime> {
    static REACTOR: OnceLock<Result<Runtime, io::ErrorKind>> = OnceLock::new();
    let made = REACTOR.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let made = builder.worker_threads(1).enable_all().thread_name("inmost-pipes").build();
        made.map_err(|error| error.kind())
    });
    made.as_ref().map_err(|kind| (*kind).into())
}

/// Waits for a future on this thread, at most this long.
fn block_on<F: Future>(future: F, most: Option<Duration>) -> Option<F::Output> {
    let deadline = most.and_then(|most| Instant::now().checked_add(most));
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let Some(deadline) = deadline else {
            thread::park();
            continue;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// How long to wait for a daemon that is accepting another connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);
