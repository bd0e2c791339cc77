//! The process at the other end of a connection, and its user.

use std::io;

use crate::stream::Stream;

/// The process at the other end, or 0 if the system does not report it.
///
/// # Errors
/// If it belongs to another user.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn process(stream: &Stream) -> io::Result<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if peer.uid != rustix::process::geteuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

/// The process at the other end, or 0 if the system does not report it.
///
/// # Errors
/// If it belongs to another user.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn process(stream: &Stream) -> io::Result<u32> {
    let (user, _) = nix::unistd::getpeereid(stream)?;
    if user != nix::unistd::geteuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    #[cfg(target_vendor = "apple")]
    let process = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::LocalPeerPid)?;
    #[cfg(not(target_vendor = "apple"))]
    let process = 0;
    Ok(u32::try_from(process).unwrap_or(0))
}

/// The process at the other end.
///
/// # Errors
/// If it belongs to another user, or its user is not known.
#[cfg(windows)]
pub(crate) fn process(stream: &Stream) -> io::Result<u32> {
    let process = stream.peer_process()?;
    if user_of(process)? != this_user()? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(process)
}

/// The security identifier of the user of this process.
#[cfg(windows)]
pub(crate) fn this_user() -> io::Result<String> {
    user_of(std::process::id())
}

/// The security identifier of a process's user.
#[cfg(windows)]
fn user_of(process: u32) -> io::Result<String> {
    use winsafe::{HPROCESS, TokenInfo, co};

    let process = HPROCESS::OpenProcess(co::PROCESS::QUERY_LIMITED_INFORMATION, false, process);
    let token = process.and_then(|process| process.OpenProcessToken(co::TOKEN::QUERY));
    let token = token.map_err(failed)?;
    match token.GetTokenInformation(co::TOKEN_INFORMATION_CLASS::User).map_err(failed)? {
        TokenInfo::User(user) => {
            let sid = user.User.Sid().ok_or(io::ErrorKind::PermissionDenied)?;
            winsafe::ConvertSidToStringSid(sid).map_err(failed)
        }
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The error of a call of the system.
#[cfg(windows)]
pub(crate) fn failed(error: winsafe::co::ERROR) -> io::Error {
    io::Error::from_raw_os_error(error.raw().cast_signed())
}
