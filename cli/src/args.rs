//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};
use inmost::{KdfCost, StorageEngine};
use serde::{Deserialize, Serialize};

use crate::commands::{
    accept_rollback, backup, call, cat, check, compact, completions, destroy, edit, export, grep,
    import, init, lock, ls, man, mcp, migrate, mv, passwd, purge, repair, rm, rotate, salvage,
    slot, stats, status, unlock, write,
};
use crate::credential::CredentialArgs;
use crate::exit::Failure;

/// An encrypted memory store for AI agents.
///
/// Nothing readable is on disk; whoever forgets the passphrase, and has no recovery key, has lost the store.
#[derive(Parser)]
#[command(
    name = "inmost",
    version,
    disable_help_subcommand = true,
    after_help = "Example:\n  \
        inmost init --store notes.inmost\n  \
        inmost call --store notes.inmost '{\"command\": \"view\", \"path\": \"/memories\"}'"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Init(init::Init),
    Call(call::Call),
    Mcp(mcp::Mcp),
    Ls(ls::Ls),
    Cat(cat::Cat),
    Write(write::Write),
    Edit(edit::Edit),
    Rm(rm::Rm),
    Mv(mv::Mv),
    Grep(grep::Grep),
    Stats(stats::Stats),
    Import(import::Import),
    Export(export::Export),
    Status(status::Status),
    Unlock(unlock::Unlock),
    Lock(lock::Lock),
    Passwd(passwd::Passwd),
    Slot(slot::Slot),
    Rotate(rotate::Rotate),
    Check(check::Check),
    Repair(repair::Repair),
    Salvage(salvage::Salvage),
    Backup(backup::Backup),
    Purge(purge::Purge),
    Compact(compact::Compact),
    Migrate(migrate::Migrate),
    AcceptRollback(accept_rollback::AcceptRollback),
    Destroy(destroy::Destroy),
    Completions(completions::Completions),
    Man(man::Man),
    /// What `unlock` leaves in the background
    #[command(hide = true)]
    Agent,
}

/// Which store.
#[derive(clap::Args)]
pub(crate) struct PlaceArgs {
    /// Folder of the store; if not given, `inmost/memory` in the data folder of this platform
    #[arg(long = "store", value_name = "DIR", env = "INMOST_STORE", hide_env_values = true)]
    pub(crate) folder: Option<PathBuf>,
}

/// Which store, and what opens it.
#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) open: OpenArgs,

    /// Unlock with the recovery key instead of the passphrase: it is what the sources give, or what you are asked for
    #[arg(long, conflicts_with = "keyfile")]
    pub(crate) recovery: bool,
}

/// The same without `--recovery`, which to some commands is something else.
#[derive(clap::Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// File outside the store that remembers its newest commit, so that an older copy of the whole store is
    /// noticed; for this store alone, and made if it is not there
    #[arg(long, value_name = "FILE", env = "INMOST_ANCHOR", hide_env_values = true)]
    pub(crate) anchor: Option<PathBuf>,

    /// Do not offer to compact the store, as is done at a terminal when it takes far more room than it needs
    #[arg(long)]
    pub(crate) no_compact_offer: bool,

    #[command(flatten)]
    pub(crate) credential: CredentialArgs,
}

/// What can keep the records of a store.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum EngineName {
    /// sled 0.34.7, in every build
    Sled,
    /// redb 4, in builds with the feature `redb`
    Redb,
}

impl EngineName {
    pub(crate) fn engine(self) -> StorageEngine {
        match self {
            Self::Sled => StorageEngine::Sled,
            Self::Redb => StorageEngine::Redb,
        }
    }
}

/// What guessing a new passphrase is to cost.
#[derive(clap::Args)]
pub(crate) struct KdfArgs {
    /// Memory in MiB that one guess at the new passphrase takes [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) kdf_memory_mib: Option<u32>,

    /// Passes over that memory [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) kdf_passes: Option<u32>,

    /// Raise the memory until unlocking takes this long here, within a quarter of this machine's memory
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds,
          conflicts_with_all = ["kdf_memory_mib", "kdf_passes"])]
    pub(crate) calibrate: Option<Duration>,
}

impl KdfArgs {
    /// Whether anything is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.kdf_memory_mib.is_some() || self.kdf_passes.is_some() || self.calibrate.is_some()
    }

    /// The cost that is asked for, if any is.
    pub(crate) fn asked(&self) -> Option<KdfCost> {
        self.is_given().then(|| self.cost())
    }

    /// As asked for; the library decides whether it is acceptable.
    pub(crate) fn cost(&self) -> KdfCost {
        if let Some(target) = self.calibrate {
            return KdfCost::calibrate(target);
        }
        let usual = KdfCost::default();
        // Saturation is beyond every bound, so it is refused as what it is.
        let memory = self.kdf_memory_mib.map(|mib| mib.saturating_mul(1 << 10));
        KdfCost::new(
            memory.unwrap_or(usual.memory_kib()),
            self.kdf_passes.unwrap_or(usual.passes()),
            usual.lanes(),
        )
    }
}

/// More than a minute is a slip: it would be waited for at every unlock.
fn parse_seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=60.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or("a number of seconds up to 60")
}

/// The command that was asked for; `None` if help or version was, which is then printed.
pub(crate) fn parse() -> Result<Option<Command>, Failure> {
    let error = match Args::try_parse() {
        Ok(args) => return Ok(Some(args.command)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(|error| Failure::output(&error))?;
            Ok(None)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage("No command was given.", "See `inmost --help`."))
        }
        _ => {
            Err(Failure::usage(first_paragraph(&error.to_string()), "See `--help` of the command."))
        }
    }
}

/// What clap says happened, in one line; the rest repeats the usage.
fn first_paragraph(text: &str) -> String {
    let paragraph = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_finds_no_contradiction() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_cost_beyond_all_numbers_stays_beyond_all_bounds() {
        let args = KdfArgs { kdf_memory_mib: Some(u32::MAX), kdf_passes: None, calibrate: None };
        assert_eq!(args.cost(), KdfCost::new(u32::MAX, 3, 4));
        let args = KdfArgs { kdf_memory_mib: Some(19), kdf_passes: Some(2), calibrate: None };
        assert_eq!(args.cost(), KdfCost::new(19_456, 2, 4));
    }

    #[test]
    fn a_time_to_wait_is_a_number_of_seconds_up_to_a_minute() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["-1", "61", "inf", "NaN", "1s", ""] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_usage_error_is_one_line() {
        assert_eq!(first_paragraph("error: a\n  <B>\n\nUsage: c"), "a <B>");
    }
}
