//! The two ends of a connection.

#[cfg(windows)]
mod pipe;

#[cfg(windows)]
pub(crate) use self::pipe::{Stream, reactor};

/// A Unix socket.
#[cfg(unix)]
pub(crate) type Stream = std::os::unix::net::UnixStream;
