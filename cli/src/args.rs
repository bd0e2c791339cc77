//! The command line.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};
use inmost::{KdfCost, StorageEngine};

use crate::commands::{
    accept_rollback, backup, call, cat, check, compact, destroy, init, ls, migrate, mv, purge,
    repair, rm, salvage, status, write,
};
use crate::exit::Failure;
use crate::passphrase::PassphraseArgs;

/// An encrypted memory store for AI agents.
///
/// Nothing readable is on disk; whoever forgets the passphrase has lost the store.
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
    Ls(ls::Ls),
    Cat(cat::Cat),
    Write(write::Write),
    Rm(rm::Rm),
    Mv(mv::Mv),
    Status(status::Status),
    Check(check::Check),
    Repair(repair::Repair),
    Salvage(salvage::Salvage),
    Backup(backup::Backup),
    Purge(purge::Purge),
    Compact(compact::Compact),
    Migrate(migrate::Migrate),
    AcceptRollback(accept_rollback::AcceptRollback),
    Destroy(destroy::Destroy),
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
    pub(crate) place: PlaceArgs,

    /// File outside the store that remembers its newest commit, so that an older copy of the whole store is
    /// noticed; for this store alone, and made if it is not there
    #[arg(long, value_name = "FILE", env = "INMOST_ANCHOR", hide_env_values = true)]
    pub(crate) anchor: Option<PathBuf>,

    /// Do not offer to compact the store, as is done at a terminal when it takes far more room than it needs
    #[arg(long)]
    pub(crate) no_compact_offer: bool,

    #[command(flatten)]
    pub(crate) passphrase: PassphraseArgs,
}

/// What can keep the records of a store.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
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

/// What guessing the passphrase of a new store is to cost.
#[derive(clap::Args)]
pub(crate) struct KdfArgs {
    /// Memory in MiB that one guess at the passphrase of the new store takes [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) kdf_memory_mib: Option<u32>,

    /// Passes over that memory [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) kdf_passes: Option<u32>,
}

impl KdfArgs {
    /// As asked for; the library decides whether it is acceptable.
    pub(crate) fn cost(&self) -> KdfCost {
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
        let args = KdfArgs { kdf_memory_mib: Some(u32::MAX), kdf_passes: None };
        assert_eq!(args.cost(), KdfCost::new(u32::MAX, 3, 4));
        let args = KdfArgs { kdf_memory_mib: Some(19), kdf_passes: Some(2) };
        assert_eq!(args.cost(), KdfCost::new(19_456, 2, 4));
    }

    #[test]
    fn a_usage_error_is_one_line() {
        assert_eq!(first_paragraph("error: a\n  <B>\n\nUsage: c"), "a <B>");
    }
}
