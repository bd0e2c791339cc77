//! The worker and the checker of the lab.
//!
//! - `lab-worker work STORE ACK [BEFORE]`: several threads call the tool until killed; each returned call is a line of
//!   ACK. BEFORE holds the lines of an earlier run.
//! - `lab-worker check STORE ACK`: opens the store and compares it with ACK; prints `RESULT` and a word. A store whose
//!   freshness is unknown is all right, but reported.
//! - `lab-worker kill STORE ACK KILLS`: kills `work` at random moments and verifies the store each time.
//! - `lab-worker calls STORE THREADS CALLS`: makes calls, to count their sync calls.

mod kill;

use std::path::Path;
use std::process::ExitCode;

use inmost::MemoryTool;
use lab_worker::plan::Settings;
use lab_worker::verify::{self, Acknowledged, Wrong};
use lab_worker::work;
use serde_json::json;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let settings = Settings::of_environment();
    let done = match arguments[..] {
        ["work", store, ack] => work::work(Path::new(store), Path::new(ack), None, settings),
        ["work", store, ack, before] => {
            work::work(Path::new(store), Path::new(ack), Some(Path::new(before)), settings)
        }
        ["check", store, ack] => check(Path::new(store), Path::new(ack), &settings),
        ["kill", store, ack, kills] => {
            let kills = kills.parse().expect("a number of kills");
            return kill::kill(Path::new(store), Path::new(ack), kills);
        }
        ["calls", store, threads, calls] => {
            let [threads, calls] = [threads, calls].map(|it| it.parse().expect("a number"));
            make_calls(Path::new(store), threads, calls);
            Ok(())
        }
        _ => panic!("unknown arguments; main.rs documents them"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Wrong(what, how)) => {
            println!("RESULT {what} {how}");
            ExitCode::FAILURE
        }
    }
}

fn check(store: &Path, ack: &Path, settings: &Settings) -> Result<(), Wrong> {
    let acknowledged = Acknowledged::read(&[ack]);
    let found = verify::check(store, settings, &acknowledged)?;
    println!("RESULT {}", found.words());
    Ok(())
}

/// Each thread creates small files and edits them in turn.
fn make_calls(store: &Path, threads: usize, calls: usize) {
    let session = work::create(store);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let tool = MemoryTool::new(session.clone());
            scope.spawn(move || {
                for call in 0..calls / threads {
                    let path = format!("/memories/{thread}/{}", call / 2);
                    work::run_call(&tool, &if call % 2 == 0 {
                        json!({"command": "create", "path": path, "file_text": "a note\n"})
                    } else {
                        json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "more\n"})
                    });
                }
            });
        }
    });
    session.lock();
}
