//! Standard input and output without the buffers of the standard library, which nobody wipes.

use std::io::{self, IsTerminal, Read, Write};

/// Whether a person sits in front: all three streams are a terminal, so whatever else reads from it does not.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Two lines about what went wrong, and what to do.
pub(crate) fn print_error(what: &str, advice: &str) {
    // There is nowhere left to say that standard error is gone too.
    let _ = write!(io::stderr().lock(), "inmost: {what}\n{advice}\n");
}

/// One line about what went on all the same.
pub(crate) fn warn(what: &str) {
    // There is nowhere left to say that standard error is gone.
    let _ = writeln!(io::stderr().lock(), "inmost: warning: {what}");
}

/// Standard input.
#[cfg(unix)]
pub(crate) fn input() -> io::Result<impl Read> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard output; what is written is on its way at once.
#[cfg(unix)]
pub(crate) fn output() -> io::Result<impl Write> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard input; elsewhere only the standard library's own knows a console's encoding.
#[cfg(not(unix))]
pub(crate) fn input() -> io::Result<impl Read> {
    Ok(io::stdin().lock())
}

/// Standard output.
#[cfg(not(unix))]
pub(crate) fn output() -> io::Result<impl Write> {
    Ok(io::LineWriter::new(io::stdout().lock()))
}
