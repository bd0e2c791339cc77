//! Prompts on the terminal itself, because standard input and output may be pipes.
//!
//! The terminal does not echo while a passphrase is typed, and its settings are restored afterwards. Ctrl-C arrives as a
//! byte during a prompt, so it cannot leave the terminal without echo. A signal from another process can: run `stty sane`
//! after a `kill` during a prompt, if the shell does not do it.

#[cfg(not(unix))]
pub(crate) use console::Terminal;
#[cfg(unix)]
pub(crate) use unix::Terminal;

use std::io;

use crate::exit::{Exit, Failure};

fn cancelled() -> Failure {
    Failure::new(Exit::Interrupted, "The prompt was cancelled.", "Nothing was changed. Try again.")
}

fn failed(error: &io::Error) -> Failure {
    Failure::io("The terminal cannot be used", error, "Use another source of the passphrase.")
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read, Write};

    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
    };

    use super::{cancelled, failed};
    use crate::exit::Failure;
    use crate::line_editor::{LineEditor, Step};
    use inmost_console::Wiped;

    /// The controlling terminal of this process.
    pub(crate) struct Terminal(File);

    impl Terminal {
        pub(crate) fn open() -> io::Result<Self> {
            Ok(Self(OpenOptions::new().read(true).write(true).open("/dev/tty")?))
        }

        pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
            self.print_secret(text.as_bytes())
        }

        /// Shows what follows on a screen of its own, until the result is dropped: it does not stay in the scrollback. A
        /// terminal that has none goes on below.
        pub(crate) fn begin_apart(&mut self) -> Result<Apart, Failure> {
            let has_screen = Self::has_other_screen();
            let terminal = self.0.try_clone().map_err(|error| failed(&error))?;
            if has_screen {
                // Saves the screen, clears the other one, and goes to its first line.
                self.print("\x1b[?1049h\x1b[2J\x1b[H")?;
            }
            Ok(Apart { terminal: has_screen.then_some(terminal) })
        }

        /// Whether what is shown apart is cleared afterwards.
        pub(crate) fn has_other_screen() -> bool {
            std::env::var_os("TERM").is_some_and(|name| name != "dumb")
        }

        /// Prints a secret without buffering it.
        pub(crate) fn print_secret(&mut self, text: &[u8]) -> Result<(), Failure> {
            write(&self.0, text)
        }

        /// Asks for a line with echo; `None` at the end of input.
        pub(crate) fn read_visible(&mut self, question: &str) -> Result<Option<String>, Failure> {
            self.print(question)?;
            let mut line = Vec::new();
            while let Some(byte) = read_byte(&self.0).map_err(|error| failed(&error))? {
                if byte == b'\n' {
                    return Ok(String::from_utf8(line).ok());
                }
                line.push(byte);
            }
            Ok(None)
        }

        /// Asks for a line without echo.
        ///
        /// # Errors
        /// If the person pressed Ctrl-C, Ctrl-\ or Ctrl-D.
        pub(crate) fn ask(&mut self, question: &str) -> Result<Wiped, Failure> {
            let no_echo = NoEcho::begin(&self.0).map_err(|error| failed(&error))?;
            write(&self.0, question.as_bytes())?;
            let line = read_line(&self.0);
            drop(no_echo);
            // Enter was not echoed.
            write(&self.0, b"\n")?;
            line.map_err(|error| failed(&error))?.ok_or_else(cancelled)
        }
    }

    /// While this exists, the terminal shows a screen of its own.
    pub(crate) struct Apart {
        terminal: Option<File>,
    }

    impl Drop for Apart {
        fn drop(&mut self) {
            if let Some(terminal) = &mut self.terminal {
                // Clears it, because some terminals keep it.
                let _ = terminal.write_all(b"\x1b[2J\x1b[H\x1b[?1049l");
            }
        }
    }

    fn write(mut terminal: &File, text: &[u8]) -> Result<(), Failure> {
        terminal.write_all(text).map_err(|error| failed(&error))
    }

    /// Reads single bytes, so that no buffer keeps a copy.
    fn read_line(terminal: &File) -> io::Result<Option<Wiped>> {
        let mut editor = LineEditor::new();
        while let Some(byte) = read_byte(terminal)? {
            match editor.key(byte) {
                Step::Continue => {}
                Step::Done => return Ok(Some(editor.into_line())),
                Step::Cancelled => return Ok(None),
            }
        }
        Ok(None)
    }

    /// `None` at the end of input.
    fn read_byte(mut terminal: &File) -> io::Result<Option<u8>> {
        let mut byte = [0];
        loop {
            match terminal.read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let [byte] = byte;
                    return Ok((read? > 0).then_some(byte));
                }
            }
        }
    }

    /// While this exists, the terminal does not echo, and passes keys on as bytes.
    struct NoEcho<'t> {
        terminal: &'t File,
        before: Termios,
    }

    impl<'t> NoEcho<'t> {
        fn begin(terminal: &'t File) -> io::Result<Self> {
            let before = tcgetattr(terminal)?;
            let mut settings = before.clone();
            let modes = LocalModes::ECHO
                | LocalModes::ECHONL
                | LocalModes::ICANON
                | LocalModes::ISIG
                | LocalModes::IEXTEN;
            settings.local_modes.remove(modes);
            settings.special_codes[SpecialCodeIndex::VMIN] = 1;
            settings.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(terminal, OptionalActions::Drain, &settings)?;
            Ok(Self { terminal, before })
        }
    }

    impl Drop for NoEcho<'_> {
        fn drop(&mut self) {
            // Discards unread input: after a paste it may be the rest of a secret, and a shell would read it next.
            let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
        }
    }
}

#[cfg(not(unix))]
mod console {
    use std::io::{self, IsTerminal, Stderr, Write};

    use super::{cancelled, failed};
    use crate::exit::Failure;
    use inmost_console::Wiped;

    /// The console. Ctrl-C ends the process at once.
    pub(crate) struct Terminal(Stderr);

    /// A console has no other screen, so what is shown on it stays in the scrollback.
    pub(crate) struct Apart;

    impl Drop for Apart {
        fn drop(&mut self) {}
    }

    impl Terminal {
        pub(crate) fn open() -> io::Result<Self> {
            let console = io::stderr();
            if console.is_terminal() {
                Ok(Self(console))
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        }

        pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
            self.print_secret(text.as_bytes())
        }

        pub(crate) fn has_other_screen() -> bool {
            false
        }

        pub(crate) fn begin_apart(&mut self) -> Result<Apart, Failure> {
            self.0.flush().map_err(|error| failed(&error))?;
            Ok(Apart)
        }

        pub(crate) fn print_secret(&mut self, text: &[u8]) -> Result<(), Failure> {
            self.0.write_all(text).map_err(|error| failed(&error))
        }

        pub(crate) fn read_visible(&mut self, question: &str) -> Result<Option<String>, Failure> {
            self.print(question)?;
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line).map_err(|error| failed(&error))?;
            Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
        }

        pub(crate) fn ask(&mut self, question: &str) -> Result<Wiped, Failure> {
            self.print(question)?;
            let typed = match rpassword::read_password() {
                Ok(typed) => zeroize::Zeroizing::new(typed),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(cancelled());
                }
                Err(error) => return Err(failed(&error)),
            };
            let mut line = Wiped::new(Vec::with_capacity(typed.len()));
            line.append(typed.as_bytes());
            Ok(line)
        }
    }
}
