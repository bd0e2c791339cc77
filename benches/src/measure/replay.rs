//! Replays a trace on every peer. The peers take turns of a few calls, so that other load on the machine
//! affects all of them.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::peer::Peer;
use crate::peers::Kind;
use crate::results::Row;
use crate::trace::{Call, Trace};

/// The number of calls in a turn.
const TURN: usize = 50;

struct Player {
    kind: Kind,
    peer: Box<dyn Peer>,
    calls: Vec<(&'static str, Duration)>,
    turns: Vec<Duration>,
}

/// Replays the trace in a folder. The peers store their data in `work`; the rows are named after the trace.
///
/// # Errors
/// Any call that fails, and any peer whose final files differ from the trace.
pub fn run(name: &str, trace: &Path, work: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let trace = Trace::read(trace)?;
    std::fs::create_dir_all(work)?;
    let mut players = Vec::new();
    for kind in Kind::ALL.iter().copied() {
        let peer = kind.begin(&work.join(kind.name()))?;
        for call in &trace.setup {
            run_call(kind, &*peer, &serde_json::to_string(call)?)?;
        }
        players.push(Player { kind, peer, calls: Vec::new(), turns: Vec::new() });
    }
    let calls: Vec<(&'static str, String)> = trace
        .calls
        .iter()
        .map(|call: &Call| Ok((call.command(), serde_json::to_string(call)?)))
        .collect::<Result<_, serde_json::Error>>()?;
    for (turn, calls) in calls.chunks(TURN).enumerate() {
        // The order changes, so that no peer always follows the same other peer.
        let count = players.len();
        for index in 0..count {
            players[(index + turn) % count].play(calls)?;
        }
    }
    for player in &players {
        player.check(&trace)?;
    }
    Ok(players.iter().flat_map(|player| player.rows(name)).collect())
}

impl Player {
    fn play(&mut self, calls: &[(&'static str, String)]) -> Result<(), Box<dyn Error>> {
        let mut sum = Duration::ZERO;
        for (command, json) in calls {
            let start = Instant::now();
            run_call(self.kind, &*self.peer, json)?;
            let took = start.elapsed();
            self.calls.push((command, took));
            sum += took;
        }
        self.turns.push(sum / u32::try_from(calls.len())?);
        Ok(())
    }

    /// Checks that the final files match the trace.
    fn check(&self, trace: &Trace) -> Result<(), Box<dyn Error>> {
        for (path, expected) in &trace.files {
            if let Some(text) = self.peer.text(path) {
                let text = text.map_err(|error| format!("{}: {error}", self.kind.name()))?;
                if text != *expected {
                    return Err(format!("{}: the text of {path} differs", self.kind.name()).into());
                }
            }
        }
        Ok(())
    }

    fn rows(&self, trace: &str) -> Vec<Row> {
        let peer = self.kind.name();
        // The average call of a whole turn, because an agent experiences the mix of calls.
        let mut rows = vec![Row::of_times(format!("{trace}/{peer}/all"), &self.turns)];
        for command in ["view", "create", "str_replace", "insert", "delete", "rename"] {
            let of = self.calls.iter().filter(|(name, _)| *name == command);
            let times: Vec<Duration> = of.map(|(_, took)| *took).collect();
            if !times.is_empty() {
                rows.push(Row::of_times(format!("{trace}/{peer}/{command}"), &times));
            }
        }
        rows
    }
}

fn run_call(kind: Kind, peer: &dyn Peer, json: &str) -> Result<(), Box<dyn Error>> {
    match peer.call(json) {
        Ok(told) => {
            std::hint::black_box(told);
            Ok(())
        }
        Err(error) => Err(format!("{}: {error}", kind.name()).into()),
    }
}
