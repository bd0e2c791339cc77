//! Commands that the user gives as one text, and the variable that no child process gets.

use std::ffi::OsStr;
use std::process::Command;

/// The environment variable that may hold the passphrase.
pub(crate) const VARIABLE: &str = "INMOST_PASSPHRASE";

/// The command, run by the shell of the system.
#[cfg(not(windows))]
pub(crate) fn running(command: &OsStr) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell
}

/// `cmd` reads its command line by its own rules: escaped as an argument, a command with quotes would break. With `/S` it
/// removes the outer quotes and runs the rest as it was typed.
#[cfg(windows)]
pub(crate) fn running(command: &OsStr) -> Command {
    use std::ffi::OsString;
    use std::os::windows::process::CommandExt;
    let mut line = OsString::from("\"");
    line.push(command);
    line.push("\"");
    let mut shell = Command::new("cmd");
    shell.args(["/D", "/S", "/C"]).raw_arg(line);
    shell
}
