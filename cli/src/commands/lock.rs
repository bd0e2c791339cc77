//! `inmost lock`

use crate::agent;
use crate::args::PlaceArgs;
use crate::exit::Failure;
use crate::output::print;

/// Lock a store that `inmost unlock` has unlocked
///
/// Calls under way are finished first, for ten seconds at most. When this ends, the process that had the keys is gone.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost lock --store notes.inmost")]
pub(crate) struct Lock {
    #[command(flatten)]
    place: PlaceArgs,
}

impl Lock {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let place = self.place.place()?;
        if !place.exists() {
            return Err(inmost::StoreError::NotAStore.into());
        }
        print(if agent::lock(&place)? {
            b"Locked; the process that had the keys is gone.\n"
        } else {
            b"It was not unlocked.\n"
        })
    }
}
