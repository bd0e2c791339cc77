//! The command line: one file per command, with its options and the code that runs it.
//!
//! A command file imports nothing from this one.

mod accept_rollback;
mod backup;
#[cfg(feature = "browse")]
mod browse;
mod call;
mod cat;
mod check;
mod compact;
mod completions;
mod destroy;
mod diff;
mod discard;
mod edit;
mod expire;
mod export;
mod forget;
mod grep;
mod history;
mod import;
mod init;
mod lock;
mod log;
mod ls;
mod man;
mod mcp;
mod migrate;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod mount;
mod mv;
mod passwd;
#[cfg(feature = "postgres")]
mod postgres_schema;
mod purge;
mod repair;
mod restore;
mod rewrite;
mod rm;
mod rotate;
mod salvage;
mod search;
mod show;
mod slot;
mod stats;
mod status;
mod sync;
mod undo;
mod unlock;
mod write;

use std::env;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::OpenArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::{completion, hints, keyd, usage};

/// An encrypted memory store for AI agents.
///
/// Everything on disk is encrypted. Without the passphrase, or a recovery key, the store cannot be opened.
#[derive(Parser)]
#[command(
    name = "inmost",
    version,
    after_help = "`inmost help COMMAND` explains a command. --store, --anchor, --keyfile and the options for a passphrase can stand\n\
        before the command or after it.\n\n\
        Examples:\n  \
        inmost --store notes.inmost init\n  \
        inmost --store notes.inmost ls people\n  \
        inmost call --store notes.inmost '{\"command\": \"view\", \"path\": \"/memories\"}'"
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

/// A command with its options.
#[derive(Subcommand)]
pub(crate) enum Command {
    Init(init::Init),
    Call(call::Call),
    Mcp(mcp::Mcp),
    Ls(ls::Ls),
    Cat(cat::Cat),
    Write(write::Write),
    Edit(edit::Edit),
    #[cfg(feature = "browse")]
    Browse(browse::Browse),
    #[cfg(all(feature = "mount", target_os = "linux"))]
    Mount(mount::Mount),
    #[cfg(all(feature = "mount", target_os = "linux"))]
    Unmount(mount::Unmount),
    #[cfg(all(feature = "mount", target_os = "linux"))]
    Adopt(mount::adopt::Adopt),
    Rm(rm::Rm),
    Mv(mv::Mv),
    Grep(grep::Grep),
    Search(search::Search),
    Stats(stats::Stats),
    Log(log::Log),
    Diff(diff::Diff),
    Show(show::Show),
    Restore(restore::Restore),
    Undo(undo::Undo),
    Forget(forget::Forget),
    History(history::History),
    Expire(expire::Expire),
    Import(import::Import),
    Export(export::Export),
    Status(status::Status),
    Sync(sync::Sync),
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
    Discard(discard::Discard),
    Destroy(destroy::Destroy),
    #[cfg(feature = "postgres")]
    PostgresSchema(postgres_schema::PostgresSchemaCommand),
    Completions(completions::Completions),
    Man(man::Man),
    /// Run the key daemon; `unlock` starts this in the background
    #[command(hide = true)]
    Keyd,
}

/// Parses the command line. Returns `None` after printing the help or the version, or what completes a word.
pub(crate) fn parse() -> Result<Option<Command>, Failure> {
    if completion::answer(command_line)? {
        return Ok(None);
    }
    let parsed = command_line().try_get_matches().and_then(|given| {
        hints::remember(command_line(), &given);
        Args::from_arg_matches(&given)
    });
    let error = match parsed {
        Ok(args) => return Ok(Some(args.command)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(|error| Failure::output(&error))?;
            Ok(None)
        }
        // Without a command, the list of commands is what was asked for.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let help = usage::meant(command_line(), env::args_os()).render_help();
            print(help.to_string().as_bytes())?;
            Ok(None)
        }
        _ => {
            // What can be parsed of it.
            if let Ok(given) = command_line().ignore_errors(true).try_get_matches() {
                hints::remember(command_line(), &given);
            }
            Err(usage::failure(&error, &usage::meant(command_line(), env::args_os())))
        }
    }
}

/// The description of the command line.
///
/// The options that select and open a store are options of the program as well, so that they can stand before the command.
/// clap passes the value on to the option of the same id of the command. A command that has no such option ignores it.
fn command_line() -> clap::Command {
    let store = clap::Command::new("store");
    let store = <OpenArgs as clap::Args>::augment_args(store);
    let options = store.get_arguments().cloned();
    // Hidden, because the help of each command has those that it uses.
    Args::command().args(options.map(|option| option.global(true).hide(true)))
}

/// Runs a command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Init(init) => init.run(),
        Command::Call(call) => call.run(),
        Command::Mcp(mcp) => mcp.run(),
        Command::Ls(ls) => ls.run(),
        Command::Cat(cat) => cat.run(),
        Command::Write(write) => write.run(),
        Command::Edit(edit) => edit.run(),
        #[cfg(feature = "browse")]
        Command::Browse(browse) => browse.run(),
        #[cfg(all(feature = "mount", target_os = "linux"))]
        Command::Mount(mount) => mount.run(),
        #[cfg(all(feature = "mount", target_os = "linux"))]
        Command::Unmount(unmount) => unmount.run(),
        #[cfg(all(feature = "mount", target_os = "linux"))]
        Command::Adopt(adopt) => adopt.run(),
        Command::Rm(rm) => rm.run(),
        Command::Mv(mv) => mv.run(),
        Command::Grep(grep) => grep.run(),
        Command::Search(search) => search.run(),
        Command::Stats(stats) => stats.run(),
        Command::Log(log) => log.run(),
        Command::Diff(diff) => diff.run(),
        Command::Show(show) => show.run(),
        Command::Restore(restore) => restore.run(),
        Command::Undo(undo) => undo.run(),
        Command::Forget(forget) => forget.run(),
        Command::History(history) => history.run(),
        Command::Expire(expire) => expire.run(),
        Command::Import(import) => import.run(),
        Command::Export(export) => export.run(),
        Command::Status(status) => status.run(),
        Command::Sync(sync) => sync.run(),
        Command::Unlock(unlock) => unlock.run(),
        Command::Lock(lock) => lock.run(),
        Command::Passwd(passwd) => passwd.run(),
        Command::Slot(slot) => slot.run(),
        Command::Rotate(rotate) => rotate.run(),
        Command::Check(check) => check.run(),
        Command::Repair(repair) => repair.run(),
        Command::Salvage(salvage) => salvage.run(),
        Command::Backup(backup) => backup.run(),
        Command::Purge(purge) => purge.run(),
        Command::Compact(compact) => compact.run(),
        Command::Migrate(migrate) => migrate.run(),
        Command::AcceptRollback(accept_rollback) => accept_rollback.run(),
        Command::Discard(discard) => discard.run(),
        Command::Destroy(destroy) => destroy.run(),
        #[cfg(feature = "postgres")]
        Command::PostgresSchema(schema) => schema.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(command_line()),
        Command::Keyd => keyd::run(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_no_contradiction() {
        command_line().debug_assert();
    }
}
