//! `inmost status`

use std::fmt::Write;

use inmost::{AnchorStatus, Protections, SessionStatus, StorageEngine, StoreError};
use inmost_agent::AgentFacts;

use crate::args::StoreArgs;
use crate::display::{count, duration};
use crate::exit::Failure;
use crate::output::print;
use crate::store::opening::OpenOptions;

/// Show the size, the protections and the key agent of a store
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost status --store notes.inmost")]
pub(crate) struct Status {
    #[command(flatten)]
    store: StoreArgs,
}

impl Status {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (status, agent) = match self.ask()? {
            // A key agent locked the store after it had accepted the connection. The next attempt finds no agent.
            Err(StoreError::Locked) => self.ask()??,
            status => status?,
        };
        let mut text = format!("store       {}\n", self.store.place()?.display());
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<11} {value}");
        };
        line("files", status.files.to_string());
        line("text", format!("{} bytes", status.bytes));
        line("commits", status.commit.to_string());
        line("on disk", format!("{} bytes", status.disk_bytes));
        if status.set_aside_bytes > 0 {
            line(
                "set aside",
                format!(
                    "{} bytes of records that the store no longer uses",
                    status.set_aside_bytes
                ),
            );
            line(
                "",
                "`inmost discard` lists and removes them; docs/OPERATIONS.md says how to read them"
                    .to_owned(),
            );
        }
        line("engine", engine(status.engine).to_owned());
        if let Some(cost) = status.kdf_cost {
            let (memory, passes, lanes) = (cost.memory_kib() >> 10, cost.passes(), cost.lanes());
            line("passphrase", format!("Argon2id, {memory} MiB, {passes} passes, {lanes} lanes"));
            if cost.is_below_default() {
                line("", "below the current default; `inmost passwd` raises it".to_owned());
            }
        }
        line("freshness", freshness(status.anchor).to_owned());
        line("durability", "a change is synced to disk before it is acknowledged".to_owned());
        for (name, value) in protections(status.protections) {
            line(name, value.to_owned());
        }
        match agent {
            None => line("agent", "none; `inmost unlock` starts one".to_owned()),
            Some(agent) => {
                let (idle, total) = (duration(agent.idle_left), duration(agent.total_left));
                line("agent", format!("process {} holds the store unlocked", agent.process));
                line("locks in", format!("{idle} if unused, {total} at the latest"));
                line("connected", connected(&agent.connected));
            }
        }
        print(text.as_bytes())
    }

    /// The outer error is of opening the store, the inner one of asking for its status.
    fn ask(&self) -> Result<Result<(SessionStatus, Option<AgentFacts>), StoreError>, Failure> {
        let store = self.store.open(&OpenOptions {
            // The offer needs more than the status.
            hint_compaction: false,
            status_only: true,
            ..OpenOptions::default()
        })?;
        Ok(store.status().and_then(|status| Ok((status, store.agent()?))))
    }
}

/// The protections of the process that holds the store.
fn protections(in_force: Protections) -> [(&'static str, &'static str); 4] {
    let Protections { keys_locked, keys_undumped, core_dumps_off, not_dumpable, .. } = in_force;
    [
        ("keys", if keys_locked { "locked in memory, never swapped" } else { "may be swapped" }),
        (
            "",
            if keys_undumped { "excluded from core dumps" } else { "not excluded from core dumps" },
        ),
        ("process", if core_dumps_off { "writes no core dump" } else { "may write a core dump" }),
        (
            "",
            if not_dumpable {
                "other processes of the user cannot read its memory"
            } else {
                "other processes of the user can read its memory"
            },
        ),
    ]
}

fn connected(processes: &[u32]) -> String {
    let number = u64::try_from(processes.len()).unwrap_or(u64::MAX);
    let others = count(number, "other process", "other processes");
    let list: Vec<_> = processes.iter().map(u32::to_string).collect();
    if list.is_empty() { others } else { format!("{others}: {}", list.join(", ")) }
}

fn engine(engine: Option<StorageEngine>) -> &'static str {
    match engine {
        Some(StorageEngine::Sled) => "sled",
        Some(StorageEngine::Redb) => "redb",
        _ => "none",
    }
}

/// Whether the store is known to be the newest. One that is known to be older does not open.
fn freshness(freshness: AnchorStatus) -> &'static str {
    match freshness {
        AnchorStatus::Known => "known: the store is not older than its rollback anchor",
        AnchorStatus::Unknown => {
            "unknown: the rollback anchor is damaged or incomplete; see `inmost accept-rollback`"
        }
        AnchorStatus::WasMissing => {
            "unknown this time: the anchor file had no value for this store, so it was made"
        }
        AnchorStatus::Failing => "unknown: the rollback anchor cannot be read or written",
        _ => "unknown",
    }
}
