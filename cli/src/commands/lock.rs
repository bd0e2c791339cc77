//! `inmost lock`

use inmost::StoreError;

use crate::args::PlaceArgs;
use crate::exit::Failure;
use crate::output::print;
use crate::store::naming;

/// Lock a store that `inmost unlock` has unlocked
///
/// Running calls may finish first, for at most ten seconds. When this command returns, the key agent process has ended.
/// Programs that were given a passphrase, such as an MCP server, can still open the store themselves.
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
            return Err(naming::at(&place, StoreError::NotAStore));
        }
        print(if inmost_agent::lock(&place)? {
            b"Locked. The key agent has ended.
"
        } else {
            b"The store was not unlocked.
"
        })
    }
}
