//! This program once more, as a child with little memory.
//!
//! A store's engine believes its own files: crafted ones can make it ask for more memory than there is, and then the
//! process ends. That it is a child's, and that the child can take only so much, keeps the rest of the machine out
//! of it. It confines memory, not what the process may do.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

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
            "The files of the store made the process that read them ask for too much, and end.",
            "Do not open it outside `check --isolated`; restore a backup of the store.",
        ));
    };
    let _ = io::stderr().lock().write_all(&output.stderr);
    match u8::try_from(code) {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::Ended(code)),
        Err(_) => Err(Failure::new(Exit::Damaged, "The child process failed.", ADVICE)),
    }
}

const ADVICE: &str = "Try again, or without --isolated if you trust where the store comes from.";

/// Takes the right to more memory than an honest store needs from this process, for good.
#[cfg(unix)]
pub(crate) fn limit_memory() -> Result<(), Failure> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::As);
    let least = |limit: Option<u64>| Some(limit.map_or(MOST_BYTES, |limit| limit.min(MOST_BYTES)));
    let limit = Rlimit { current: least(before.current), maximum: least(before.maximum) };
    let limited = setrlimit(Resource::As, limit);
    // A dump of what happens next would be as large as that, and hold keys.
    let dumps = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    limited.and(dumps).map_err(|error| {
        Failure::io("The memory of the process cannot be limited", &error.into(), ADVICE)
    })
}

#[cfg(not(unix))]
pub(crate) fn limit_memory() -> Result<(), Failure> {
    Err(Failure::usage("This system cannot limit the memory of a process.", ADVICE))
}

/// Address space of the child: what deriving a key may take at most, and 1 GiB for everything else.
#[cfg(unix)]
const MOST_BYTES: u64 = 2 << 30;
