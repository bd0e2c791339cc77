//! Asking a person for a passphrase, on the terminal itself: standard input and output may be pipes.
//!
//! The terminal echoes nothing while one is typed, and is as before afterwards, whatever key ended it:
//! Ctrl-C comes as a byte like any other, so no signal can leave it silent. (One from outside can: `kill`
//! during a prompt needs a `stty sane` in a shell that does not do that by itself.)

#[cfg(unix)]
pub(crate) use unix::Terminal;
#[cfg(not(unix))]
pub(crate) use unsupported::Terminal;

use std::io;

use crate::exit::{Exit, Failure};

fn cancelled() -> Failure {
    Failure::new(Exit::Other, "No passphrase was typed.", "Nothing was done; try again.")
}

fn failed(error: &io::Error) -> Failure {
    Failure::io("The terminal failed", error, "Use another source of the passphrase.")
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
    use crate::wiped::Wiped;

    /// The terminal that this process belongs to.
    pub(crate) struct Terminal(File);

    impl Terminal {
        pub(crate) fn open() -> io::Result<Self> {
            Ok(Self(OpenOptions::new().read(true).write(true).open("/dev/tty")?))
        }

        pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
            self.show(text.as_bytes())
        }

        /// Shows a secret; nothing of it is buffered here.
        pub(crate) fn show(&mut self, text: &[u8]) -> Result<(), Failure> {
            write(&self.0, text)
        }

        /// A line that is typed as any other; `None` at its end.
        pub(crate) fn ask_openly(&mut self, question: &str) -> Result<Option<String>, Failure> {
            self.say(question)?;
            let mut line = Vec::new();
            loop {
                let mut byte = [0];
                match self.0.read(&mut byte) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(failed(&error)),
                    Ok(0) => return Ok(None),
                    Ok(_) => {}
                }
                match byte {
                    [b'\n'] => return Ok(String::from_utf8(line).ok()),
                    [byte] => line.push(byte),
                }
            }
        }

        /// A line that is typed unseen.
        ///
        /// # Errors
        /// If it was given up with Ctrl-C, Ctrl-\ or Ctrl-D.
        pub(crate) fn ask(&mut self, question: &str) -> Result<Wiped, Failure> {
            let silence = Silence::begin(&self.0).map_err(|error| failed(&error))?;
            write(&self.0, question.as_bytes())?;
            let line = read_line(&self.0);
            drop(silence);
            // Enter was not echoed either.
            write(&self.0, b"\n")?;
            line.map_err(|error| failed(&error))?.ok_or_else(cancelled)
        }
    }

    fn write(mut terminal: &File, text: &[u8]) -> Result<(), Failure> {
        terminal.write_all(text).map_err(|error| failed(&error))
    }

    /// Byte for byte, so that nothing stays in a buffer.
    fn read_line(mut terminal: &File) -> io::Result<Option<Wiped>> {
        let mut editor = LineEditor::new();
        loop {
            let mut byte = [0];
            match terminal.read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
                Ok(0) => return Ok(None),
                Ok(_) => {}
            }
            let [byte] = byte;
            match editor.key(byte) {
                Step::Go => {}
                Step::Done => return Ok(Some(editor.into_line())),
                Step::Cancelled => return Ok(None),
            }
        }
    }

    /// While this lives, the terminal echoes nothing and sends keys as they are.
    struct Silence<'t> {
        terminal: &'t File,
        before: Termios,
    }

    impl<'t> Silence<'t> {
        fn begin(terminal: &'t File) -> io::Result<Self> {
            let before = tcgetattr(terminal)?;
            let mut silent = before.clone();
            let modes = LocalModes::ECHO
                | LocalModes::ECHONL
                | LocalModes::ICANON
                | LocalModes::ISIG
                | LocalModes::IEXTEN;
            silent.local_modes.remove(modes);
            silent.special_codes[SpecialCodeIndex::VMIN] = 1;
            silent.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(terminal, OptionalActions::Drain, &silent)?;
            Ok(Self { terminal, before })
        }
    }

    impl Drop for Silence<'_> {
        fn drop(&mut self) {
            // What was typed beyond the line is thrown away: it may be more of a secret, pasted by mistake,
            // and the next to read it would be a shell.
            let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
        }
    }
}

#[cfg(not(unix))]
mod unsupported {
    use std::io::{self, IsTerminal, Write};

    use super::{cancelled, failed};
    use crate::exit::Failure;
    use crate::wiped::Wiped;

    /// The console. Ctrl-C ends the process at once there.
    pub(crate) struct Terminal;

    impl Terminal {
        pub(crate) fn open() -> io::Result<Self> {
            if io::stderr().is_terminal() { Ok(Self) } else { Err(io::ErrorKind::NotFound.into()) }
        }

        pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
            self.show(text.as_bytes())
        }

        pub(crate) fn show(&mut self, text: &[u8]) -> Result<(), Failure> {
            io::stderr().write_all(text).map_err(|error| failed(&error))
        }

        pub(crate) fn ask_openly(&mut self, question: &str) -> Result<Option<String>, Failure> {
            self.say(question)?;
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line).map_err(|error| failed(&error))?;
            Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
        }

        pub(crate) fn ask(&mut self, question: &str) -> Result<Wiped, Failure> {
            let typed = match rpassword::prompt_password(question) {
                Ok(typed) => zeroize::Zeroizing::new(typed),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(cancelled());
                }
                Err(error) => return Err(failed(&error)),
            };
            let mut line = Wiped::with_capacity(typed.len());
            line.append(typed.as_bytes());
            Ok(line)
        }
    }
}
