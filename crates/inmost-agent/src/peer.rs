//! The process at the other end of a socket.

use std::io;
use std::os::unix::net::UnixStream;

/// The process at the other end, if the system says so.
///
/// # Errors
/// If it is another user's. Where the system does not say so, the folder of the socket keeps others away.
#[cfg(target_os = "linux")]
pub(crate) fn process(stream: &UnixStream) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if peer.uid != rustix::process::geteuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

/// The process at the other end, if the system says so.
#[cfg(not(target_os = "linux"))]
pub(crate) fn process(_: &UnixStream) -> io::Result<u32> {
    Ok(0)
}
