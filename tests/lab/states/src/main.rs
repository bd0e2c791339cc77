//! The states that power cuts and kills leave of a store, tens of thousands of them, at the level of files.
//!
//! - `lab-states record OUT SECONDS SEED`: records the worker.
//! - `lab-states replay OUT STATES SEED [JOBS]`: builds states and checks each. Fails if any is wrong.
//! - `lab-states build OUT STATES SEED NUMBER FOLDER`: builds one of those states.
//! - `lab-states batch OUT STATES SEED FIRST OF FOLDER`: checks every OF-th state; `replay` starts it.
//!
//! The worker goes on after one state in LAB_AGAIN (40; 0 means never), and the power is cut again. `cut.rs` has the kinds
//! of LAB_KINDS. With LAB_LIES, one sync in so many makes nothing durable: a control, which has to fail.

mod content;
mod cut;
mod disk;
mod log;
mod recording;
mod replay;
mod states;

use std::fs;
use std::io;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lab_worker::plan::{Random, Settings};

use crate::log::Event;
use crate::recording::Recording;
use crate::states::{Batch, Choice, PANICKED};

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match arguments[..] {
        ["record", out, seconds, seed] => {
            let (out, mut random) = (Path::new(out), Random::of(number(seed), 3));
            fs::create_dir_all(out)?;
            recording::record(out, Duration::from_secs(number(seconds)), &mut random)?;
            let recording = Recording::open(out)?;
            recording.verify(out)?;
            describe(&recording);
        }
        ["replay", out, states, seed] => {
            return replay::replay(Path::new(out), number(states) as usize, number(seed));
        }
        ["build", out, states, seed, state, folder] => {
            let choice = choice(number(states), number(seed));
            let recording = Recording::open(Path::new(out))?;
            states::build(&recording, choice, number(state) as usize, Path::new(folder))?;
        }
        ["batch", out, states, seed, first, of, folder] => {
            panic::set_hook(Box::new(|info| {
                PANICKED.store(true, Ordering::Relaxed);
                eprintln!("{info}");
            }));
            let recording = Recording::open(Path::new(out))?;
            let batch = Batch {
                range: 0..recording.events.len(),
                recording: &recording,
                folder: PathBuf::from(folder),
                keep: Path::new(out).join("bad"),
                settings: Settings::of_environment(),
                name: String::new(),
                phase: "",
            };
            let choice = choice(number(states), number(seed));
            states::run(&batch, choice, number(first) as usize, number(of) as usize)?;
        }
        _ => panic!("unknown arguments; main.rs documents them"),
    }
    Ok(ExitCode::SUCCESS)
}

fn choice(states: u64, seed: u64) -> Choice {
    let again = std::env::var("LAB_AGAIN").map_or(40, |it| it.parse().expect("LAB_AGAIN"));
    Choice { seed, states: states as usize, again }
}

fn describe(recording: &Recording) {
    let count = |wanted: &dyn Fn(&Event) -> bool| {
        recording.events.iter().filter(|event| wanted(event)).count()
    };
    println!(
        "{} writes ({} MiB recorded), {} syncs, {} changes of names and lengths, {} kills, {} acknowledgements",
        count(&|it| matches!(it, Event::Write { .. })),
        recording.log.len() >> 20,
        count(&|it| matches!(it, Event::SyncEnds { .. })),
        count(&Event::is_rare),
        count(&|it| matches!(it, Event::Kill)),
        count(&|it| matches!(it, Event::Acknowledge { text } if text.starts_with("A "))),
    );
}
