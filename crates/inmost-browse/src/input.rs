//! The threads that wait for keys and signals.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event as TerminalEvent};
use inmost::FileText;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::event::Event;
use super::key::Key;

/// The keyboard. Its thread ends with the process.
pub(super) struct Keyboard {
    gate: Arc<Gate>,
}

/// Lets other programs read from the terminal.
#[derive(Default)]
struct Gate {
    is_closed: AtomicBool,
    reading: Mutex<()>,
}

/// While this exists, the keyboard is not read.
pub(super) struct Paused<'k> {
    gate: &'k Gate,
    _reading: MutexGuard<'k, ()>,
}

impl Keyboard {
    /// Starts the thread. `send` gets each event, or the error that ends the thread, and returns whether to go on.
    pub(super) fn start(send: impl Fn(io::Result<Event>) -> bool + Send + 'static) -> Self {
        let gate = Arc::new(Gate::default());
        let shared = Arc::clone(&gate);
        thread::spawn(move || {
            loop {
                if shared.is_closed.load(Ordering::Acquire) {
                    thread::sleep(CLOSED_PAUSE);
                    continue;
                }
                let goes_on = match shared.read() {
                    Ok(Some(event)) => send(Ok(event)),
                    Ok(None) => true,
                    Err(error) => {
                        send(Err(error));
                        false
                    }
                };
                if !goes_on {
                    return;
                }
            }
        });
        Self { gate }
    }

    /// Stops reading, for a program that uses the terminal meanwhile.
    pub(super) fn pause(&self) -> Paused<'_> {
        self.gate.is_closed.store(true, Ordering::Release);
        let reading = self.gate.reading.lock().unwrap_or_else(PoisonError::into_inner);
        Paused { gate: &self.gate, _reading: reading }
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.gate.is_closed.store(false, Ordering::Release);
    }
}

impl Gate {
    /// The next event, if one comes soon and the browser uses it.
    fn read(&self) -> io::Result<Option<Event>> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // The gate may have been closed since.
        if self.is_closed.load(Ordering::Acquire) || !event::poll(OPEN_PAUSE)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            TerminalEvent::Key(key) => Key::of(&key).map(Event::Key),
            TerminalEvent::Paste(text) => Some(Event::Paste(FileText::from(text))),
            TerminalEvent::Resize(columns, rows) => Some(Event::Resize(columns, rows)),
            TerminalEvent::FocusGained => Some(Event::Tick),
            _ => None,
        })
    }
}

/// What a signal asks for.
#[derive(Clone, Copy)]
pub(super) enum Signal {
    /// To end, by this signal, which came then.
    End(i32, Instant),
    /// To paint everything again, after the process was stopped.
    Continue,
}

/// Starts the thread that waits for signals.
pub(super) fn watch(send: impl Fn(Signal) -> bool + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            let end = Signal::End(signal, Instant::now());
            if !send(if signal == SIGCONT { Signal::Continue } else { end }) {
                return;
            }
        }
    });
    Ok(())
}

/// How long a wait for keys may take, and so how long the start of an editor.
const OPEN_PAUSE: Duration = Duration::from_millis(200);

/// Between two looks at a gate that is closed.
const CLOSED_PAUSE: Duration = Duration::from_millis(20);
