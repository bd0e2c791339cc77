//! Runs this program again as a child process with limited memory, file sizes and time.
//!
//! A storage engine trusts its own files: crafted files can make it allocate too much memory, fill the disk, or never end.
//! The limits of the child protect the rest of the machine. They limit resources, not permissions, and the size of
//! files, not their number. macOS accepts no limit of memory: a process maps more from its start than the limit would be, and
//! XNU refuses a limit below that.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

#[cfg(unix)]
use crate::disk_usage::allocated;
use crate::exit::{Exit, Failure};
#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The hidden option that marks the child.
pub(crate) const OPTION: &str = "sandboxed";

/// Runs the same command line in a child, and returns its exit code. If a signal ends the child, the store is damaged.
///
/// The child inherits every possible source of a passphrase.
pub(crate) fn run() -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::io("The child process failed", &error, ADVICE);
    let program = env::current_exe().map_err(failed)?;
    let mut args: Vec<OsString> = env::args_os().skip(1).collect();
    // `check` has no arguments but options, and options of the store may stand before its name.
    args.push(format!("--{OPTION}").into());
    // The Rust runtime prints a message when memory runs out. It is shown to a person, but hidden from scripts.
    let is_terminal = io::stderr().is_terminal();
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(if is_terminal { Stdio::inherit() } else { Stdio::piped() })
        .spawn()
        .map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    let Some(code) = output.status.code() else {
        return Err(Failure::new(
            Exit::Damaged,
            reason(output.status),
            "Open it only with `check --isolated`. Restore a backup of the store.",
        ));
    };
    let _ = io::stderr().lock().write_all(&output.stderr);
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::ChildExited(code)),
        Err(_) => Err(Failure::new(Exit::Damaged, "The child process failed.", ADVICE)),
    }
}

const ADVICE: &str = "Try again, or leave out --isolated if you trust the origin of the store.";

/// Limits this process, permanently, to the memory, file sizes and time that an intact store needs.
#[cfg(unix)]
pub(crate) fn limit(store: &Path) -> Result<(), Failure> {
    for (resource, current, maximum) in limits(allocated(store).unwrap_or_default()) {
        let before = getrlimit(resource);
        let least = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
        let limit = Rlimit {
            current: least(before.current, current),
            maximum: least(before.maximum, maximum),
        };
        setrlimit(resource, limit).map_err(|error| {
            Failure::io("The limits of the process cannot be set", &error.into(), ADVICE)
        })?;
    }
    Ok(())
}

/// The limits for a store of this size in bytes: the resource, its current limit and its maximum.
#[cfg(unix)]
fn limits(size: u64) -> Vec<(Resource, u64, u64)> {
    let seconds = MIN_SECONDS.saturating_add(size >> 20);
    let mut limits = vec![
        // The size of the store is doubled in `file_bytes`, because a redb file is longer than its written part.
        (Resource::Fsize, file_bytes(size), file_bytes(size)),
        // SIGXCPU comes first and names the reason; SIGKILL follows if the process handles it.
        (Resource::Cpu, seconds, seconds.saturating_add(10)),
        // A core dump would be large and contain keys.
        (Resource::Core, 0, 0),
    ];
    if LIMITS_MEMORY {
        limits.push((Resource::As, MAX_MEMORY, MAX_MEMORY));
    }
    limits
}

#[cfg(not(unix))]
pub(crate) fn limit(_store: &Path) -> Result<(), Failure> {
    Err(Failure::usage("This system cannot limit the resources of a process.", ADVICE))
}

/// The longest file that the child may write for a store of this size.
#[cfg(unix)]
fn file_bytes(store: u64) -> u64 {
    store.saturating_mul(2).saturating_add(64 << 20)
}

/// The reason why a signal ended the child.
fn reason(status: ExitStatus) -> &'static str {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        if signal == Some(Signal::XFSZ.as_raw()) {
            return "The check was stopped: the files of the store made it write too much.";
        }
        if signal == Some(Signal::XCPU.as_raw()) {
            return "The check was stopped: the files of the store made it run too long.";
        }
    }
    let _ = status;
    "The check was stopped: the files of the store made it use too much memory, or crash."
}

/// Address space of the child: the maximum of key derivation, and 1 GiB for everything else.
#[cfg(unix)]
const MAX_MEMORY: u64 = 2 << 30;
/// Whether the system accepts such a limit.
#[cfg(unix)]
const LIMITS_MEMORY: bool = !cfg!(target_vendor = "apple");
/// Processor time of the child, plus one second for each MiB of the store. A check needs much less.
#[cfg(unix)]
const MIN_SECONDS: u64 = 600;

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// The limit that XNU refuses would make every check fail there.
    #[test]
    fn memory_is_limited_where_the_system_accepts_it() {
        let set: Vec<_> = limits(1 << 30).iter().map(|limit| limit.0).collect();
        assert_eq!(set.contains(&Resource::As), !cfg!(target_vendor = "apple"));
        for resource in [Resource::Fsize, Resource::Cpu, Resource::Core] {
            assert!(set.contains(&resource), "{resource:?}");
        }
    }

    #[test]
    fn each_signal_has_its_reason() {
        for (signal, word) in
            [("XFSZ", "write too much"), ("XCPU", "run too long"), ("KILL", "use too much memory")]
        {
            let ended =
                Command::new("sh").args(["-c", &format!("kill -{signal} $$")]).status().unwrap();
            assert!(ended.signal().is_some(), "{ended}");
            assert!(reason(ended).contains(word), "{signal}: {}", reason(ended));
        }
    }
}
