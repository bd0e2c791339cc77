//! Where the daemon waits: for a connection, a signal that ends it, or its time.

#[cfg(windows)]
mod pipe;
#[cfg(unix)]
mod socket;

#[cfg(windows)]
pub(super) use self::pipe::{Listener, Waker};
#[cfg(unix)]
pub(super) use self::socket::{Listener, Waker};

use crate::stream::Stream;

/// What ended a wait.
pub(super) enum Event {
    Connection(Stream),
    /// The daemon ends, or a signal asks it to.
    End,
    /// The time is over, or the client has disconnected already.
    Nothing,
}
