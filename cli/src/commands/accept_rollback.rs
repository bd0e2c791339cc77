//! `inmost accept-rollback`

use inmost::{AnchorStatus, StoreError, Vault};
use inmost_keyd::Secret;

use crate::args::StoreArgs;
use crate::confirm;
use crate::exit::{Exit, Failure};
use crate::output::{print, though_unread};
use crate::store::naming;

use super::slot;

/// Accept a store that is, or may be, older than it was
///
/// A store that is older than its rollback anchor does not open. If the anchor is damaged, incomplete or older, or a repair did
/// not find everything, the store opens with a warning each time. This command lists the harmless causes and the keyslots of that state, asks for confirmation,
/// and takes the state as the newest. It is needed only once.
///
/// The passphrases and keyslots of the accepted state are valid, also those that were replaced or removed after it.
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
        let (opened, secret) = self
            .store
            .attempt(&mut vault, |vault, secret| vault.unlock_with(secret.credential()))?;
        let explanation = match opened {
            Ok(session) => {
                let freshness = session.status()?.anchor;
                session.lock();
                if freshness != AnchorStatus::Unknown {
                    self.store.open.warn_of_anchor(freshness);
                    return print(
                        b"The store is not older than its rollback anchor. Nothing was changed.\n",
                    );
                }
                vault = self.store.vault()?;
                UNKNOWN.to_owned()
            }
            Err(StoreError::RolledBack { expected, found }) => explanation(expected, found),
            Err(StoreError::RecordsBehindHeader { expected, found }) => behind(expected, found),
            Err(StoreError::ForeignAnchor) => FOREIGN.to_owned(),
            Err(error) => return Err(naming::at(&self.store.place()?, error)),
        };
        though_unread(print((explanation + &keyslots(&vault, &secret)).as_bytes()))?;
        confirm::ask(self.yes, "Type yes to accept this state: ", "yes")?;
        let session = vault.unlock_accepting_rollback(secret.credential())?;
        let freshness = session.status()?.anchor;
        session.lock();
        match freshness {
            AnchorStatus::Known => print(b"The state was accepted.\n"),
            _ => Err(Failure::new(
                Exit::Io,
                "The state was accepted, but a rollback anchor could not be written.",
                "Check the file `anchor` in the folder of the store, and the file of --anchor. Then accept it again.",
            )),
        }
    }
}

/// The keyslots that are valid in the state that is to be accepted.
fn keyslots(vault: &Vault, secret: &Secret) -> String {
    let heading = "Everyone with one of these keyslots can open it:\n".to_owned();
    match vault.slots(secret.credential()) {
        Ok(slots) => slots.iter().fold(heading, |text, slot| text + "  " + &slot::line(slot)),
        Err(_) => "Its keyslots could not be listed.\n".to_owned(),
    }
}

fn behind(expected: u64, found: u64) -> String {
    format!(
        "The records name revision {found} of the header, but the header has revision {expected}.\n\
         The newest changes are missing, changes of keyslots among them. The cause is harmless if the store\n\
         was copied while a program had it open. Otherwise the disk lost data, or somebody put older records back.\n\
         The keyslots are those of the newer header: none that was removed before it becomes valid, unless that\n\
         header is from a copy of the store that was used on its own.\n"
    )
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
         Otherwise the disk lost data, or somebody replaced the store with an older copy.\n\
         {VALID_AGAIN}"
    )
}

const UNKNOWN: &str = "The rollback anchor is damaged, incomplete or older, or a repair did not find everything. So nothing shows whether this is the newest state of the store.\n\
    Changes may be missing, and a passphrase that was replaced may be valid again.\n\
    The cause is harmless if the store\n\
    - was on a disk with errors, or on one whose power was cut, and was repaired or not;\n\
    - is a copy without the file `anchor`, or one that was made while a program had it open.\n\
    Otherwise somebody may have put older records back. Look at the newest entries before you accept.\n";

const VALID_AGAIN: &str = "The passphrases and keyslots of that time are valid again, also those that were replaced or removed since.\n";

const FOREIGN: &str = "The anchor file was written with other keys than this store has.\n\
    The cause is harmless if the file belongs to another store, or if `inmost rotate` was run without --anchor.\n\
    Otherwise this copy of the store is from before its keys were rotated. Anyone with the old keys can read it,\n\
    and everything that is written to it from now on. The passphrases and keyslots of that time are valid again.\n";
