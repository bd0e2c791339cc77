//! `inmost lock`

use inmost::{StoreError, Vault};

use crate::args::PlaceArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;

/// Lock a store that `inmost unlock` has unlocked
///
/// Running calls may finish first, for at most ten seconds. When this command returns, the key agent process has ended.
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
            return Err(StoreError::NotAStore.into());
        }
        if inmost_agent::lock(&place)? {
            return print(b"Locked. The key agent has ended.\n");
        }
        // An agent may run and not be reachable: the store was moved, or its sockets are in another folder. Then the
        // keys are still in memory, and this command must not claim otherwise.
        match Vault::open(&place) {
            Err(StoreError::InUse(process)) => Err(not_reachable(process)),
            _ => print(b"The store was not unlocked.\n"),
        }
    }
}

fn not_reachable(process: Option<u32>) -> Failure {
    let process = process.map_or("Another process".to_owned(), |id| format!("Process {id}"));
    Failure::new(
        Exit::InUse,
        format!("{process} holds the store, and no key agent of it can be reached."),
        "If that process is a key agent, use its XDG_RUNTIME_DIR and the path with which the store was unlocked, or end \
         it with SIGTERM. Otherwise wait for it.",
    )
}
