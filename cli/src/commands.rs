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

/// Makes the enumeration of the commands with their options, and the function that runs one.
macro_rules! commands {
    ($($(#[$condition:meta])? $name:ident($($options:ident)::+),)+) => {
        /// A command with its options.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($(#[$condition])? $name($($options)::+),)+
            Man(man::Man),
            /// Run the key daemon; `unlock` starts this in the background
            #[command(hide = true)]
            Keyd,
        }

        /// Runs a command.
        pub(crate) fn run(command: &Command) -> Result<(), Failure> {
            match command {
                $($(#[$condition])? Command::$name(command) => command.run(),)+
                Command::Man(man) => man.run(command_line()),
                Command::Keyd => keyd::run(),
            }
        }
    };
}

commands! {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_no_contradiction() {
        command_line().debug_assert();
    }
}
