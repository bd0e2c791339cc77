//! Writes that are too long for one durable step.
//!
//! The text is written step by step under a new object in the system folder. The last, small step moves it to its path.
//! Until then it is not visible; after a crash it is reaped. An edit that moves much text does the same with the whole
//! new text of the file.

use inmost_format::secret::{self, Wiped};

use super::change::{self, Plan, check_quotas, new_info, set_entry, target};
use super::error::FileError;
use super::folder;
use super::new_text::NewText;
use super::path::MemoryPath;
use crate::limits::STAGE_STEP_BYTES;
use crate::session::{Exclusive, Session, StoreError, Txn, now, reap};
use inmost_format::record::history::Operation;
use inmost_format::record::node::{Entry, File, FileInfo, Name, What, Writer};
use inmost_format::record::tree::Owner;
use inmost_format::record::{NodeSink, ObjectId, RecordId, Tag, load_file, read_text, rope};

/// Writes a long file. Returns the number of the change; `None` if nothing changed.
///
/// # Errors
/// Those of [`NewText::place`].
pub(super) fn write(session: &Session, new: &NewText<'_>) -> Result<Option<u64>, FileError> {
    session.exclusive(|exclusive| {
        let Some((_, before)) = exclusive.commit(|txn| new.place(txn))? else { return Ok(None) };
        let info = new.info(before.as_ref());
        let (id, staged_name) = stage(exclusive, new.text, info)?;
        exclusive.commit(|txn| {
            // Another host may have changed the path between two steps. What is staged is reaped if it is of no use.
            let Some((_, before)) = new.place(txn)? else { return Ok(None) };
            let info = new.info(before.as_ref());
            let (staged, _) = finish(txn, id, &staged_name)?;
            // The earlier steps have committed, so the folders on the path have new tags.
            let (resolved, _) = target(txn, new.path, true)?;
            new.put(txn, &resolved, (id, staged.tag), info, before).map(Some)
        })
    })
}

/// Makes a planned change by writing the whole new text of the file under a new object.
pub(super) fn edit<T>(
    session: &Session,
    path: &MemoryPath,
    plan: impl Fn(&Txn<'_>) -> Result<Plan, FileError>,
    reply: impl Fn(&Txn<'_>, &Plan, &FileInfo, &File) -> Result<T, FileError>,
) -> Result<T, FileError> {
    for _ in 0..EDITS {
        if let Some(reply) = edit_once(session, path, &plan, &reply)? {
            return Ok(reply);
        }
    }
    Err(StoreError::Unavailable(CHANGING.to_owned()).into())
}

/// Makes the change, unless another host changes the file meanwhile; then returns `None`.
fn edit_once<T>(
    session: &Session,
    path: &MemoryPath,
    plan: &impl Fn(&Txn<'_>) -> Result<Plan, FileError>,
    reply: &impl Fn(&Txn<'_>, &Plan, &FileInfo, &File) -> Result<T, FileError>,
) -> Result<Option<T>, FileError> {
    let planned = plan;
    session.exclusive(|exclusive| {
        let (mut plan, text) = exclusive.commit(|txn| {
            let plan = planned(txn)?;
            check_quotas(txn, &plan.resolved, Some(&plan.info), plan.bytes_after())?;
            let text = changed(&read_text(txn, plan.entry.id, &plan.head.body)?, &plan)?;
            Ok::<_, FileError>((plan, text))
        })?;
        let before = (plan.entry.clone(), plan.info);
        let info = new_info(&text, Some(&before));
        let (id, staged_name) = stage(exclusive, &text, info)?;
        let edited = (plan.entry.id, plan.entry.tag);
        plan.entry.id = id;
        exclusive.commit(|txn| {
            let now = planned(txn)?;
            if (now.entry.id, now.entry.tag) != edited {
                return Ok(None);
            }
            let (staged, head) = finish(txn, id, &staged_name)?;
            let (resolved, _) = target(txn, path, true)?;
            let (object, before) = ((id, staged.tag), Some(before.clone()));
            set_entry(txn, (path, &resolved), object, info, before, Operation::Modified)?;
            reply(txn, &plan, &info, &head).map(Some)
        })
    })
}

/// Writes the records of a file in steps, under an entry of the system folder. Returns the new object and the name of
/// that entry.
pub(super) fn stage(
    exclusive: &mut Exclusive<'_>,
    text: &str,
    info: FileInfo,
) -> Result<(ObjectId, Name), FileError> {
    let id = folder::fresh_id()?;
    exclusive.stage(id);
    let (step, mut rest) = next_step(text);
    let staged_name = exclusive.commit(|txn| {
        let writer = Some(Writer { session: txn.session_number(), time: now() });
        let (name, what) = (Name::new(""), What::File(info));
        let staged_name =
            reap::discard(txn, Entry { name, id, tag: Tag::default(), what, writer })?;
        let mut file = File { is_partial: true, ..change::empty() };
        let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
        // Spliced, not appended: an edit may leave little of a long file, and a short text must be a single record.
        rope::splice(&mut owner, &mut file.body, 0..0, step)?;
        txn.put(RecordId::file(id, 0), file.into());
        Ok::<_, FileError>(staged_name)
    })?;
    while !rest.is_empty() {
        // A step leaves no room for reaping in its batch. Without this step of its own, long writes would add records
        // faster than they are reaped.
        exclusive.reap()?;
        let (step, after) = next_step(rest);
        exclusive.commit(|txn| {
            let entry = reap::touch(txn, id, &staged_name)?;
            let mut file = File::clone(&*load_file(txn, entry.head(), &entry.tag)?);
            let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
            rope::append(&mut owner, &mut file.body, step)?;
            txn.put(entry.head(), file.into());
            Ok::<_, FileError>(())
        })?;
        rest = after;
    }
    Ok((id, staged_name))
}

/// Attempts of an edit whose file other hosts change meanwhile.
const EDITS: usize = 5;
const CHANGING: &str = "other hosts keep changing the file";

/// Takes the written object out of the system folder, as a whole text. Returns its entry and its head.
pub(super) fn finish(
    txn: &mut Txn<'_>,
    id: ObjectId,
    staged_name: &Name,
) -> Result<(Entry, File), FileError> {
    let entry = reap::claim(txn, id, staged_name)?;
    let mut head = File::clone(&*load_file(txn, entry.head(), &entry.tag)?);
    head.is_partial = false;
    txn.put(entry.head(), head.clone().into());
    Ok((entry, head))
}

/// The longest step that ends on a character boundary, and the rest.
fn next_step(text: &str) -> (&str, &str) {
    let want = text.len().min(STAGE_STEP_BYTES);
    let length = (0..=want).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.split_at_checked(length).unwrap_or((text, ""))
}

fn changed(text: &str, plan: &Plan) -> Result<Wiped<String>, FileError> {
    let parts = (|| {
        let start = usize::try_from(plan.range.start).ok()?;
        let end = usize::try_from(plan.range.end).ok()?;
        Some((text.get(..start)?, text.get(end..)?))
    })();
    let (head, tail) = parts.ok_or(rope::BROKEN)?;
    Ok(secret::join(&[head, plan.text.as_str(), tail]))
}
