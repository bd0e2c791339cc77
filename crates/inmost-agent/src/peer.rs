//! The process at the other end of a socket.

use std::io;
use std::os::unix::net::UnixStream;

/// The process at the other end, if the system reports it.
///
/// # Errors
/// If it belongs to another user. If the system does not report the user, only the permissions of the socket's folder
/// keep other users out.
#[cfg(target_os = "linux")]
pub(crate) fn process(stream: &UnixStream) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if peer.uid != rustix::process::geteuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

/// The process at the other end, if the system reports it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn process(_: &UnixStream) -> io::Result<u32> {
    Ok(0)
}
