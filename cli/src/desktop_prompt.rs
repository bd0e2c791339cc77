//! Prompts without a terminal: through a pinentry program, as `gpg` uses it, or through an askpass program, as `ssh` does.
//!
//! The crate `pinentry` would do the same, but it keeps the passphrase in buffers that are not wiped, and panics on a long
//! request.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::descriptor::{self, MAX_BYTES};
use crate::display;
use crate::exit::{Exit, Failure};
use crate::shell::VARIABLE;
use inmost_console::Wiped;

/// A program that asks in place of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum DesktopPrompt {
    /// The program that `PINENTRY_PROGRAM` names, else `pinentry`
    Pinentry,
    /// The program that `SSH_ASKPASS` names, else `ssh-askpass`
    Askpass,
}

impl DesktopPrompt {
    /// Asks for `what`, such as the passphrase, of a store. `error` says what was wrong with what was typed before.
    pub(crate) fn ask(
        self,
        store: &Path,
        what: &str,
        error: Option<&str>,
    ) -> Result<Wiped, Failure> {
        let store = shortened(&display::path(&store.display().to_string()));
        let (program, asked) = match self {
            Self::Pinentry => {
                let program = program("PINENTRY_PROGRAM", "pinentry");
                let asked =
                    Pinentry::start(&program, LIMIT).and_then(|it| it.ask(&store, what, error));
                (program, asked)
            }
            Self::Askpass => {
                let program = program("SSH_ASKPASS", "ssh-askpass");
                let error = error.map_or_else(String::new, |error| format!("{error} "));
                let asked = run_askpass(&program, &format!("{error}{what} for {store}: "), LIMIT);
                (program, asked)
            }
        };
        let program = display::path(&program.to_string_lossy());
        asked.map_err(|problem| match problem {
            Problem::Cancelled => Failure::new(
                Exit::Other,
                format!("No {} was typed.", what.to_lowercase()),
                "Nothing was changed. Try again.",
            ),
            Problem::Failed(reason) => Failure::new(
                Exit::Other,
                format!(
                    "The program {program} could not ask for the {}: {reason}.",
                    what.to_lowercase()
                ),
                match self {
                    Self::Pinentry => {
                        "Install a pinentry program, or name one in PINENTRY_PROGRAM."
                    }
                    Self::Askpass => "Install an askpass program, or name one in SSH_ASKPASS.",
                },
            ),
        })
    }
}

