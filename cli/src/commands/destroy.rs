//! `inmost destroy`

use inmost::{StoreError, Vault};

use crate::args::PlaceArgs;
use crate::confirm;
use crate::exit::{Exit, Failure};
use crate::output::print;

/// Remove a store for good
///
/// Overwrites both copies of its header, without which nothing can be decrypted, and then removes it. Asks for
/// the name of its folder first, and for no passphrase. Backups and anchors elsewhere stay as they are.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost destroy --store notes.inmost")]
pub(crate) struct Destroy {
    #[command(flatten)]
    place: PlaceArgs,

    /// Do it without being asked
    #[arg(long)]
    yes: bool,
}

impl Destroy {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let place = self.place.place()?;
        match Vault::open(&place) {
            // Whoever cannot take hold of it hears so before they are asked.
            Err(StoreError::InUse(process)) => {
                return Err(self.place.in_use(process));
            }
            Err(error @ (StoreError::NotAStore | StoreError::OddFile(_) | StoreError::Io(_))) => {
                return Err(error.into());
            }
            // A store can be damaged and be destroyed all the same.
            opened => drop(opened),
        }
        let name = place
            .canonicalize()
            .ok()
            .and_then(|place| Some(place.file_name()?.to_string_lossy().into_owned()));
        let name = name.ok_or_else(|| {
            Failure::new(Exit::Other, "The folder of the store has no name.", "Nothing was done.")
        })?;
        let question = format!(
            "This destroys everything in {}, and nothing can bring it back.\n\
             Type the name of the folder, {name}, to do it: ",
            place.display()
        );
        confirm::ask(self.yes, &question, &name)?;
        Vault::destroy(&place).map_err(left_over)?;
        let rest = if place.exists() { "\nOther files in its folder were left there." } else { "" };
        print(format!("Destroyed the store at {}{rest}\n", place.display()).as_bytes())
    }
}

/// What to say of a store that is not quite gone.
fn left_over(error: StoreError) -> Failure {
    let untouched = matches!(error, StoreError::NotAStore | StoreError::InUse(_));
    match Failure::from(error) {
        Failure::Error { exit, message, .. } if !untouched => Failure::new(
            exit,
            message,
            "Everything else of the store was overwritten and removed; see what is left, and remove it yourself.",
        ),
        failure => failure,
    }
}
