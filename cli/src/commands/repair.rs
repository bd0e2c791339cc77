//! `inmost repair`

use inmost::CheckReport;

use super::check;
use crate::args::StoreArgs;
use crate::confirm;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::Progress;
use crate::store::OpenStore;
use crate::store::opening::OpenOptions;

/// Drop the damaged files and folders of a store
///
/// Checks the store, lists the problems, and asks for confirmation. Then rewrites the store without the files that lost
/// a part of their text and the folders that cannot be read. Everything else is kept.
///
/// The damaged records are set aside in the folder of the store, until `inmost discard` removes them.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost repair --store notes.inmost")]
pub(crate) struct Repair {
    #[command(flatten)]
    store: StoreArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

impl Repair {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let options = OpenOptions { hint_compaction: false, ..OpenOptions::default() };
        let store = self.store.open(&options)?;
        let report = check_store(&store)?;
        if report.problems.is_empty() {
            return print(b"No problems found. Nothing was changed.\n");
        }
        let problems = check::problem_lines(&report);
        print(format!("{problems}The unreadable files and folders will be dropped.\n").as_bytes())?;
        confirm::ask(self.yes, "Type yes to drop them: ", "yes")?;

        let mut progress = Progress::new("records written");
        let dropped = store.repair(|records| progress.update(records))?;
        drop(progress);
        print(check::dropped_lines(&dropped).as_bytes())?;
        let remaining = check_store(&store)?;
        if remaining.problems.is_empty() {
            return print(
                b"The store was repaired. No problems remain.\n\
                The damaged records were set aside. `inmost discard` removes them when you no longer need them.\n",
            );
        }
        print(check::problem_lines(&remaining).as_bytes())?;
        Err(check::damaged(&remaining))
    }
}

fn check_store(store: &OpenStore) -> Result<CheckReport, Failure> {
    let mut progress = Progress::new("records read");
    Ok(store.check(|records| progress.update(records))?)
}
