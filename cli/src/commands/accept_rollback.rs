//! `inmost accept-rollback`

use inmost::StoreError;

use crate::args::StoreArgs;
use crate::confirm;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;

/// Accept a store that is older than its rollback anchor
///
/// A store that is older than its anchor does not open. This command lists the harmless causes, asks for
/// confirmation, and accepts the older state. The next commit gets a higher number than any commit seen before, so this is
/// needed only once.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost accept-rollback --store notes.inmost --anchor notes.anchor"
)]
pub(crate) struct AcceptRollback {
    #[command(flatten)]
    store: StoreArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl AcceptRollback {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut vault = self.store.vault()?;
        let secret = self.store.secret(Input::Free)?;
        let explanation = match vault.unlock_with(secret.credential()) {
            Ok(session) => {
                session.lock();
                return print(
                    b"The store is not older than its rollback anchor. Nothing was changed.\n",
                );
            }
            Err(StoreError::RolledBack { expected, found }) => explanation(expected, found),
            Err(StoreError::ForeignAnchor) => FOREIGN.to_owned(),
            Err(error) => return Err(error.into()),
        };
        print(explanation.as_bytes())?;
        confirm::ask(self.yes, "Type yes to accept the older state: ", "yes")?;
        vault.unlock_accepting_rollback(secret.credential())?.lock();
        print(b"The older state was accepted. The store opens again.\n")
    }
}

fn explanation(expected: u64, found: u64) -> String {
    // Equal numbers mean two different commits of that number: two copies of the store were changed separately.
    let difference = if expected == found {
        format!(
            "The store is at commit {found}, but the anchor recorded another commit with that number."
        )
    } else {
        format!("The store is at commit {found}, but the anchor recorded commit {expected}.")
    };
    format!(
        "{difference}\n\
         Later changes are missing from this copy. The cause is harmless if the store\n\
         - was restored from a backup;\n\
         - was changed on a second device, or in a synced folder, and this is the older copy;\n\
         - was copied while a program had it open.\n\
         Otherwise the disk lost data, or somebody replaced the store with an older copy.\n"
    )
}

const FOREIGN: &str = "The anchor file was written with other keys than this store has.\n\
    The cause is harmless if the file belongs to another store, or if `inmost rotate` was run without --anchor.\n\
    Otherwise this copy of the store is from before its keys were rotated. Anyone with the old keys can read it,\n\
    and everything that is written to it from now on.\n";
