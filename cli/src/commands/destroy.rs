//! `inmost destroy`

use inmost::{StoreError, Vault};

use crate::args::PlaceArgs;
use crate::confirm;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::store::naming;
use crate::store::opening::in_use;

/// Destroy a store permanently
///
/// Overwrites both copies of the header, without which nothing can be decrypted, and then removes the store. Asks for
/// the name of the store's folder, but for no passphrase. Backups and rollback anchors outside the folder are not changed.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost destroy --store notes.inmost")]
pub(crate) struct Destroy {
    #[command(flatten)]
    place: PlaceArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl Destroy {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let place = self.place.place()?;
        #[cfg(feature = "postgres")]
        if let Some(url) = crate::store::database::url(&place) {
            return self.destroy_in_database(&place, url);
        }
        match Vault::open(&place) {
            // Reported before the question.
            Err(StoreError::InUse(process)) => return Err(in_use(&place, process)),
            Err(
                error @ (StoreError::NotAStore
                | StoreError::OtherOwner { .. }
                | StoreError::UntrustedFile(_)
                | StoreError::Io(_)),
            ) => {
                return Err(naming::at(&place, error));
            }
            // A damaged store can be destroyed as well.
            opened => drop(opened),
        }
        let name = place
            .canonicalize()
            .ok()
            .and_then(|place| Some(place.file_name()?.to_string_lossy().into_owned()));
        let name = name.ok_or_else(|| {
            Failure::new(
                Exit::Other,
                format!("The folder {} has no name to confirm with.", place.display()),
                "Nothing was changed. Give its path with --store.",
            )
        })?;
        let question = format!(
            "This destroys everything in {}. It cannot be undone.\n\
             Type the name of the folder, {name}, to destroy it: ",
            place.display()
        );
        confirm::ask(self.yes, &question, &name)?;
        Vault::destroy(&place).map_err(incomplete)?;
        let rest =
            if place.exists() { "\nOther files in its folder were not removed." } else { "" };
        print(format!("Destroyed the store at {}{rest}\n", place.display()).as_bytes())
    }
}

#[cfg(feature = "postgres")]
impl Destroy {
    fn destroy_in_database(&self, place: &std::path::Path, url: &str) -> Result<(), Failure> {
        let (database, id) = crate::store::database::database(url)?;
        let Some(id) = id else { return Err(naming::at(place, StoreError::NotAStore)) };
        let name = id.to_string();
        let question = format!(
            "This destroys everything in {}. It cannot be undone.\n\
             Type the id of the vault, {name}, to destroy it: ",
            place.display()
        );
        confirm::ask(self.yes, &question, &name)?;
        database.destroy(id).map_err(|error| naming::at(place, error))?;
        let text = format!(
            "Destroyed the store at {}\n\
             The server's log, its standbys and its backups may still have the encrypted records and the header.\n",
            place.display()
        );
        print(text.as_bytes())
    }
}

/// The failure of a destruction that began but could not remove every file.
fn incomplete(error: StoreError) -> Failure {
    let is_untouched = matches!(
        error,
        StoreError::NotAStore | StoreError::InUse(_) | StoreError::OtherOwner { .. }
    );
    match Failure::from(error) {
        Failure::Error { exit, message, .. } if !is_untouched => Failure::new(
            exit,
            message,
            "All other files of the store were overwritten and removed. Remove the remaining files yourself.",
        ),
        failure => failure,
    }
}