/// Why there is no passphrase.
enum Problem {
    /// The person closed the prompt.
    Cancelled,
    /// The program did not run or did not speak its protocol.
    Failed(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

fn program(variable: &str, default: &str) -> OsString {
    env::var_os(variable).filter(|name| !name.is_empty()).unwrap_or_else(|| default.into())
}

/// The end of a long path: a request has at most 1,000 bytes.
fn shortened(path: &str) -> String {
    let length = path.chars().count();
    if length <= LONGEST_PATH {
        return path.to_owned();
    }
    let end = path.chars().skip(length.saturating_sub(LONGEST_PATH));
    "...".chars().chain(end).collect()
}

/// In characters. Each is at most 4 bytes in UTF-8.
const LONGEST_PATH: usize = 150;

/// How long a person has to type a passphrase. A program that nobody sees must not keep a command waiting for good.
const LIMIT: Duration = Duration::from_secs(300);

fn too_late(limit: Duration) -> Problem {
    let limit = display::duration(limit);
    Problem::Failed(format!("it did not reply within {limit}, and was ended"))
}

/// Runs an askpass program, which prints what was typed.
fn run_askpass(program: &OsString, prompt: &str, limit: Duration) -> Result<Wiped, Problem> {
    let deadline = Instant::now() + limit;
    let mut child = Command::new(program)
        .arg(prompt)
        .env_remove(VARIABLE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let (read, typed) = mpsc::sync_channel(1);
    if let Some(output) = child.stdout.take() {
        // `read` drops our end of the pipe, so a program that continues to print ends as well.
        thread::spawn(move || read.send(Wiped::read(output, MAX_BYTES)));
    }
    let typed = typed.recv_timeout(limit);
    let ended = if typed.is_ok() { ended_by(&mut child, deadline)? } else { None };
    let (Ok(typed), Some(status)) = (typed, ended) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(too_late(limit));
    };
    if !status.success() {
        return Err(Problem::Cancelled);
    }
    let typed = typed?.ok_or_else(|| Problem::Failed("its output is too long".to_owned()))?;
    Ok(descriptor::strip(typed))
}

/// How the program ended; `None` if it still runs at the deadline. Its output has ended, so it mostly ends at once.
fn ended_by(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || Instant::now() >= deadline {
            return Ok(ended);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A running pinentry. Client and program send lines, by the Assuan protocol
/// (<https://www.gnupg.org/documentation/manuals/assuan/>, <https://info2html.sourceforge.net/cgi-bin/info2html-demo/info2html?(pinentry)Protocol>).
struct Pinentry {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<Result<Wiped, Problem>>,
    limit: Duration,
    deadline: Instant,
}

impl Pinentry {
    fn start(program: &OsString, limit: Duration) -> Result<Self, Problem> {
        let mut child = Command::new(program)
            .env_remove(VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(mut output)) => {
                let (send, replies) = mpsc::sync_channel(1);
                // Waits at most for this process: reading has no limit of its own on any system.
                thread::spawn(move || {
                    loop {
                        let line = line(&mut output);
                        let is_last = line.is_err();
                        if send.send(line).is_err() || is_last {
                            break;
                        }
                    }
                });
                let deadline = Instant::now() + limit;
                Ok(Self { child, requests, replies, limit, deadline })
            }
            _ => Err(Problem::Failed("it has no streams".to_owned())),
        }
    }

    fn ask(mut self, store: &str, what: &str, error: Option<&str>) -> Result<Wiped, Problem> {
        // The greeting.
        self.reply()?;
        for (name, variable) in [
            ("ttyname", "GPG_TTY"),
            ("ttytype", "TERM"),
            ("lc-ctype", "LC_CTYPE"),
            ("display", "DISPLAY"),
        ] {
            if let Some(value) = env::var(variable).ok().filter(|value| !value.is_empty()) {
                // A program without such an option refuses it, and asks all the same.
                match self.request("OPTION", &format!("{name}={value}")) {
                    Ok(_) | Err(Problem::Cancelled | Problem::Failed(_)) => {}
                }
            }
        }
        self.request("SETTITLE", "Inmost")?;
        self.request("SETDESC", &format!("Unlock the memory in {store}"))?;
        self.request("SETPROMPT", &format!("{what}:"))?;
        if let Some(error) = error {
            self.request("SETERROR", error)?;
        }
        self.request("GETPIN", "")
    }

    fn request(&mut self, command: &str, argument: &str) -> Result<Wiped, Problem> {
        let mut line = command.to_owned();
        if !argument.is_empty() {
            line.push(' ');
            for letter in argument.chars() {
                match letter {
                    '%' => line.push_str("%25"),
                    '\n' => line.push_str("%0A"),
                    '\r' => line.push_str("%0D"),
                    letter => line.push(letter),
                }
            }
        }
        line.push('\n');
        self.requests.write_all(line.as_bytes())?;
        self.reply()
    }

    /// The data of the reply to a request.
    fn reply(&mut self) -> Result<Wiped, Problem> {
        let mut data = Wiped::default();
        loop {
            let line = self.line()?;
            let (keyword, rest) = split(line.as_slice());
            match keyword {
                b"OK" => return Ok(data),
                b"D" => decode(rest, &mut data),
                b"ERR" => return Err(refusal(rest)),
                // Status lines, comments and empty lines.
                b"S" | b"#" | b"" => {}
                _ => {
                    return Err(Problem::Failed(
                        "it does not speak the pinentry protocol".to_owned(),
                    ));
                }
            }
        }
    }

    fn line(&mut self) -> Result<Wiped, Problem> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match self.replies.recv_timeout(left) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => Err(too_late(self.limit)),
            // The thread has sent why it ended.
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

/// Reads byte by byte: a buffer of the standard library is never wiped.
fn line(output: &mut ChildStdout) -> Result<Wiped, Problem> {
    let mut line = Wiped::new(Vec::with_capacity(MAX_BYTES));
    let mut byte = Wiped::new(vec![0]);
    loop {
        if output.read(byte.as_mut_slice())? == 0 {
            return Err(ended());
        }
        if byte.as_slice() == b"\n" {
            return Ok(line);
        }
        if line.as_slice().len() == MAX_BYTES {
            return Err(Problem::Failed("its reply is too long".to_owned()));
        }
        line.append(byte.as_slice());
    }
}

fn ended() -> Problem {
    Problem::Failed("it ended before it replied".to_owned())
}

impl Drop for Pinentry {
    /// Ends the program, which may still show its window.
    fn drop(&mut self) {
        let _ = self.requests.write_all(b"BYE\n");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The keyword of a line and what follows it.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (keyword, rest) = line.split_at_checked(end).unwrap_or((line, b""));
    (keyword, rest.strip_prefix(b" ").unwrap_or(rest))
}

/// Appends the bytes of a data line, in which `%XX` stands for a byte.
fn decode(data: &[u8], to: &mut Wiped) {
    let mut rest = data;
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| after.split_at_checked(2)).flatten();
        let byte = escaped.and_then(|(digits, _)| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        if let (Some(byte), Some((_, behind))) = (byte, escaped) {
            to.append(&[byte]);
            rest = behind;
        } else {
            to.append(&[*first]);
            rest = after;
        }
    }
}

/// The reason of an `ERR` line: a number, whose lower 16 bits are an error code of `gpg`, and a text.
fn refusal(line: &[u8]) -> Problem {
    let line = String::from_utf8_lossy(line);
    let code = line.split(' ').next().and_then(|number| number.parse::<u32>().ok());
    match code.map(|code| code & 0xffff) {
        Some(CANCELLED | TIMEOUT) => Problem::Cancelled,
        _ => Problem::Failed(display::path(&shortened(&line))),
    }
}

/// `GPG_ERR_CANCELED`.
const CANCELLED: u32 = 99;

/// `GPG_ERR_TIMEOUT`.
const TIMEOUT: u32 = 62;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lines_are_decoded() {
        for (line, expected) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"50%25 off%0A", b"50% off\n"),
            (b"%c3%a9", b"\xc3\xa9"),
            (b"%zz%", b"%zz%"),
            (b"", b""),
        ] {
            let mut data = Wiped::default();
            decode(line, &mut data);
            assert_eq!(data.as_slice(), expected);
        }
    }

    #[test]
    fn errors_are_told_apart() {
        assert!(matches!(refusal(b"83886179 Operation cancelled <Pinentry>"), Problem::Cancelled));
        assert!(matches!(refusal(b"83886142 Timeout <Pinentry>"), Problem::Cancelled));
        assert!(
            matches!(refusal(b"83918950 No device\x1b"), Problem::Failed(text) if text == "83918950 No device\\u{1b}")
        );
        assert!(matches!(refusal(b""), Problem::Failed(_)));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_never_replies_is_ended() {
        let limit = Duration::from_secs(1);
        // `cat` waits for requests, and a greeting never comes.
        let asked = Pinentry::start(&"cat".into(), limit).and_then(|it| it.ask("s", "Word", None));
        assert!(matches!(asked, Err(Problem::Failed(why)) if why.contains("within 1 s")));
        // As an askpass program, `sleep` prints nothing.
        let asked = run_askpass(&"sleep".into(), "600", limit);
        assert!(matches!(asked, Err(Problem::Failed(why)) if why.contains("within 1 s")));
        let asked = run_askpass(&"echo".into(), "typed", LIMIT);
        assert!(matches!(asked, Ok(typed) if typed.as_slice() == b"typed"));
    }

    #[test]
    fn a_long_path_is_shortened_at_its_start() {
        assert_eq!(shortened("/a"), "/a");
        let long = format!("/{}/end", "\u{1f980}".repeat(400));
        let shown = shortened(&long);
        assert!(shown.len() < 800 && shown.starts_with("...") && shown.ends_with("/end"));
    }
}
