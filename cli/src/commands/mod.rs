//! The commands, one file each: what can be said on the command line, and what is then done.

pub(crate) mod call;
pub(crate) mod cat;
pub(crate) mod init;
pub(crate) mod ls;
pub(crate) mod mv;
pub(crate) mod passwd;
pub(crate) mod rm;
pub(crate) mod rotate;
pub(crate) mod slot;
pub(crate) mod status;
pub(crate) mod write;

use crate::args::Command;
use crate::exit::Failure;
use crate::streams;

/// Carries out a command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Init(init) => init.run(),
        Command::Call(call) => call.run(),
        Command::Ls(ls) => ls.run(),
        Command::Cat(cat) => cat.run(),
        Command::Write(write) => write.run(),
        Command::Rm(rm) => rm.run(),
        Command::Mv(mv) => mv.run(),
        Command::Status(status) => status.run(),
        Command::Passwd(passwd) => passwd.run(),
        Command::Slot(slot) => slot.run(),
        Command::Rotate(rotate) => rotate.run(),
    }
}

/// Writes to standard output.
fn print(bytes: &[u8]) -> Result<(), Failure> {
    use std::io::Write;
    let print = || {
        let mut output = streams::output()?;
        output.write_all(bytes)?;
        output.flush()
    };
    print().map_err(|error| Failure::output(&error))
}
