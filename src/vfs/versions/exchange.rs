//! Makes steps of an undo together: files that stand in each other's places change them in one atomic step.

use inmost_format::record::load_folder;
use inmost_format::record::node::{Entry, What};

use super::entries::Past;
use super::find::{Place, locate, now_of, read};
use super::info::UndoStep;
use super::restore::Plan;
use crate::session::{Session, Txn};
use crate::vfs::arrange;
use crate::vfs::change::{check_file_bytes, check_store_bytes};
use crate::vfs::error::FileError;
use crate::vfs::folder::{self, ResolvedPath, Target};
use crate::vfs::path::MemoryPath;

/// Makes steps of an undo that only together find their places free. Returns the number of each change.
///
/// # Errors
/// Those of [`HistoryStore::revert_together`](crate::HistoryStore::revert_together).
pub(crate) fn revert_together(
    session: &Session,
    steps: &[UndoStep],
) -> Result<Vec<u64>, FileError> {
    session.undisturbed(|exclusive| {
        let moves = exclusive.commit(|txn| {
            let moves = steps.iter().map(|step| Move::of(txn, step));
            let moves = moves.collect::<Result<Vec<_>, _>>()?;
            check_texts(txn, &moves)?;
            Ok::<_, FileError>(moves)
        })?;
        // The first call takes everything out of its place, each later one puts one of them back.
        let mut taken = Vec::new();
        let numbers = exclusive.commit_each(moves.len().saturating_add(1), |call, txn| {
            let Some((index, moving)) =
                call.checked_sub(1).and_then(|index| Some((index, moves.get(index)?)))
            else {
                taken = take_out(txn, &moves)?;
                return Ok(0);
            };
            put_in(txn, moving, taken.get(index).ok_or(FileError::Changed(None))?)
        })?;
        let mut numbers: Vec<u64> = numbers.into_iter().skip(1).collect();
        // No other writer comes in between. A crash leaves the files in their places, with the newer texts.
        for ((moved, number), step) in moves.iter().zip(&mut numbers).zip(steps) {
            if moved.text.is_none() {
                continue;
            }
            let mut newest = step.newest.clone();
            newest.number = *number;
            let step = UndoStep::new(newest, step.to, step.path.clone());
            let plan = exclusive.commit(|txn| Plan::revert(txn, &step))?;
            *number = plan.make(exclusive)?;
        }
        Ok(numbers)
    })
}

/// One file that changes its place.
struct Move {
    from: MemoryPath,
    to: MemoryPath,
    file: u64,
    /// If its text goes back too: the bytes of the present text, and of that one.
    text: Option<(u64, u64)>,
}

impl Move {
    fn of(txn: &Txn<'_>, step: &UndoStep) -> Result<Self, FileError> {
        let (root, from) = (txn.root()?, txn.versions_from()?);
        let number = step.newest.number;
        let past = Past::open(txn, &root, from)?.ok_or(FileError::NoSuchVersion(number))?;
        let entry = past.entry(number)?.ok_or(FileError::NoSuchVersion(number))?;
        let path = step.path.as_ref().ok_or(FileError::AlreadyExists)?;
        let to = MemoryPath::parse(path.as_str())?;
        if entry.file == 0 {
            return Err(FileError::AlreadyExists);
        }
        let now = now_of(txn, entry.file, number)?;
        if now.newest.number != number || now.is_inside {
            return Err(FileError::Changed(None));
        }
        let from = now.path.ok_or(FileError::Changed(None))?;
        // A file that is to be deleted needs no place.
        let text = step.to.ok_or(FileError::AlreadyExists)?;
        let place = locate(&past, text)?.place;
        let text = if matches!(place, Place::Current(_)) {
            None
        } else {
            // A text that is gone or damaged is noticed before anything moves.
            let text = read(&past, text, &place)?;
            let target = ResolvedPath::new(txn, &root, &from)?.target;
            let (_, present) = target.file().ok_or(FileError::Changed(None))?;
            Some((present.bytes, u64::try_from(text.len()).unwrap_or(u64::MAX)))
        };
        Ok(Self { from, to, file: entry.file, text })
    }
}

/// Checks that the texts have room, one after the other, before anything moves.
fn check_texts(txn: &Txn<'_>, moves: &[Move]) -> Result<(), FileError> {
    let (root, quotas) = (txn.root()?, txn.quotas());
    let mut total = load_folder(txn, root.tree.id, &root.tree.tag)?.totals.bytes;
    for (present, then) in moves.iter().filter_map(|moving| moving.text) {
        check_file_bytes(&quotas, present, then)?;
        check_store_bytes(&quotas, total, present, then)?;
        total = total.saturating_sub(present).saturating_add(then);
    }
    Ok(())
}

/// Takes the files out of the tree. Returns their entries.
fn take_out(txn: &mut Txn<'_>, moves: &[Move]) -> Result<Vec<Entry>, FileError> {
    let mut taken = Vec::with_capacity(moves.len());
    for Move { from, file, .. } in moves {
        let resolved = ResolvedPath::new(txn, &txn.root()?, from)?;
        let Target::Entry(entry @ Entry { what: What::File(info), .. }) = &resolved.target else {
            return Err(FileError::Changed(None));
        };
        if info.number != *file {
            return Err(FileError::Changed(None));
        }
        folder::remove(txn, from, &resolved)?;
        taken.push(entry.clone());
    }
    Ok(taken)
}

/// Puts one of them into its place, which must be free by now.
fn put_in(txn: &mut Txn<'_>, moving: &Move, entry: &Entry) -> Result<u64, FileError> {
    let Move { from, to, .. } = moving;
    let resolved = ResolvedPath::new(txn, &txn.root()?, to)?;
    resolved.replaced(to, |_| false)?;
    arrange::put_moved(txn, entry, (from, to), &resolved, |_| Ok(()))
}
