//! Measures the distribution of the time of one durable edit, of every peer.
//!
//! The peers take turns, so that other load on the disk affects all of them. In its turn a peer makes many
//! edits, because work that it does in the background should meet its own edits more often than those of the
//! next peer. inmost is also measured without turns, where its background work has no pause to hide in.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use inmost::StorageEngine;

use crate::calls::{edits, fill};
use crate::memory::Memory;
use crate::overwrite::Overwrite;
use crate::peer::Peer;
use crate::peers::Kind;
use crate::results::Row;

/// The number of edits in a turn.
const TURN: usize = 100;

/// The durations of this many edits, in order.
type Edits<'a> = Box<dyn FnMut(usize) -> Result<Vec<Duration>, Box<dyn Error>> + 'a>;

struct Contestant<'a> {
    name: String,
    make: Edits<'a>,
    times: Vec<Duration>,
}

/// Times this many edits of every peer, of overwriting 4 KiB, and of a command (if it is not empty) that reads
/// numbers of edits from its input and prints a line with the nanoseconds of each.
///
/// # Errors
/// The errors of the peers, and a command that fails.
pub fn run(work: &Path, edits: usize, command: &[&str]) -> Result<Vec<Row>, Box<dyn Error>> {
    std::fs::create_dir_all(work)?;
    let mut contestants = vec![overwrite(&work.join("overwritten"))?];
    for kind in Kind::ALL {
        contestants.push(begin(kind.begin(&work.join(kind.name()))?, kind.name(), 1)?);
    }
    if !command.is_empty() {
        let mut program = Program::start(command)?;
        contestants.push(Contestant::new("sdk", Box::new(move |count| program.edits(count))));
    }
    play_in_turns(&mut contestants, edits)?;
    let mut rows: Vec<Row> = contestants.iter().map(Contestant::row).collect();
    drop(contestants);
    for kind in [Kind::Inmost, Kind::InmostRedb] {
        let name = format!("{}-alone", kind.name());
        let mut alone = begin(kind.begin(&work.join(&name))?, &name, 1)?;
        (alone.make)(TURN)?;
        alone.play(edits)?;
        rows.push(alone.row());
    }
    Ok(rows)
}

/// Times what the targets of a durable edit compare, in turns: overwriting 4 KiB, inmost without and with a history, and SQLCipher.
/// There are two rows of each: the means of the turns, in which edits that wait for background work count in full, and the medians.
/// Their names begin with `prefix`.
///
/// # Errors
/// The errors of the peers.
pub fn turns(prefix: &str, work: &Path, edits: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    std::fs::create_dir_all(work)?;
    let mut contestants = vec![overwrite(&work.join("overwritten"))?];
    for depth in [1, 3] {
        for kind in ["inmost", "sqlcipher"].into_iter().filter_map(Kind::named) {
            let name = format!("{}-depth-{depth}", kind.name());
            contestants.push(begin(kind.begin(&work.join(&name))?, &name, depth)?);
        }
        let name = format!("inmost-history-depth-{depth}");
        let keeping = Memory::begin_keeping(&work.join(&name), StorageEngine::Sled)?;
        contestants.push(begin(Box::new(keeping), &name, depth)?);
    }
    play_in_turns(&mut contestants, edits)?;
    Ok(contestants.iter().flat_map(|contestant| contestant.rows_of_turns(prefix)).collect())
}

fn play_in_turns(contestants: &mut [Contestant<'_>], edits: usize) -> Result<(), Box<dyn Error>> {
    for contestant in &mut *contestants {
        // Not counted. It fills caches and creates what a peer creates at its first change.
        (contestant.make)(TURN)?;
    }
    let count = contestants.len();
    for turn in 0..edits.div_ceil(TURN) {
        // The order changes, so that no contestant always follows the same other one.
        for index in 0..count {
            contestants[(index + turn) % count].play(TURN)?;
        }
    }
    Ok(())
}

impl<'a> Contestant<'a> {
    fn new(name: &str, make: Edits<'a>) -> Self {
        Self { name: name.to_owned(), make, times: Vec::new() }
    }

    fn play(&mut self, count: usize) -> Result<(), Box<dyn Error>> {
        let times = (self.make)(count).map_err(|error| format!("{}: {error}", self.name))?;
        self.times.extend(times);
        Ok(())
    }

    fn row(&self) -> Row {
        Row::of_times(format!("latency/{}", self.name), &self.times)
    }

    fn rows_of_turns(&self, prefix: &str) -> [Row; 2] {
        let row = |group: &str, of_turn: fn(&[Duration]) -> Duration| {
            let samples: Vec<Duration> = self.times.chunks(TURN).map(of_turn).collect();
            Row::of_times(format!("{prefix}{group}/{}", self.name), &samples)
        };
        [row("turns", mean), row("medians", median)]
    }
}

fn mean(turn: &[Duration]) -> Duration {
    turn.iter().sum::<Duration>() / u32::try_from(turn.len()).unwrap_or(u32::MAX)
}

fn median(turn: &[Duration]) -> Duration {
    let mut sorted = turn.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn overwrite(path: &Path) -> Result<Contestant<'static>, Box<dyn Error>> {
    let mut file = Overwrite::begin(path)?;
    let make = move |count| (0..count).map(|_| timed(|| Ok(file.write_next()?))).collect();
    Ok(Contestant::new("overwrite", Box::new(make)))
}

fn begin(
    peer: Box<dyn Peer>,
    name: &str,
    depth: usize,
) -> Result<Contestant<'static>, Box<dyn Error>> {
    let edits = edits(&fill(&*peer, depth)?);
    let mut turn = 0;
    let mut edit = move || {
        let edit = &edits[turn % edits.len()];
        turn += 1;
        timed(|| {
            std::hint::black_box(peer.call(edit).map_err(|error| error.to_string())?);
            Ok(())
        })
    };
    Ok(Contestant::new(name, Box::new(move |count| (0..count).map(|_| edit()).collect())))
}

fn timed(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// A program that makes edits of its own.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn start(command: &[&str]) -> Result<Self, Box<dyn Error>> {
        let (program, args) = command.split_first().ok_or("no command")?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { input: child.stdin.take(), child, output })
    }

    fn edits(&mut self, count: usize) -> Result<Vec<Duration>, Box<dyn Error>> {
        writeln!(self.input.as_mut().ok_or("no input")?, "{count}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let times: Vec<Duration> = line
            .split_whitespace()
            .map(|nanos| Ok(Duration::from_nanos(nanos.parse()?)))
            .collect::<Result<_, Box<dyn Error>>>()?;
        if times.len() == count { Ok(times) } else { Err("the program ended early".into()) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program ends when its input does.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
