//! `inmost status`

use std::fmt::Write;

use crate::args::StoreArgs;
use crate::display::{count, duration};
use crate::engine::EngineName;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::store::facts::{Cost, Freshness, Protections};

/// Show how much a store holds and takes, what protects it, and who has it unlocked
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost status --store notes.inmost")]
pub(crate) struct Status {
    #[command(flatten)]
    store: StoreArgs,
}

impl Status {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (status, agent) =
            self.store.with_store(Input::Free, |store| Ok((store.status()?, store.agent()?)))?;
        let mut text = format!("store       {}\n", self.store.place()?.display());
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<11} {value}");
        };
        line("files", status.files.to_string());
        line("text", format!("{} bytes", status.bytes));
        line("commits", status.commit.to_string());
        line("on disk", format!("{} bytes", status.disk_bytes));
        line("engine", engine(status.engine).to_owned());
        if let Some(cost) = status.kdf_cost {
            let Cost { memory_kib, passes, lanes } = cost;
            let memory = memory_kib >> 10;
            line("passphrase", format!("Argon2id, {memory} MiB, {passes} passes, {lanes} lanes"));
            if cost.is_below_default() {
                line("", "below today's default; `inmost passwd` raises it".to_owned());
            }
        }
        line("freshness", freshness(status.freshness).to_owned());
        line("durability", "a change is synced to disk before it is acknowledged".to_owned());
        for (name, value) in protections(status.protections) {
            line(name, value.to_owned());
        }
        match agent {
            None => line("agent", "none; `inmost unlock` starts one".to_owned()),
            Some(agent) => {
                let (idle, total) = (duration(agent.idle_left), duration(agent.total_left));
                line("agent", format!("process {} holds the store unlocked", agent.process));
                line("locks in", format!("{idle} unless it is used, {total} in any case"));
                line("connected", connected(&agent.connected));
            }
        }
        print(text.as_bytes())
    }
}

/// What is in force in the process that holds the store.
fn protections(in_force: Protections) -> [(&'static str, &'static str); 4] {
    let Protections { keys_locked, keys_undumped, core_dumps_off, not_dumpable } = in_force;
    [
        ("keys", if keys_locked { "locked in memory, never swapped" } else { "may be swapped" }),
        ("", if keys_undumped { "left out of core dumps" } else { "not left out of core dumps" }),
        ("process", if core_dumps_off { "writes no core dump" } else { "may write a core dump" }),
        (
            "",
            if not_dumpable {
                "its memory is closed to other processes of the user"
            } else {
                "its memory is open to other processes of the user"
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

fn engine(engine: Option<EngineName>) -> &'static str {
    match engine {
        Some(EngineName::Sled) => "sled",
        Some(EngineName::Redb) => "redb",
        None => "none",
    }
}

/// Whether an older state, put back, would be noticed.
fn freshness(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Known => "known: the store is not older than what was seen last",
        Freshness::AnchorWasMissing => "unknown: its anchor was missing and has been written anew",
        Freshness::AnchorFailing => "unknown: its anchor cannot be written",
        Freshness::Unknown => "unknown",
    }
}
