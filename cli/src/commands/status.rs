//! `inmost status`

use std::fmt::Write;

use inmost::{AnchorStatus, StorageEngine};

use crate::args::StoreArgs;
use crate::exit::Failure;
use crate::passphrase::Input;

/// Show how much a store holds and takes, and what guessing its passphrase costs
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost status --store notes.inmost")]
pub(crate) struct Status {
    #[command(flatten)]
    store: StoreArgs,
}

impl Status {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let status = self.store.with_store(Input::Free, |store| Ok(store.status()?))?;
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
            let (memory, passes, lanes) = (cost.memory_kib() >> 10, cost.passes(), cost.lanes());
            line("passphrase", format!("Argon2id, {memory} MiB, {passes} passes, {lanes} lanes"));
            if cost.is_below_default() {
                line("", "below today's default; `inmost passwd` raises it".to_owned());
            }
        }
        line("freshness", freshness(status.anchor).to_owned());
        super::print(text.as_bytes())
    }
}

fn engine(engine: Option<StorageEngine>) -> &'static str {
    match engine {
        Some(StorageEngine::Sled) => "sled",
        Some(StorageEngine::Redb) => "redb",
        _ => "none",
    }
}

/// Whether an older state, put back, would be noticed.
fn freshness(anchor: AnchorStatus) -> &'static str {
    match anchor {
        AnchorStatus::Active => "known: the store is not older than what was seen last",
        AnchorStatus::WasMissing => "unknown: its anchor was missing and has been written anew",
        AnchorStatus::Failing => "unknown: its anchor cannot be written",
        _ => "unknown",
    }
}
