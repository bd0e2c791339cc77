//! `inmost migrate`

use std::path::{Path, PathBuf};

use super::rewrite::rewrite;
use super::sync::is_in_circle;
use crate::args::StoreArgs;
use crate::engine::EngineName;
use crate::exit::Failure;
use crate::interrupt::DaemonWork;
use crate::output::say;
use crate::progress::Progress;
use crate::store::opening::OpenOptions;
use crate::store::{OpenStore, database, naming, place};

/// Move a store to another storage engine
///
/// Rewrites the whole store into the new engine, as `compact` does, and then removes the old one. After a crash, one of the
/// two is complete.
///
/// With --to, copies the store with its versions to a new place instead: a folder, or the URL of a vault in a database in
/// builds that have it. The copy is read back, and the old store stays.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    inmost migrate --store notes.inmost --engine redb\n  \
    inmost migrate --store 'postgres://ada@db.example/m?vault=...' --to notes.inmost")]
pub(crate) struct Migrate {
    #[command(flatten)]
    store: StoreArgs,

    /// Print one JSON object: `before_bytes` and `after_bytes` on disk, and `set_aside_bytes`
    #[arg(long)]
    json: bool,

    /// The new storage engine
    #[arg(long, value_name = "ENGINE", required_unless_present = "to", conflicts_with = "to")]
    engine: Option<EngineName>,

    /// Copy the store to this folder or URL
    #[arg(long, value_name = "DIR", conflicts_with = "json")]
    to: Option<PathBuf>,
}

impl Migrate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if let Some(to) = &self.to {
            return self.copy(to);
        }
        let Some(engine) = self.engine else {
            return Err(Failure::usage("No engine is given.", "Give --engine or --to."));
        };
        engine.check()?;
        rewrite(&self.store, self.json, "moved", |store, progress| {
            let _daemon_work = DaemonWork::begin(store);
            Ok(store.migrate(engine.engine(), progress)?)
        })
    }

    /// Copies the store, and says what is left to do.
    fn copy(&self, to: &Path) -> Result<(), Failure> {
        let url = database::url(to);
        if let Some(url) = url {
            database::check(url)?;
        } else {
            place::check_vacant(to)?;
            place::check_parent(to)?;
        }
        let store = self.store.open(&OpenOptions::default())?;
        let mut progress = Progress::new("records written, then read");
        let daemon_work = DaemonWork::begin(&store);
        if let Some(url) = url {
            copy_into_database(&store, to, url, &mut |records| progress.update(records))?;
        } else {
            let copied = store.backup_with_versions(to, |records| progress.update(records));
            copied.map_err(|error| naming::creating(to, error))?;
        }
        drop((daemon_work, progress));
        let from = self.store.place()?;
        let circle = if is_in_circle(&from) { NOT_IN_CIRCLE } else { "" };
        let (from, to) = (from.display(), to.display());
        say(&format!(
            "Copied the store to {to}, and read the copy back.\n{circle}\
                 The old store is still at {from}. Use one of the two from now on; `inmost destroy` removes it.\n"
        ))
    }
}

const NOT_IN_CIRCLE: &str = "The copy is in no circle of devices: run `inmost sync` for the old store once more, then let the copy join.\n";

#[cfg(feature = "postgres")]
fn copy_into_database(
    store: &OpenStore,
    place: &Path,
    url: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<(), Failure> {
    let OpenStore::Here(session) = store else {
        return Err(Failure::new(
            crate::exit::Exit::InUse,
            "The store is unlocked: a key daemon holds it.",
            "Lock it first, with `inmost lock`.",
        ));
    };
    let (database, id) = database::database(url)?;
    let Some(id) = id else {
        return Err(naming::at(place, inmost::StoreError::NotAStore));
    };
    let copied = session.copy_in(&database, id, progress);
    copied.map_err(|error| naming::at(place, error))
}

#[cfg(not(feature = "postgres"))]
fn copy_into_database(
    _store: &OpenStore,
    _place: &Path,
    url: &str,
    _progress: &mut dyn FnMut(u64),
) -> Result<(), Failure> {
    database::check(url)
}
