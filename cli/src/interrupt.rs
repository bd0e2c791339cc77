//! Ctrl-C during work that can be continued later: the work ends at its next good point and says how to go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether Ctrl-C was pressed. A second one ends the program at once.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on.
    pub(crate) fn watch() -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            use signal_hook::consts::SIGINT;
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

/// What a shell makes of a program that SIGINT ended.
#[cfg(unix)]
const CODE: i32 = 130;
