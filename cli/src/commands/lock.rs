//! `inmost lock`

use crate::args::PlaceArgs;
use crate::display;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::store::database;

/// Lock a store that `inmost unlock` has unlocked
///
/// Running calls may finish first, for at most ten seconds. When this command succeeds, the key daemon process has ended. A
/// daemon that does not respond, such as a stopped process, is named after ten seconds, with exit code 13.
/// --all finds the daemons of this user wherever they were started; on Linux also those whose socket was removed.
/// Programs that were given a passphrase, such as an MCP server, can still open the store themselves.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  inmost lock --store notes.inmost\n  inmost lock --all")]
pub(crate) struct Lock {
    #[command(flatten)]
    place: PlaceArgs,

    /// Lock every store that this user has unlocked
    #[arg(long)]
    all: bool,
}

impl Lock {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.all {
            let number = u64::try_from(inmost_keyd::lock_all()?).unwrap_or(u64::MAX);
            let stores = display::count(number, "store", "stores");
            return print(format!("Locked {stores}.\n").as_bytes());
        }
        let place = self.place.place()?;
        // Its folder may be gone, as on a stick that was pulled, and the keys still in memory.
        if inmost_keyd::lock(&place)? {
            return print(b"Locked. The key daemon has ended.\n");
        }
        let shown = display::path(&place.display().to_string());
        if database::url(&place).is_none() && !place.exists() {
            return Err(Failure::new(
                Exit::NotAStore,
                format!("There is no store at {shown}."),
                "Check the path. `inmost lock --all` locks every store, also one whose disk is gone.",
            ));
        }
        print(format!("The store {shown} was not unlocked.\n").as_bytes())
    }
}
