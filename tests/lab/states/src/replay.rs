//! Runs batches of states in processes of their own, so that an abort or a hang costs one state.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Counts by kind of cut and word.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

pub fn replay(out: &Path, states: usize, seed: u64) -> io::Result<ExitCode> {
    let jobs = std::env::var("LAB_JOBS").map_or(2, |it| it.parse().expect("LAB_JOBS"));
    let began = Instant::now();
    let mut all = Outcome::default();
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let job = |job: usize| scope.spawn(move || run_job(out, states, seed, job, jobs));
        let running: Vec<_> = (0..jobs).map(job).collect();
        running.into_iter().map(|it| it.join().expect("a job")).collect::<io::Result<_>>()
    })?;
    for outcome in outcomes {
        for (kind, words) in outcome.counts {
            for (word, count) in words {
                *all.counts.entry(kind.clone()).or_default().entry(word).or_default() += count;
            }
        }
        all.pending.extend(outcome.pending);
    }
    Ok(all.report(began.elapsed()))
}

#[derive(Default)]
struct Outcome {
    counts: Counts,
    /// Changes that were not durable, at each state.
    pending: Vec<usize>,
}

impl Outcome {
    /// Reads `result WORD KIND PENDING ...`.
    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let [_, word, kind, pending, rest] = words[..] else { return };
        *self.counts.entry(kind.into()).or_default().entry(word.into()).or_default() += 1;
        self.pending.extend(pending.parse::<usize>());
        if word.starts_with("ok,") {
            println!("{kind}: {word} {rest}");
        } else if !word.starts_with("ok") {
            println!("BAD {kind}: {word} {rest}");
        }
    }

    fn report(mut self, time: Duration) -> ExitCode {
        let (mut bad, mut total) = (0, 0);
        let (mut cuts, mut unknown, mut unknown_kills) = (0, 0, 0);
        for (kind, words) in &self.counts {
            let list: Vec<String> = words.iter().map(|it| format!("{} {}", it.1, it.0)).collect();
            println!("{kind}: {}", list.join(", "));
            for (word, count) in words {
                total += count;
                bad += if word.starts_with("ok") { 0 } else { *count };
                let is_unknown = if word.starts_with("ok,") { *count } else { 0 };
                if kind.starts_with("Kill") {
                    unknown_kills += is_unknown;
                } else {
                    cuts += count;
                    unknown += is_unknown;
                }
            }
        }
        self.pending.sort_unstable();
        let at = |share: usize| self.pending.get(self.pending.len() * share / 100).unwrap_or(&0);
        println!(
            "{total} states in {} s: {cuts} power cuts, {} kills; {bad} bad; of unknown freshness {unknown} cuts, \
             {unknown_kills} kills; unsynced changes: {} in the median, {} at most",
            time.as_secs(),
            total - cuts,
            at(50),
            self.pending.last().unwrap_or(&0)
        );
        if bad > 0 || unknown * 100 > cuts || unknown_kills > 0 || total == 0 {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}

fn run_job(out: &Path, states: usize, seed: u64, job: usize, jobs: usize) -> io::Result<Outcome> {
    let folder = out.join(format!("job-{job}"));
    let mut outcome = Outcome::default();
    let mut first = job;
    while first < states {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut batch = Command::new(std::env::current_exe()?)
            .arg("batch")
            .arg(out)
            .args([states.to_string(), seed.to_string(), first.to_string(), jobs.to_string()])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(batch.stdout.take().expect("a pipe"));
        let reader = thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).ok();
        });
        // The state that is being checked, and the one of the recording that it comes from.
        let mut under_way: Option<String> = None;
        let end = loop {
            match lines.recv_timeout(HANG) {
                Ok(line) if line.starts_with("result ") => {
                    outcome.note(&line);
                    under_way = None;
                }
                Ok(line) => {
                    if let Some((number, name)) =
                        line.strip_prefix("begin ").and_then(|it| it.split_once(' '))
                    {
                        if name == number {
                            first = number.parse().expect("a number");
                        }
                        under_way = Some(name.to_owned());
                    }
                }
                Err(RecvTimeoutError::Timeout) => break "hung",
                Err(RecvTimeoutError::Disconnected) => break "aborted",
            }
        };
        if end == "hung" {
            batch.kill()?;
        }
        let status = batch.wait()?;
        reader.join().expect("the reader");
        if status.success() {
            return Ok(outcome);
        }
        let name = under_way.unwrap_or_else(|| format!("after {first}"));
        outcome.note(&format!("result {end} - 0 {name} {status}"));
        first += jobs;
    }
    Ok(outcome)
}

/// A state that takes longer counts as wrong.
const HANG: Duration = Duration::from_secs(120);
