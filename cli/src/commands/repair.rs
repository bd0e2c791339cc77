//! `inmost repair`

use super::check;
use crate::args::StoreArgs;
use crate::confirm;
use crate::exit::Failure;
use crate::output::print;
use crate::passphrase::Input;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::store::facts::Report;

/// Drop what is damaged from a store
///
/// Checks the store, lists what is wrong, and asks. Then the store is written anew without what cannot be read:
/// a file that lost a part of its text, a folder that cannot be read. Everything else is kept.
///
/// What is dropped is gone. Copy the folder of the store first if anything in it may still be of use.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost repair --store notes.inmost")]
pub(crate) struct Repair {
    #[command(flatten)]
    store: StoreArgs,

    /// Do it without being asked
    #[arg(long)]
    yes: bool,
}

impl Repair {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.store.with_store_as_it_is(Input::Free, |store| self.repair(store))
    }

    fn repair(&self, store: &OpenStore) -> Result<(), Failure> {
        let report = examine(store)?;
        if report.is_clean() {
            return print(b"Nothing is wrong, so nothing was done.\n");
        }
        let found = check::lines(&report);
        print(format!("{found}What cannot be read of this would be dropped.\n").as_bytes())?;
        confirm::ask(self.yes, "Type yes to drop it: ", "yes")?;

        let mut progress = Progress::new("records written");
        let dropped = store.repair(|records| progress.update(records))?;
        drop(progress);
        print(check::dropped(&dropped).as_bytes())?;
        let left = examine(store)?;
        if left.is_clean() {
            return print(b"The store was repaired; nothing is wrong with it now.\n");
        }
        print(check::lines(&left).as_bytes())?;
        Err(check::wrong(&left))
    }
}

fn examine(store: &OpenStore) -> Result<Report, Failure> {
    let mut progress = Progress::new("records read");
    store.check(|records| progress.update(records))
}
