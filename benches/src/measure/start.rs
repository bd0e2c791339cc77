//! Measures the time from the start of the program to its first output.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inmost::StorageEngine;

use crate::results::Row;
use crate::store;

/// Runs the program this many times: `inmost call` on a store with the cheapest key derivation, and `inmost
/// --version` for comparison, which takes only the time of starting a process.
///
/// # Errors
/// The errors of the program.
pub fn run(program: &Path, work: &Path, times: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let path = work.join("start");
    let session = store::create(&path, StorageEngine::Sled)?;
    session.files().write("/memories/notes.md", "Ada prefers tea.\n")?;
    session.lock();
    drop(session);
    let (mut answers, mut floors) = (Vec::new(), Vec::new());
    let mut call = Command::new(program);
    call.arg("call").arg("--store").arg(&path);
    call.arg(r#"{"command": "view", "path": "/memories/notes.md"}"#);
    call.env("INMOST_PASSPHRASE", store::PASSPHRASE).env_remove("INMOST_ANCHOR");
    let mut version = Command::new(program);
    version.arg("--version");
    // The first run of each warms the page cache.
    first_line(&mut call, "Ada prefers tea.")?;
    for _ in 0..times {
        answers.push(first_line(&mut call, "Ada prefers tea.")?);
        floors.push(first_line(&mut version, "inmost")?);
    }
    let row = |name: &str, times: &[Duration]| Row::of_times(format!("start/{name}"), times);
    Ok(vec![row("answer", &answers), row("version", &floors)])
}

fn first_line(command: &mut Command, expected: &str) -> Result<Duration, Box<dyn Error>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let took = start.elapsed();
    if !child.wait()?.success() || !line.contains(expected) {
        return Err("the program failed or printed an unexpected line".into());
    }
    Ok(took)
}
