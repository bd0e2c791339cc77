//! Finds the key daemons of this user, wherever they listen.
//!
//! A daemon may have been started where another `XDG_RUNTIME_DIR` was set, or none: by cron, after `su`, through ssh. Its socket may
//! have been removed since. Linux lists all sockets and processes; elsewhere only the usual folders are looked at.

use std::collections::BTreeSet;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::{fs, os::unix::ffi::OsStrExt, path::Path};

use crate::address;
#[cfg(target_os = "linux")]
use crate::connection;

/// The addresses at which daemons of this user may listen, live or dead.
pub(crate) fn sockets() -> Vec<PathBuf> {
    let found = address::sockets().into_iter();
    #[cfg(target_os = "linux")]
    let found = found.chain(bound().into_iter().filter(|socket| {
        only().is_none_or(|only| connection::process(socket).is_some_and(|it| only.contains(&it)))
    }));
    found.collect::<BTreeSet<PathBuf>>().into_iter().collect()
}

/// The processes of this user that are key daemons. Empty where the system does not list them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn processes() -> Vec<u32> {
    Vec::new()
}

/// The processes of this user that are key daemons. Empty where the system does not list them.
#[cfg(target_os = "linux")]
pub(crate) fn processes() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|process| *process != std::process::id() && is_daemon(*process)).collect()
}

/// Whether a process of this user is a key daemon: `inmost keyd`, or `inmost unlock --foreground`. A daemon hides its memory, so
/// its files in `/proc` belong to root, but for its user and its arguments.
#[cfg(target_os = "linux")]
fn is_daemon(process: u32) -> bool {
    if only().is_some_and(|only| !only.contains(&process)) {
        return false;
    }
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let effective = users.split_whitespace().nth(1).and_then(|user| user.parse().ok());
    if effective != Some(rustix::process::geteuid().as_raw()) {
        return false;
    }
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut arguments = line.split(|byte| *byte == 0);
    let program = arguments.next().and_then(|path| path.rsplit(|byte| *byte == b'/').next());
    let mut rest = arguments.filter(|argument| !argument.is_empty());
    program.is_some_and(|name| name.starts_with(b"inmost"))
        && match rest.next() {
            Some(b"keyd") => rest.next().is_none(),
            Some(_) => {
                let is = |name: &[u8]| line.split(|byte| *byte == 0).any(|it| it == name);
                is(b"unlock") && is(b"--foreground")
            }
            None => false,
        }
}

/// The paths in the list of sockets that have the form of an address.
#[cfg(target_os = "linux")]
fn bound() -> Vec<PathBuf> {
    let list = fs::read("/proc/net/unix").unwrap_or_default();
    let paths = list.split(|byte| *byte == b'\n').filter_map(|line| {
        let start = line.iter().position(|byte| *byte == b'/')?;
        let path = Path::new(std::ffi::OsStr::from_bytes(line.get(start..)?));
        let folder = path.parent()?.file_name()?.to_str()?;
        let is_ours = folder == "inmost" || folder.starts_with("inmost-");
        (is_ours && address::is_address(path)).then(|| path.to_owned())
    });
    paths.collect()
}

/// In tests of a debug build, the processes that may be found: others belong to tests that run at the same time.
#[cfg(target_os = "linux")]
fn only() -> Option<Vec<u32>> {
    let given = std::env::var("INMOST_TEST_DAEMONS").ok().filter(|_| cfg!(debug_assertions))?;
    Some(given.split(',').filter_map(|process| process.parse().ok()).collect())
}
