//! The loop of the browser.

use std::io;
use std::ops::{Deref, Range};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use signal_hook::consts::{SIGINT, SIGQUIT};

use super::event::{Effect, Event, Problem};
use super::input::{self, Keyboard, Signal};
use super::model::Model;
use super::screen::Screen;
use super::theme::Theme;
use super::update::{start, update};
use super::worker::{Sent, Workers};
use inmost_console::exit::Failure;
use inmost_keyd::OpenStore;

/// How the browser runs.
#[allow(clippy::exhaustive_structs, reason = "the program sets every field")]
pub struct Options<'a> {
    /// The store, as the title shows it.
    pub name: String,
    /// Whether the terminal shows colours.
    pub has_colours: bool,
    /// After so long without a key, a store that this process holds is locked.
    pub idle: Duration,
    /// Opens the store, and asks for its passphrase if it must.
    pub open: &'a dyn Fn() -> Result<Guard, Failure>,
    /// Lets the person edit the file at a path. Returns a sentence on what was saved.
    pub edit: &'a dyn Fn(&OpenStore, &str) -> Result<String, Problem>,
}

/// An open store that is closed on drop.
pub type Guard = Box<dyn Deref<Target = OpenStore> + Send + Sync>;

/// What reaches the loop.
enum Message {
    Input(io::Result<Event>),
    Signal(Signal),
    Sent(Sent),
    /// Locking has failed, for this reason.
    NotLocked(String),
}

/// Runs the browser until the person quits it, or a signal ends it.
///
/// # Errors
/// If the store cannot be opened, or the terminal fails.
pub fn run(options: &Options<'_>) -> Result<(), Failure> {
    let store = Arc::new((options.open)()?);
    let (sender, messages) = mpsc::channel();
    let to = sender.clone();
    input::watch(move |signal| to.send(Message::Signal(signal)).is_ok()).map_err(|error| {
        Failure::io("Signal handlers cannot be installed", &error, "Try again.")
    })?;
    let size = crossterm::terminal::size().map_err(|error| terminal_failed(&error))?;
    let model = Model::new(options.name.clone(), is_by_daemon(&store), size);
    let screen =
        Screen::new(Theme::new(options.has_colours)).map_err(|error| terminal_failed(&error))?;
    let to = sender.clone();
    let keyboard = Keyboard::start(move |read| to.send(Message::Input(read)).is_ok());
    let mut browser = Browser {
        options,
        model,
        screen,
        keyboard,
        sender,
        open: None,
        opened: 0,
        locking: None,
        last_key: (Instant::now(), SystemTime::now()),
        last_edit: Instant::now()..Instant::now(),
        signal: None,
        has_quit: false,
    };
    browser.begin(store);
    let result = browser.serve(&messages);
    let signal = browser.signal;
    // The terminal first, so that it is restored even if locking takes long.
    browser.screen.leave();
    browser.close();
    drop(browser);
    if let Some(signal) = signal {
        // Ends the process as the signal would have done.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    result
}

struct Browser<'a> {
    options: &'a Options<'a>,
    model: Model,
    screen: Screen,
    keyboard: Keyboard,
    sender: Sender<Message>,
    /// The open store and its threads; `None` while it is locked.
    open: Option<(Workers, Arc<Guard>)>,
    /// How often a store was opened. Replies of an earlier one are dropped.
    opened: u64,
    locking: Option<JoinHandle<()>>,
    /// By both clocks: only the wall clock runs on while the machine is suspended.
    last_key: (Instant, SystemTime),
    last_edit: Range<Instant>,
    signal: Option<i32>,
    has_quit: bool,
}

