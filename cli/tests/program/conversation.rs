//! Runs the program in a terminal, and types as a person would.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::inmost::{PATIENCE, Place};

/// The program in a pseudo-terminal.
pub(crate) struct Conversation {
    child: Child,
    keyboard: File,
    terminal: OwnedFd,
    screen: Arc<Mutex<String>>,
    read_to: usize,
}

impl Conversation {
    pub(crate) fn start(command: &Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let person = openpt(flags).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let terminal = ioctl_tiocgptpeer(&person, flags).unwrap();
        let stdio = || Stdio::from(terminal.try_clone().unwrap());
        // A new session, so that this becomes the controlling terminal.
        let mut session = Command::new("setsid");
        session
            .args(["--ctty", "--wait"])
            .arg(command.get_program())
            .args(command.get_args())
            .env_remove("INMOST_PASSPHRASE")
            .env_remove("INMOST_STORE")
            .env_remove("INMOST_ANCHOR")
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            session.current_dir(folder);
        }
        let child = session.spawn().unwrap();
        let keyboard = File::from(person);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut output, shown) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut chunk = [0; 4_096];
            while let Ok(bytes @ 1..) = output.read(&mut chunk) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..bytes]));
            }
        });
        Self { child, keyboard, terminal, screen, read_to: 0 }
    }

    /// Waits until the text is on the screen, and returns the output since the last wait.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen.lock().unwrap().clone();
            let new = &screen[self.read_to..];
            if let Some(at) = new.find(text) {
                let shown = new[..at + text.len()].to_owned();
                self.read_to += shown.len();
                return shown;
            }
            assert!(Instant::now() < deadline, "no {text:?} on the screen: {screen:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        assert_eq!(modes.contains(LocalModes::ECHO), modes.contains(LocalModes::ISIG));
        modes.contains(LocalModes::ECHO)
    }

    #[track_caller]
    pub(crate) fn expect_end(&mut self, code: i32) -> String {
        assert_eq!(self.child.wait().unwrap().code(), Some(code), "{:?}", self.screen.lock());
        assert!(self.echoes(), "the terminal stays silent");
        self.screen.lock().unwrap().clone()
    }
}

pub(crate) fn bare(place: &Place, args: &[&str]) -> Command {
    let mut command = place.bare_command(args);
    command.arg("--store").arg(place.store());
    command
}
