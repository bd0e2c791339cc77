//! The crash loop: starts the work, kills it at a random moment, and starts it again.
//!
//! Each start first verifies everything that was acknowledged.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use lab_worker::plan::Random;

pub fn kill(store: &Path, ack: &Path, kills: u64) -> ExitCode {
    let seed = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |it| it.as_secs());
    let mut random = Random::of(seed, 0);
    let mut count = Count::default();
    println!("seed {seed}");
    for number in 0..kills {
        let from = std::fs::metadata(ack).map_or(0, |it| it.len() as usize);
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg("work")
            .args([store, ack])
            .stdin(Stdio::null())
            .spawn()
            .expect("the worker");
        // One kill in four may hit the opening; the others wait until it is done.
        let limit = Instant::now() + Duration::from_secs(60);
        while number % 4 > 0 && !tail(ack, from).contains("R\n") && Instant::now() < limit {
            if let Ok(Some(_)) = child.try_wait() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_micros(random.below(500_000) as u64));
        if let Ok(Some(status)) = child.try_wait() {
            println!("FAILED: the worker ended by itself after {number} kills: {status}");
            return ExitCode::FAILURE;
        }
        child.kill().and_then(|()| child.wait()).expect("killing");
        count.add(&tail(ack, from));
    }
    println!(
        "{kills} kills: {} before the store was open, {} inside calls ({} calls cut off, {} of them purges' or the \
         longest files' threads), {} between; {} calls acknowledged",
        count.opening, count.inside, count.cut_off, count.long, count.between, count.acknowledged
    );
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Count {
    opening: u64,
    inside: u64,
    between: u64,
    cut_off: usize,
    long: usize,
    acknowledged: usize,
}

impl Count {
    fn add(&mut self, log: &str) {
        let Some((_, calls)) = log.split_once("R\n") else {
            self.opening += 1;
            return;
        };
        let mut open = std::collections::BTreeSet::new();
        for line in calls.lines() {
            if let Some(call) = line.strip_prefix("B ") {
                open.insert(call);
            } else if let Some(call) = line.strip_prefix("A ") {
                self.acknowledged += 1;
                open.remove(call);
            }
        }
        self.cut_off += open.len();
        self.long +=
            open.iter().filter(|call| call.starts_with("0 ") || call.starts_with("1 ")).count();
        *if open.is_empty() { &mut self.between } else { &mut self.inside } += 1;
    }
}

fn tail(ack: &Path, from: usize) -> String {
    let text = std::fs::read_to_string(ack).unwrap_or_default();
    text.get(from..).unwrap_or_default().to_owned()
}
