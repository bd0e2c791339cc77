//! `inmost repair`

use inmost::{RecoveryReport, StoreError, StoreProblem, Vault};
use inmost_agent::Secret;

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::progress::Progress;
use crate::store::naming;
use crate::{confirm, display};

/// Rebuild a damaged store from everything that can still be read
///
/// Searches the files of the store for intact records, lists what is older or lost, and asks for confirmation. Then writes
/// what was found to new files. A file whose newest version is damaged comes back in the newest one that is not. Files
/// whose names were lost are put into /memories/lost-and-found.
///
/// The damaged files are kept, set aside in the folder of the store, until `inmost discard` removes them.
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
        let place = self.store.place()?;
        let mut vault = self.store.vault()?;
        let (plan, secret) = self.store.attempt(&mut vault, |vault, secret| {
            let mut progress = Progress::new("bytes searched");
            vault.plan_repair(secret.credential(), |bytes| progress.update(bytes))
        })?;
        let plan = plan.map_err(|error| naming::at(&place, error))?;
        if plan.is_complete() {
            if is_clean(&mut vault, &secret)? {
                return print(b"No problems found. Nothing was changed.\n");
            }
            // The session of the check held the store.
            vault = self.store.vault()?;
        }
        print(lines_of(&plan).as_bytes())?;
        let files = display::count(plan.files, "file", "files");
        print(format!("Found {files} with {} of text.\n", display::size(plan.bytes)).as_bytes())?;
        confirm::ask(self.yes, "Type yes to rebuild the store from them: ", "yes")?;

        let mut progress = Progress::new("bytes searched and records written");
        let report = vault.repair(secret.credential(), |done| progress.update(done))?;
        drop((progress, vault));
        if is_clean(&mut self.store.vault()?, &secret)? {
            let files = display::count(report.files, "file", "files");
            let text = format!(
                "The store was repaired: {files}. No problems remain.\n\
                 The damaged files are set aside. When you no longer need them, run `inmost discard`.\n"
            );
            return print(text.as_bytes());
        }
        Err(Failure::new(
            Exit::Damaged,
            "The repaired store has problems.",
            "Run `inmost check` to list them, and `inmost salvage` to save the files.",
        ))
    }
}

/// Whether the store opens and a check finds nothing.
fn is_clean(vault: &mut Vault, secret: &Secret) -> Result<bool, Failure> {
    let session = match vault.unlock_with(secret.credential()) {
        Ok(session) => session,
        Err(error) if is_damage(&error) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut progress = Progress::new("records read");
    let report = session.with_progress(|records| progress.update(records)).check();
    session.lock();
    Ok(report?.problems.is_empty())
}

/// Whether a store cannot be unlocked because its records, or the engine's files, are damaged.
pub(super) fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged(_) | StoreError::Storage(_) | StoreError::Tampered { .. })
}

/// One line for each item of a recovery that is not simply there.
pub(super) fn lines_of(report: &RecoveryReport) -> String {
    let line = |kind: &str, problem: &StoreProblem| {
        let path = display::path_of(&problem.names);
        format!("{kind} {path}: {} {}\n", problem.what, problem.how)
    };
    let lost = report.lost.iter().map(|problem| line("lost", problem));
    let older = report.older.iter().map(|problem| line("older", problem));
    let found = report.found.iter().map(|problem| line("found", problem));
    let lines: String = lost.chain(older).chain(found).collect();
    lines + &display::unlisted(report.unlisted)
}
