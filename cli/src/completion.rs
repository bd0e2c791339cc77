//! Answers a shell that completes a command line. Commands and options come from the description of the command line; memory
//! paths from the key daemon, so only while the store is unlocked. Nothing is printed but what completes the word.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Command;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use inmost::{Files, WalkEntry};
use inmost_keyd::ConnectOptions;

use crate::args::PlaceArgs;
use crate::display;
use crate::exit::Failure;
use crate::memory_path;

/// Answers the shell, if it asks. Returns whether it did.
pub(crate) fn answer(command: fn() -> Command) -> Result<bool, Failure> {
    let asked = CompleteEnv::with_factory(command).var(VARIABLE);
    asked.try_complete(env::args_os(), env::current_dir().ok().as_deref()).map_err(|_| {
        Failure::usage(
            format!("The variable {VARIABLE} does not name a shell."),
            "Remove it. Only the scripts of `inmost completions` set it.",
        )
    })
}

/// The script that makes a shell ask.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let name = shell.to_string();
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&name) {
        shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    }
    Ok(script)
}

/// Completes the path of a file or folder of the memory.
pub(crate) fn memory_path() -> ArgValueCompleter {
    ArgValueCompleter::new(paths)
}

fn paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str().map(str::to_owned) else { return Vec::new() };
    // A key daemon that does not reply must not hold up the shell. The thread ends with this process, which only completes.
    let (found, wait) = mpsc::channel();
    thread::spawn(move || found.send(paths_from(&typed)));
    wait.recv_timeout(LIMIT).ok().flatten().unwrap_or_default()
}

fn paths_from(typed: &str) -> Option<Vec<CompletionCandidate>> {
    let start = typed.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, begun) = typed.split_at_checked(start)?;
    let Ok(path) = memory_path::parse(if folder.is_empty() { "." } else { folder });
    let place = PlaceArgs { folder: store(env::args_os()) }.place().ok()?;
    // What is only listed was not used.
    let options = ConnectOptions::new().as_program().without_recording();
    let client = options.connect(place).ok()??;
    let files = Files::new(&client);
    let entries = files.walk_to(&path, 0).map_while(Result::ok).take(LISTED);
    let words = entries.filter_map(|entry| word(folder, begun, &entry));
    Some(words.map(CompletionCandidate::new).collect())
}

/// The word for an entry; `None` if it does not begin as typed, or if a shell would need quotes. The scripts insert words as
/// they are, so a name that an agent was made to store could otherwise run a command.
fn word(folder: &str, begun: &str, entry: &WalkEntry) -> Option<String> {
    let name = entry.path.as_str().rsplit('/').next().filter(|name| name.starts_with(begun))?;
    let is_hidden = name.starts_with('.') && begun.is_empty();
    let is_plain = name.chars().all(char::is_alphanumeric) || display::quoted(name) == name;
    // bash would insert what follows these behind what is there.
    let is_plain = is_plain && !name.contains([':', '=']);
    let end = if entry.metadata.is_folder() { "/" } else { "" };
    (is_plain && !is_hidden && !name.starts_with('-')).then(|| format!("{folder}{name}{end}"))
}

/// The store that the command line names.
fn store(words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    // bash makes a word of each `=`.
    let mut words = words.skip_while(|word| word != "--").skip(1).filter(|word| word != "=");
    let mut named = env::var_os("INMOST_STORE").map(PathBuf::from);
    while let Some(word) = words.next() {
        if word == "--store" {
            named = words.next().map(expand).or(named);
        } else if let Some(folder) = word.to_str().and_then(|word| word.strip_prefix("--store=")) {
            named = Some(expand(folder.into()));
        }
    }
    named
}

/// The words arrive as they were typed, with their quotes.
fn expand(folder: OsString) -> PathBuf {
    let home = env::var_os("HOME").map(PathBuf::from);
    let Some(typed) = folder.to_str() else { return folder.into() };
    match (typed.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(unquoted(rest)),
        _ => unquoted(typed).into(),
    }
}

/// A word without the quotes and backslashes of a shell. Windows has no such shell, and backslashes in its paths.
fn unquoted(typed: &str) -> String {
    if cfg!(windows) {
        return typed.to_owned();
    }
    let (mut word, mut quote) = (String::with_capacity(typed.len()), None);
    let mut letters = typed.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('\\', None) => word.extend(letters.next()),
            // Between double quotes a backslash escapes these alone.
            ('\\', Some('"')) => {
                let escaped = letters.next_if(|next| matches!(next, '"' | '\\' | '$' | '`'));
                word.push(escaped.unwrap_or('\\'));
            }
            _ => word.push(letter),
        }
    }
    word
}

const PROGRAM: &str = "inmost";
const VARIABLE: &str = "INMOST_COMPLETE";
/// Entries of a folder that are looked at, so that a key is answered soon.
const LISTED: usize = 5_000;
/// How long a shell waits for memory paths.
const LIMIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_of_the_line_is_found() {
        let of = |words: &str| store(words.split(' ').map(OsString::from));
        assert_eq!(of("inmost -- inmost --store a cat x"), Some("a".into()));
        assert_eq!(of("inmost -- inmost cat --store=b --store c"), Some("c".into()));
        assert_eq!(of("inmost -- inmost cat --store = f x"), Some("f".into()));
        assert_eq!(of("inmost --store d -- inmost cat --store=e"), Some("e".into()));
        #[cfg(unix)]
        for (typed, folder) in [
            ("'my store'", "my store"),
            ("\"my $ \\\"x\\a\"", "my $ \"x\\a"),
            ("my\\ store", "my store"),
            ("'~'/a", "~/a"),
            ("'open", "open"),
            ("end\\", "end"),
        ] {
            assert_eq!(expand(typed.into()), PathBuf::from(folder), "{typed}");
        }
        // A shell of Windows knows no `~`, and a program there may have no HOME.
        #[cfg(unix)]
        assert_eq!(expand("~/a".into()), PathBuf::from(env::var_os("HOME").unwrap()).join("a"));
    }
}
