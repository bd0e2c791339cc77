//! Writes that are too long for one durable step.
//!
//! The text is written under a new object in the system folder, step by step, and the last small step moves it to its
//! path. Until then nobody sees it; after a crash it is reaped. An edit that moves much text does
//! the same with the whole new text of the file.

use zeroize::Zeroizing;

use super::edit::{self, Plan, check_quotas, new_info, set_entry, target};
use super::error::FileError;
use super::path::MemoryPath;
use super::{folder, rope};
use crate::limits::STAGE_STEP_BYTES;
use crate::record::node::{Entry, File, FileInfo, Name, What};
use crate::record::tree::Owner;
use crate::record::{NodeSink, ObjectId, RecordId, Tag, load_file};
use crate::vault::{Exclusive, Session, Txn, reap};

/// Writes a long file; the errors are those of [`edit::write`].
pub(super) fn write(
    session: &Session,
    path: &MemoryPath,
    text: &str,
    overwrite: bool,
) -> Result<(), FileError> {
    session.exclusive(|exclusive| {
        let before = exclusive.commit(|txn| {
            let before = target(txn, path, overwrite)?;
            check_quotas(txn, before.as_ref().map(|(_, info)| info), edit::length(text))?;
            Ok::<_, FileError>(before)
        })?;
        let info = new_info(text, before.as_ref());
        let name = stage(exclusive, text, info)?;
        exclusive.commit(|txn| {
            let staged = reap::claim(txn, &name)?;
            set_entry(txn, path, (staged.id, staged.tag), info, before.clone())
        })
    })
}

/// Makes a planned change by writing the whole new text of the file under a new object.
pub(super) fn edit<T>(
    session: &Session,
    path: &MemoryPath,
    plan: impl Fn(&Txn<'_>) -> Result<Plan, FileError>,
    answer: impl Fn(&Txn<'_>, &Plan, &FileInfo, &File) -> Result<T, FileError>,
) -> Result<T, FileError> {
    session.exclusive(|exclusive| {
        let (mut plan, text) = exclusive.commit(|txn| {
            let plan = plan(txn)?;
            check_quotas(txn, Some(&plan.info), plan.bytes_after())?;
            let text = changed(&rope::read(txn, plan.entry.id, &plan.head.body)?, &plan)?;
            Ok::<_, FileError>((plan, text))
        })?;
        let before = (plan.entry.clone(), plan.info);
        let info = new_info(&text, Some(&before));
        let name = stage(exclusive, &text, info)?;
        exclusive.commit(|txn| {
            let staged = reap::claim(txn, &name)?;
            plan.entry.id = staged.id;
            let head = load_file(txn, staged.id, &staged.tag)?;
            set_entry(txn, path, (staged.id, staged.tag), info, Some(before.clone()))?;
            answer(txn, &plan, &info, &head)
        })
    })
}

/// Writes the records of a file in steps, under an entry of the system folder; answers the name it has there. By
/// that name it is found again: what is reaped meanwhile may put entries behind it.
fn stage(exclusive: &mut Exclusive<'_>, text: &str, info: FileInfo) -> Result<Name, FileError> {
    let id = folder::fresh_id()?;
    exclusive.stage(id);
    let (step, mut rest) = first_step(text);
    let name = exclusive.commit(|txn| {
        let entry = Entry { name: Name::new(""), id, tag: Tag::default(), what: What::File(info) };
        let name = reap::discard(txn, entry)?;
        append(txn, id, edit::empty(), step)?;
        Ok::<_, FileError>(name)
    })?;
    while !rest.is_empty() {
        let (step, after) = first_step(rest);
        exclusive.commit(|txn| {
            let entry = reap::touch(txn, &name)?;
            let file = File::clone(&*load_file(txn, id, &entry.tag)?);
            append(txn, id, file, step)
        })?;
        rest = after;
    }
    Ok(name)
}

fn append(txn: &mut Txn<'_>, id: ObjectId, mut file: File, step: &str) -> Result<(), FileError> {
    let mut owner = Owner { sink: txn, object: id, next_index: &mut file.next_index };
    rope::append(&mut owner, &mut file.body, step)?;
    txn.put(RecordId::file(id), file.into());
    Ok(())
}

/// Cuts off as much as one step may write, on a character boundary.
fn first_step(rest: &str) -> (&str, &str) {
    let want = rest.len().min(STAGE_STEP_BYTES);
    let step = (0..=want).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
    rest.split_at_checked(step).unwrap_or((rest, ""))
}

fn changed(text: &str, plan: &Plan) -> Result<Zeroizing<String>, FileError> {
    let parts = (|| {
        let start = usize::try_from(plan.range.start).ok()?;
        let end = usize::try_from(plan.range.end).ok()?;
        Some((text.get(..start)?, text.get(end..)?))
    })();
    let (head, tail) = parts.ok_or(rope::BROKEN)?;
    let length = head.len().saturating_add(plan.text.len()).saturating_add(tail.len());
    let mut changed = Zeroizing::new(String::with_capacity(length));
    changed.push_str(head);
    changed.push_str(&plan.text);
    changed.push_str(tail);
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use crate::vault::Session;
    use crate::vfs::edit;
    use crate::vfs::path::MemoryPath;

    /// A long write failed as tampered whenever a deleted folder with folders in it was being reaped: these move up
    /// into the system folder, behind the object being written, which was looked for at the end.
    #[test]
    fn a_long_write_is_found_again_while_a_deleted_folder_is_reaped() {
        let session = Session::in_memory().unwrap();
        let files = session.files();
        for folder in 0..100 {
            files.write(&format!("/memories/old/{folder}/note"), "x").unwrap();
        }
        files.remove("/memories/old").unwrap();
        let text = "line of text\n".repeat(20_000);
        files.write("/memories/long", &text).unwrap();
        assert_eq!(files.read("/memories/long").unwrap().as_str(), text);
    }

    /// The rest became a rope of one short chunk; a delete takes a short file for a single record and left the
    /// chunk behind.
    #[test]
    fn what_a_large_cut_leaves_is_a_single_record() {
        let session = Session::in_memory().unwrap();
        let before = session.records().len();
        let old = "x".repeat(40_000);
        session.files().write("/memories/file", &format!("a{old}b")).unwrap();
        let path = MemoryPath::parse("/memories/file").unwrap();
        edit::replace(&session, &path, &old, "", 100).unwrap();
        session.files().write("/memories/other", "").unwrap();
        assert_eq!(session.records().len(), before + 2);
        session.files().remove("/memories/file").unwrap();
        session.files().remove("/memories/other").unwrap();
        assert_eq!(session.records().len(), before);
    }
}
