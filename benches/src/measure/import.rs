//! Measures the import of a folder of plain files, and restic's backup of the same folder.
//!
//! Key derivation is excluded from both. inmost unlocks with a recovery key, which needs none. restic has no
//! such key, so the time of `restic cat masterkey`, which does little else, is subtracted.

use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inmost::{NewSlot, RecoveryKey, StorageEngine};

use super::copies;
use crate::results::Row;
use crate::store;
use crate::trace::text_of;

/// The length of a file in bytes.
const LENGTH: usize = 2 << 10;

/// Imports this many files of 2 KiB into a new store, and has restic (if a program is given) back them up to a
/// new local repository. The two take turns.
///
/// # Errors
/// The errors of the programs.
pub fn run(
    program: &Path,
    restic: Option<&Path>,
    work: &Path,
    files: usize,
    rounds: usize,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let plain = work.join("plain");
    write_files(&plain, files)?;
    let mut imports = Vec::new();
    let (mut backups, mut wholes, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let place = work.join(format!("import-{round}"));
        fs::create_dir(&place)?;
        for turn in 0..2 {
            // The order changes from round to round.
            if (turn + round) % 2 == 0 {
                imports.push(import(program, &place, &plain)?);
            } else if let Some(restic) = restic {
                let (key, whole) = backup(restic, &place, &plain)?;
                backups.push(whole.saturating_sub(key));
                wholes.push(whole);
                keys.push(key);
            }
        }
        fs::remove_dir_all(&place)?;
    }
    fs::remove_dir_all(&plain)?;
    let row = |name: &str, times: &[Duration]| Row::of_times(format!("import/{name}"), times);
    let mut rows = vec![row("inmost", &imports)];
    if restic.is_some() {
        rows.extend([row("restic", &backups), row("restic-whole", &wholes)]);
        rows.push(row("restic-key", &keys));
    }
    Ok(rows)
}

/// Every file differs from every other, so that restic has no copies to find.
fn write_files(plain: &Path, files: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..files {
        let folder = plain.join(format!("project-{:02}", number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&folder)?;
        }
        let mut text = text_of(LENGTH, 10_000 + number as u64);
        text.truncate(LENGTH);
        fs::write(folder.join(format!("note-{:02}.md", number % 100)), text)?;
    }
    Ok(())
}

fn import(program: &Path, place: &Path, plain: &Path) -> Result<Duration, Box<dyn Error>> {
    let (path, key_file) = (place.join("store"), place.join("recovery-key"));
    let session = store::create(&path, StorageEngine::Sled)?;
    let key = RecoveryKey::generate()?;
    session.add_slot(&NewSlot::new(&key))?;
    session.lock();
    drop(session);
    fs::write(&key_file, key.to_text().expose())?;
    fs::set_permissions(&key_file, Permissions::from_mode(0o600))?;
    let mut command = Command::new(program);
    command.arg("import").arg("--store").arg(&path).arg("--recovery");
    command.arg("--passphrase-file").arg(&key_file).arg(plain);
    command.env_remove("INMOST_ANCHOR").env_remove("INMOST_PASSPHRASE");
    timed(&mut command)
}

/// Returns the time of deriving the key, and that of the backup, which includes it.
fn backup(
    restic: &Path,
    place: &Path,
    plain: &Path,
) -> Result<(Duration, Duration), Box<dyn Error>> {
    let run = |args: &[&str], folder: Option<&Path>| {
        let mut command = Command::new(restic);
        command.arg("--quiet").arg("--repo").arg(place.join("repository"));
        command.arg("--cache-dir").arg(place.join("cache")).args(args).args(folder);
        command.env("RESTIC_PASSWORD", store::PASSPHRASE);
        timed(&mut command)
    };
    run(&["init"], None)?;
    let key = run(&["cat", "masterkey"], None)?;
    Ok((key, run(&["backup"], Some(plain))?))
}

fn timed(command: &mut Command) -> Result<Duration, Box<dyn Error>> {
    copies::settle()?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?}: {status}").into()) }
}
