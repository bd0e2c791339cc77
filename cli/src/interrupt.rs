//! Ctrl-C during long work. Work that can be continued later ends at its next good point and says how to go on. Work of the
//! key daemon does not end with the command that asked for it, which says so.

#[cfg(unix)]
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::thread;

#[cfg(unix)]
use signal_hook::consts::SIGINT;
#[cfg(unix)]
use signal_hook::iterator::Signals;

use crate::store::OpenStore;
#[cfg(unix)]
use crate::streams;

/// Whether Ctrl-C was pressed. A second one ends the program at once.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on.
    pub(crate) fn watch() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            // The first one finds the flag unset. On an error, Ctrl-C ends the program as ever.
            let ends =
                signal_hook::flag::register_conditional_shutdown(SIGINT, CODE, Arc::clone(&flag));
            if ends.is_ok() {
                let _ = signal_hook::flag::register(SIGINT, Arc::clone(&flag));
            }
        }
        Self(flag)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Long work that the key daemon may do for a command, until this is dropped.
pub(crate) struct DaemonWork {
    #[cfg(unix)]
    handle: Option<signal_hook::iterator::Handle>,
}

impl DaemonWork {
    /// From now on, Ctrl-C ends the command with a message if a key daemon holds the store. If this process holds it, the work
    /// ends with it.
    #[cfg(unix)]
    pub(crate) fn begin(store: &OpenStore) -> Self {
        let OpenStore::Daemon(client) = store else { return Self { handle: None } };
        let process = client.process();
        // On an error, Ctrl-C ends the program without a message.
        let Ok(mut signals) = Signals::new([SIGINT]) else { return Self { handle: None } };
        let handle = signals.handle();
        let spawned = thread::Builder::new().spawn(move || {
            if signals.forever().next().is_some() {
                streams::print_error(
                    &format!("Interrupted, but the key daemon, process {process}, goes on with the work to its end."),
                    "To stop it too, run `inmost lock`: after ten seconds it cuts the work off, and the store is as sound as after a crash.",
                );
                process::exit(CODE);
            }
        });
        // Without the thread nobody waits for the signal.
        if spawned.is_err() {
            handle.close();
        }
        Self { handle: Some(handle) }
    }

    #[cfg(not(unix))]
    pub(crate) fn begin(_store: &OpenStore) -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for DaemonWork {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}

/// What a shell makes of a program that SIGINT ended.
#[cfg(unix)]
const CODE: i32 = 130;
