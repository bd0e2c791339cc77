//! This program once more, as a child with little memory, short files and limited time.
//!
//! A store's engine believes its own files: crafted ones can make it ask for more memory than there is, fill the disk,
//! or never end. That it is a child, and that the child can take only so much, keeps the rest of the machine out of it. It
//! confines what the process takes, not what it may do; the length of files is limited, not their number.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::exit::{Exit, Failure};

/// The hidden option by which the child knows itself.
pub(crate) const OPTION: &str = "confined";

/// Runs this very command line in a child, and ends as it does; a child that dies has met a damaged store.
///
/// The child inherits everything that a passphrase can come from.
pub(crate) fn run() -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::io("The child process failed", &error, ADVICE);
    let program = env::current_exe().map_err(failed)?;
    let mut args: Vec<OsString> = env::args_os().skip(1).collect();
    // After the name of the command, which is the first of all.
    args.insert(1.min(args.len()), format!("--{OPTION}").into());
    // What the runtime prints when memory runs out is no message of ours; a person may see it.
    let is_watched = io::stderr().is_terminal();
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(if is_watched { Stdio::inherit() } else { Stdio::piped() })
        .spawn()
        .map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    let Some(code) = output.status.code() else {
        return Err(Failure::new(
            Exit::Damaged,
            reason(output.status),
            "Do not open it outside `check --isolated`; restore a backup of the store.",
        ));
    };
    let _ = io::stderr().lock().write_all(&output.stderr);
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::ChildExited(code)),
        Err(_) => Err(Failure::new(Exit::Damaged, "The child process failed.", ADVICE)),
    }
}

const ADVICE: &str = "Try again, or without --isolated if you trust where the store comes from.";

/// Takes the right to more memory, files and time than an honest store needs from this process, for good.
#[cfg(unix)]
pub(crate) fn limit(store: &Path) -> Result<(), Failure> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let size = allocated(store).unwrap_or_default();
    let seconds = LEAST_SECONDS.saturating_add(size >> 20);
    let limits = [
        (Resource::As, MOST_BYTES, MOST_BYTES),
        // Twice, because a file of redb is longer than what of it was written so far.
        (Resource::Fsize, file_bytes(size), file_bytes(size)),
        // The signal that names the reason comes first; what outlives it is ended a little later.
        (Resource::Cpu, seconds, seconds.saturating_add(10)),
        // A dump of what happens next would be as large as that, and hold keys.
        (Resource::Core, 0, 0),
    ];
    for (resource, current, maximum) in limits {
        let before = getrlimit(resource);
        let least = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
        let limit = Rlimit {
            current: least(before.current, current),
            maximum: least(before.maximum, maximum),
        };
        setrlimit(resource, limit)
            .map_err(|error| Failure::io("The process cannot be limited", &error.into(), ADVICE))?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn limit(_store: &Path) -> Result<(), Failure> {
    Err(Failure::usage("This system cannot limit a process.", ADVICE))
}

/// Bytes that the disk has given to what is in a folder: a file can say any length, and take none.
#[cfg(unix)]
fn allocated(folder: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0_u64;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            // Of a link, the link itself.
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
        }
    }
    Ok(bytes)
}

/// How long a file the child may write for a store of this size.
#[cfg(unix)]
fn file_bytes(store: u64) -> u64 {
    store.saturating_mul(2).saturating_add(64 << 20)
}

/// Why a child was ended, by the signal that did it.
fn reason(status: ExitStatus) -> &'static str {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        if signal == Some(Signal::XFSZ.as_raw()) {
            return "The files of the store made the process that read them write too much, and end.";
        }
        if signal == Some(Signal::XCPU.as_raw()) {
            return "The files of the store made the process that read them work too long, and end.";
        }
    }
    let _ = status;
    "The files of the store made the process that read them ask for too much, and end."
}

/// Address space of the child: what deriving a key may take at most, and 1 GiB for everything else.
#[cfg(unix)]
const MOST_BYTES: u64 = 2 << 30;
/// Processor time of the child, and another second for each MiB of the store: far more than a check takes anywhere.
#[cfg(unix)]
const LEAST_SECONDS: u64 = 600;

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn each_signal_has_its_reason() {
        for (signal, word) in
            [("XFSZ", "write too much"), ("XCPU", "work too long"), ("KILL", "ask for too much")]
        {
            let ended =
                Command::new("sh").args(["-c", &format!("kill -{signal} $$")]).status().unwrap();
            assert!(ended.signal().is_some(), "{ended}");
            assert!(reason(ended).contains(word), "{signal}: {}", reason(ended));
        }
    }
}
