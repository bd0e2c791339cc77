//! `inmost repair`

use inmost::{RecoveryReport, StoreError, Vault};
use inmost_keyd::Secret;
use serde::Serialize;

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::{say, though_unread};
use crate::progress::Progress;
use crate::store::naming;
use crate::{confirm, display, json_line, recovered};

/// Rebuild a damaged store from everything that can still be read
///
/// Searches the files of the store for intact records, lists what is older or lost, and asks for confirmation. Then writes
/// what was found to new files. A file whose newest version is damaged comes back in the newest one that is not. Files
/// whose names were lost are put into /memories/lost-and-found. Of a damaged history, every version that can be read is kept.
///
/// The damaged files are kept, set aside in the folder of the store, until `inmost discard` removes them.
///
/// If a file is lost or comes back in an older version, it is unknown from then on whether this is the newest state of the store,
/// until `inmost accept-rollback`: who can damage files chooses which versions are left.
///
/// With --json the plan is one object, and what was done another: repaired, clean (whether no problem remains), newest (whether every
/// file is in its newest version), files, bytes, the lists lost, older and found, with path, what and how, and the numbers
/// `lost_versions` and `lost_texts` of the history. Of what is older, written is the time of that version in milliseconds since
/// 1970, and newer the number of newer versions that are lost; null if the history does not say so.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  inmost repair --store notes.inmost")]
pub(crate) struct Repair {
    #[command(flatten)]
    store: StoreArgs,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
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
                return self.print(&plan, false, true, "No problems found. Nothing was changed.\n");
            }
            // Whether the check had a session decides what holds the store now, and nothing may when it is opened again.
            drop(vault);
            vault = self.store.vault()?;
        }
        let files = display::count(plan.files, "file", "files");
        let bytes = display::size(plan.bytes);
        let lines = recovered::lines(&plan);
        let text = format!("{lines}Found {files} with {bytes} of text.\n");
        though_unread(self.print(&plan, false, false, &text))?;
        confirm::ask(self.yes, "Type yes to rebuild the store from them: ", "yes")?;

        let mut progress = Progress::new("bytes searched and records written");
        let report = vault.repair(secret.credential(), |done| progress.update(done))?;
        drop((progress, vault));
        let clean = is_clean(&mut self.store.vault()?, &secret)?;
        if clean {
            let files = display::count(report.files, "file", "files");
            let text = format!(
                "The store was repaired: {files}. No problems remain.\n\
                 The damaged files are set aside. When you no longer need them, run `inmost discard`.\n"
            );
            let text = if report.is_newest() { text } else { text + NOT_THE_NEWEST };
            return self.print(&report, true, clean, &text);
        }
        though_unread(self.print(&report, true, clean, ""))?;
        Err(Failure::new(
            Exit::Damaged,
            "The repaired store has problems.",
            "Run `inmost check` to list them, and `inmost salvage` to save the files.",
        ))
    }

    /// Prints the text, or the report as JSON.
    fn print(
        &self,
        report: &RecoveryReport,
        repaired: bool,
        clean: bool,
        text: &str,
    ) -> Result<(), Failure> {
        if !self.json {
            return say(text);
        }
        let RecoveryReport { lost_versions, lost_texts, .. } = *report;
        let newest = report.is_newest();
        let report = recovered::Object::of(report);
        let object = Object { repaired, clean, newest, lost_versions, lost_texts, report };
        json_line::print(&object)
    }
}

/// A stage of a repair as JSON.
#[derive(Serialize)]
struct Object<'a> {
    repaired: bool,
    clean: bool,
    newest: bool,
    lost_versions: u64,
    lost_texts: u64,
    #[serde(flatten)]
    report: recovered::Object<'a>,
}

const NOT_THE_NEWEST: &str = "This is not the newest state of the store. Check what is listed as lost or older, then run `inmost accept-rollback`.\n";

/// Whether the store opens and a check finds nothing.
fn is_clean(vault: &mut Vault, secret: &Secret) -> Result<bool, Failure> {
    let session = match vault.unlock_with(secret.credential()) {
        Ok(session) => session,
        Err(error) if is_damage(&error) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut progress = Progress::new("records read");
    let report = session.check_reporting(&mut |records| progress.update(records));
    session.lock();
    Ok(report?.problems.is_empty())
}

/// Whether a store cannot be unlocked because its records, or the engine's files, are damaged.
pub(super) fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged(_) | StoreError::Storage(_) | StoreError::Tampered { .. })
}
