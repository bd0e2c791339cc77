//! The commands, one file each: what can be said on the command line, and what is then done.

pub(crate) mod accept_rollback;
pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod destroy;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod grep;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod migrate;
pub(crate) mod mv;
pub(crate) mod passwd;
pub(crate) mod purge;
pub(crate) mod repair;
pub(crate) mod rm;
pub(crate) mod rotate;
pub(crate) mod salvage;
pub(crate) mod slot;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod unlock;
pub(crate) mod write;

use crate::agent;
use crate::args::{Command, StoreArgs};
use crate::exit::Failure;
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::streams;

/// Carries out a command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Init(init) => init.run(),
        Command::Call(call) => call.run(),
        Command::Mcp(mcp) => mcp.run(),
        Command::Ls(ls) => ls.run(),
        Command::Cat(cat) => cat.run(),
        Command::Write(write) => write.run(),
        Command::Edit(edit) => edit.run(),
        Command::Rm(rm) => rm.run(),
        Command::Mv(mv) => mv.run(),
        Command::Grep(grep) => grep.run(),
        Command::Stats(stats) => stats.run(),
        Command::Import(import) => import.run(),
        Command::Export(export) => export.run(),
        Command::Status(status) => status.run(),
        Command::Unlock(unlock) => unlock.run(),
        Command::Lock(lock) => lock.run(),
        Command::Agent => agent::run(),
        Command::Check(check) => check.run(),
        Command::Repair(repair) => repair.run(),
        Command::Salvage(salvage) => salvage.run(),
        Command::Backup(backup) => backup.run(),
        Command::Purge(purge) => purge.run(),
        Command::Compact(compact) => compact.run(),
        Command::Migrate(migrate) => migrate.run(),
        Command::AcceptRollback(accept_rollback) => accept_rollback.run(),
        Command::Destroy(destroy) => destroy.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
        Command::Passwd(passwd) => passwd.run(),
        Command::Slot(slot) => slot.run(),
        Command::Rotate(rotate) => rotate.run(),
    }
}

/// Writes a store anew in one of the ways that there are, and says what that did to its size.
fn rewrite(
    args: &StoreArgs,
    verb: &str,
    work: impl FnOnce(&OpenStore, &mut dyn FnMut(u64)) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (before, after) = args.with_store_as_it_is(Input::Free, |store| {
        let before = store.status()?.disk_bytes;
        let mut progress = Progress::new("records written");
        work(store, &mut |records| progress.tell(records))?;
        Ok((before, store.status()?.disk_bytes))
    })?;
    print(format!("The store was {verb}: {before} bytes before, {after} now.\n").as_bytes())
}

/// Writes to standard output.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failure> {
    use std::io::Write;
    let print = || {
        let mut output = streams::output()?;
        output.write_all(bytes)?;
        output.flush()
    };
    print().map_err(|error| Failure::output(&error))
}
