//! Standard input and output without the buffers of the standard library, which are never wiped; and errors on standard
//! error.

use std::io::{self, IsTerminal, Read, Write};

use crate::exit::Failure;
use crate::hints;

/// Whether a person can be asked: all three streams are a terminal.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Prints an error: one line on what happened, and one line on what to do. A message may quote any name, so control
/// characters in it are escaped: they would reach the terminal.
pub(crate) fn print_error(message: &str, advice: &str) {
    let message = hints::runnable(message);
    let (message, advice) = (inmost::printable(&message), hints::runnable(advice));
    // If standard error fails, the failure cannot be reported.
    let _ = write!(io::stderr().lock(), "inmost: {message}\n{advice}\n");
}

/// Prints a warning of one line, with control characters escaped.
pub(crate) fn warn(message: &str) {
    let message = hints::runnable(message);
    let message = inmost::printable(&message);
    // If standard error fails, the failure cannot be reported.
    let _ = writeln!(io::stderr().lock(), "inmost: warning: {message}");
}

/// Prints a line that may help a person.
pub(crate) fn hint(message: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", hints::runnable(message));
}

/// Prints errors, but not the same one twice in a row: repeated calls would fill a log with it.
#[derive(Default)]
pub(crate) struct ErrorLog {
    last: Option<String>,
}

impl ErrorLog {
    pub(crate) fn print(&mut self, failure: &Failure) {
        let Failure::Error { message, advice, .. } = failure else { return };
        if self.last.as_deref() != Some(message) {
            print_error(message, advice);
            self.last = Some(message.to_string());
        }
    }

    pub(crate) fn reset(&mut self) {
        self.last = None;
    }
}

/// Standard input.
#[cfg(unix)]
pub(crate) fn input() -> io::Result<impl Read> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Whether the program was started without standard input.
///
/// The standard library opens the null device in the place of a closed stream before `main`, for reading and writing. What a
/// shell opens for `</dev/null` is for reading alone. Some programs give their children the first kind too, which then counts
/// as closed; for standard output that is so common that a closed one cannot be told from it.
#[cfg(unix)]
pub(crate) fn is_input_closed() -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};

    let input = io::stdin();
    let is_for_both = fcntl_getfl(&input).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDWR);
    match (fstat(&input), stat("/dev/null")) {
        (Ok(input), Ok(null)) => is_for_both && input.st_rdev == null.st_rdev,
        _ => false,
    }
}

/// Windows gives a program no null device in the place of standard input: reading a closed one fails.
#[cfg(not(unix))]
pub(crate) fn is_input_closed() -> bool {
    false
}

/// Standard output without a buffer.
#[cfg(unix)]
pub(crate) fn output() -> io::Result<impl Write> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard input. Only the standard library converts the encoding of a Windows console.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
pub(crate) fn input() -> io::Result<impl Read> {
    Ok(io::stdin().lock())
}

/// Standard output.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it fails on Unix")]
pub(crate) fn output() -> io::Result<impl Write> {
    Ok(io::LineWriter::new(io::stdout().lock()))
}
