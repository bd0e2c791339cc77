//! Protections of secrets against swap, core dumps and other processes, as far as the system grants them.

use super::locked::{self, Granted};

/// Which protections are in force. Each is best effort: if the system refuses one, the program works without it.
///
/// [`protections`] reports on all secrets of the process, the status of a session on its own keys. If a process holds
/// more keys than it may lock, some sessions have locked keys and others have not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "facts that hold independently of each other")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Protections {
    /// The pages with keys and passphrases are locked, so they are never written to swap. Hibernation still writes
    /// them.
    pub keys_locked: bool,
    /// The pages with keys and passphrases are excluded from core dumps. Decrypted text is not.
    pub keys_undumped: bool,
    /// This process writes no core dump: its limit is zero.
    pub core_dumps_off: bool,
    /// Other processes of the same user can neither attach to this one nor read its memory, and it is not dumped.
    pub not_dumpable: bool,
}

impl Protections {
    /// As reported for one session: with the protections of its keys alone, instead of those of all secrets of the
    /// process.
    #[must_use]
    pub fn of_keys(self, Granted { locked, undumped }: Granted) -> Self {
        Self { keys_locked: locked, keys_undumped: undumped, ..self }
    }
}

/// The protections that are in force now.
///
/// ```
/// # use inmost_format::secret::protections;
/// let protections = protections();
/// if !protections.keys_locked {
///     eprintln!("Keys may reach the swap space: raise the limit of locked memory (ulimit -l).");
/// }
/// ```
#[must_use]
pub fn protections() -> Protections {
    let Granted { locked, undumped } = locked::status();
    Protections {
        keys_locked: locked,
        keys_undumped: undumped,
        core_dumps_off: core_dumps_off(),
        not_dumpable: not_dumpable(),
    }
}

/// Turns off core dumps of this process and closes its memory to other processes of the same user. Returns the
/// protections that are in force afterwards.
///
/// A program calls it before it has secrets. It affects the whole process and cannot be undone: no debugger can
/// attach any more, and programs that it starts inherit the limit of zero. The library never calls it.
#[allow(clippy::must_use_candidate, reason = "it is called for its effect")]
pub fn harden_process() -> Protections {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        // The result shows a failure.
        let _ = setrlimit(Resource::Core, none);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    protections()
}

fn core_dumps_off() -> bool {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Core).current == Some(0)
    }
    #[cfg(not(unix))]
    false
}

fn not_dumpable() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, dumpable_behavior};
        matches!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable))
    }
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::*;

    /// The child process of the next test. Does nothing in a normal test run, since hardening cannot be undone.
    #[test]
    fn child_hardens_itself() {
        if std::env::var_os("INMOST_TEST_HARDEN").is_none() {
            return;
        }
        let hardened = harden_process();
        assert!(hardened.core_dumps_off);
        assert_eq!(hardened.not_dumpable, cfg!(target_os = "linux"));
        assert_eq!(protections(), hardened, "it is permanent");
        #[cfg(target_os = "linux")]
        {
            let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
            let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
            // The hard limit too, so that the process cannot raise it again.
            assert_eq!(cores.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
        }
    }

    #[test]
    fn a_hardened_process_writes_no_core_dump_and_refuses_debuggers() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "secret::protections::tests::child_hardens_itself"])
            .env("INMOST_TEST_HARDEN", "yes")
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && output.contains("1 passed"), "{output}");
        // The parent did not ask for it: a debugger can attach to it as before.
        #[cfg(target_os = "linux")]
        assert!(!protections().not_dumpable);
    }
}
