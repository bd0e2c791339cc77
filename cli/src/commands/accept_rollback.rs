//! `inmost accept-rollback`

use inmost::StoreError;

use crate::args::StoreArgs;
use crate::confirm;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;

/// Go on with a store that is older than what was seen of it
///
/// A store whose records are older than its anchor does not open. This explains the harmless causes, asks, and
/// goes on from the older state. Needed once: the next commit gets a number above everything that was seen.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  inmost accept-rollback --store notes.inmost --anchor notes.anchor"
)]
pub(crate) struct AcceptRollback {
    #[command(flatten)]
    store: StoreArgs,

    /// Do it without being asked
    #[arg(long)]
    yes: bool,
}

impl AcceptRollback {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let (vault, secret) = self.store.open(Input::Free)?;
        let explanation = match vault.unlock_with(secret.credential()) {
            Ok(session) => {
                session.lock();
                let text = b"The store is not older than what was seen of it: nothing to accept.\n";
                return print(text);
            }
            Err(StoreError::RolledBack { expected, found }) => explanation(expected, found),
            Err(StoreError::ForeignAnchor) => FOREIGN.to_owned(),
            Err(error) => return Err(error.into()),
        };
        print(explanation.as_bytes())?;
        confirm::ask(self.yes, "Type yes to go on with the older state: ", "yes")?;
        self.store.vault()?.unlock_accepting_rollback(secret.credential())?.lock();
        print(b"The store is accepted as it is, and opens again.\n")
    }
}

fn explanation(expected: u64, found: u64) -> String {
    // With equal numbers it is another commit of that number: two copies went on separately.
    let difference = if expected == found {
        format!(
            "The store is at commit {found}, but another commit of that number was seen before."
        )
    } else {
        format!("The store is at commit {found}, and commit {expected} was seen before.")
    };
    format!(
        "{difference}\n\
         This is harmless, and what came after is lost or elsewhere, if the store\n\
         - is a restored backup, or a folder that was put back from one;\n\
         - was changed on a second device, or by way of a synced folder, and this is the older of the two;\n\
         - is a plain copy that was made while a program had it open.\n\
         If it is none of these, the disk lost data, or somebody put an older state in place.\n"
    )
}

const FOREIGN: &str = "The file given as anchor was written with other keys than the store has.\n\
    This is harmless if it is the anchor of another store, or if `inmost rotate` was run without it.\n\
    If it is neither, the store is from before its keys were rotated: whoever they were changed for can read it,\n\
    and all that is written to it from now on.\n";