impl Browser<'_> {
    fn begin(&mut self, store: Arc<Guard>) {
        self.take(store);
        let effects = start(&mut self.model);
        self.perform(effects);
    }

    /// Starts the threads of an open store.
    fn take(&mut self, store: Arc<Guard>) {
        self.opened = self.opened.saturating_add(1);
        let to = self.sender.clone();
        let send = move |sent| to.send(Message::Sent(sent)).is_ok();
        self.open = Some((Workers::start(&store, self.opened, &send), store));
        self.last_key = (Instant::now(), SystemTime::now());
    }

    fn serve(&mut self, messages: &Receiver<Message>) -> Result<(), Failure> {
        while !self.has_quit {
            self.screen.paint(&self.model).map_err(|error| terminal_failed(&error))?;
            let first = match messages.recv_timeout(TICK) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            self.model.now = SystemTime::now();
            match first {
                Some(message) => self.receive(message)?,
                None => self.handle(Event::Tick),
            }
            // Keys that wait are all handled before the next painting, so that a held key does not lag behind.
            for message in messages.try_iter().take(MOST_AT_ONCE) {
                self.receive(message)?;
                if self.has_quit {
                    break;
                }
            }
            self.lock_if_idle();
        }
        Ok(())
    }

    fn receive(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Input(Ok(event)) => {
                if matches!(event, Event::Key(_) | Event::Paste(_)) {
                    self.last_key = (Instant::now(), SystemTime::now());
                }
                self.handle(event);
            }
            Message::Input(Err(error)) => return Err(terminal_failed(&error)),
            // Ctrl-C in an editor is sent to the browser too.
            Message::Signal(Signal::End(SIGINT | SIGQUIT, at)) if self.last_edit.contains(&at) => {}
            Message::Signal(Signal::End(signal, _)) => {
                self.signal = Some(signal);
                self.has_quit = true;
            }
            Message::Signal(Signal::Continue) => {
                self.screen.enter().map_err(|error| terminal_failed(&error))?;
            }
            Message::Sent(Sent::Reply(number, reply)) if number == self.opened => {
                self.handle(Event::Reply(reply));
            }
            Message::Sent(Sent::Reply(..)) => {}
            // The panic was recorded where it happened. It ends the browser as one of this thread would.
            Message::Sent(Sent::Panicked) => resume_unwind(Box::new("a thread has panicked")),
            Message::NotLocked(why) => self.handle(Event::Unlocked(Err(why))),
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        let was_locked = self.model.locked.is_some();
        let effects = update(&mut self.model, event);
        if self.model.locked.is_some() && !was_locked {
            // If the terminal fails, the next painting reports it.
            let _ = self.screen.erase();
            if !effects.iter().any(|effect| matches!(effect, Effect::Lock)) {
                self.open = None;
            }
        }
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Quit => self.has_quit = true,
                Effect::Lock => self.lock(),
                Effect::Unlock => self.unlock(),
                Effect::Edit(path) => {
                    let Some((_, store)) = &self.open else { continue };
                    let store = Arc::clone(store);
                    let edit = self.options.edit;
                    let begun = Instant::now();
                    let edited = self.aside(|| edit(&store, path.as_str()));
                    self.last_edit = begun..Instant::now();
                    self.handle(Event::Edited(edited));
                }
                Effect::Ask(request) => {
                    if let Some((workers, _)) = &self.open {
                        workers.ask(request);
                    }
                }
                Effect::Search { ticket, query } => {
                    if let Some((workers, _)) = &self.open {
                        workers.search(ticket, query);
                    }
                }
            }
        }
    }

    /// Gives the terminal to something else for some time.
    fn aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let paused = self.keyboard.pause();
        self.screen.leave();
        let result = work();
        // If the terminal fails, the next painting reports it.
        let _ = self.screen.enter();
        drop(paused);
        if let Ok(size) = crossterm::terminal::size() {
            self.model.size = size;
        }
        self.last_key = (Instant::now(), SystemTime::now());
        result
    }

    /// Wipes the keys on another thread: a call that runs may finish first, and the screen must not wait for it.
    fn lock(&mut self) {
        self.wait_for_lock();
        let Some((_, store)) = self.open.take() else { return };
        let to = self.sender.clone();
        self.locking = Some(thread::spawn(move || {
            let locked = match &***store {
                OpenStore::Here(session) => {
                    session.lock();
                    Ok(())
                }
                OpenStore::Daemon(client) => client.lock(),
            };
            if let Err(error) = locked {
                let why = format!("The key daemon may still hold it: {error} {}", error.advice());
                // If the browser has ended, nobody can read it.
                let _ = to.send(Message::NotLocked(why));
            }
        }));
    }

    fn wait_for_lock(&mut self) {
        if let Some(Err(panic)) = self.locking.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
    }

    fn unlock(&mut self) {
        self.wait_for_lock();
        let open = self.options.open;
        let result = match self.aside(open) {
            Ok(store) => {
                let store = Arc::new(store);
                let by_daemon = is_by_daemon(&store);
                self.take(store);
                Ok(by_daemon)
            }
            Err(Failure::Error { message, advice, .. }) => Err(format!("{message} {advice}")),
            Err(_) => Err("It was not unlocked.".to_owned()),
        };
        self.handle(Event::Unlocked(result));
    }

    /// A key daemon has an idle time of its own.
    fn lock_if_idle(&mut self) {
        let (at, wall) = self.last_key;
        let by_wall = SystemTime::now().duration_since(wall).unwrap_or_default();
        let is_over = at.elapsed().max(by_wall) >= self.options.idle;
        if is_over && self.model.locked.is_none() && !self.model.by_daemon {
            self.handle(Event::Idle);
        }
    }

    fn close(&mut self) {
        self.model.forget_content();
        if let Some((_, store)) = self.open.take() {
            // A thread may still use it.
            let _ = store.close();
        }
        self.wait_for_lock();
    }
}

fn is_by_daemon(store: &OpenStore) -> bool {
    matches!(store, OpenStore::Daemon(_))
}

fn terminal_failed(error: &io::Error) -> Failure {
    Failure::io("The terminal cannot be used", error, "Every acknowledged change is safe.")
}

/// How often a key daemon is asked whether the store has changed.
const TICK: Duration = Duration::from_secs(1);

/// Messages between two paintings.
const MOST_AT_ONCE: usize = 1_000;
