//! Trimming: drops versions whose time is over, or for which there is no room, a bounded number with every commit.
//!
//! The oldest go first. An entry whose time is over is removed. Where there is no room, only the text goes, and the entry
//! stays until its time is over. Entries that cannot be read go when the time of those behind them is over.

use inmost_format::record::history::{Before, History, Version};
use inmost_format::record::tree::Place;
use inmost_format::record::{NodeSource, ObjectId, RecordError, load_history};
use inmost_storage::limits::{BATCH_RECORDS, BATCH_RECORDS_MAX};

use super::history::{expired_before, release};
use super::reap;
use crate::session::error::StoreError;
use crate::session::open::Open;
use crate::session::transaction::Txn;
use crate::session::transaction::caller::Caller;
use crate::session::transaction::overlay::Overlay;

/// Whether anything is to be dropped. Nothing can be dropped from a history whose head is damaged.
pub(crate) fn is_due(open: &Open) -> Result<bool, RecordError> {
    let root = open.root();
    if root.history.is_none() {
        return Ok(false);
    }
    let due = || {
        if root.keep == 0 {
            return Ok(true);
        }
        let history = load_history(open, root.history.id, &root.history.tag)?;
        if history.held > root.room {
            return Ok(true);
        }
        is_over(open, root.history.id, &history, 0, expired_before(open, root))
    };
    match due() {
        Err(error) if error.is_unreadable() => Ok(false),
        due => due,
    }
}

/// Adds a step of trimming to a group that is about to be committed.
pub(crate) fn trim_into(open: &Open, group: &mut Overlay) -> Result<(), RecordError> {
    if !is_due(open)? {
        return Ok(());
    }
    let taken = group.records_with(&Overlay::default());
    // Changes deep in folders take more than is left. If they dropped nothing, nothing would be dropped where all changes are.
    let budget = BATCH_RECORDS.saturating_sub(taken.saturating_add(UPKEEP)).max(LEAST);
    let mut txn = Txn::new(open, group, &Caller::default());
    match trim(&mut txn, expired_before(open, open.root()), budget) {
        Ok(()) => {}
        // Damage to old versions must not block a valid commit.
        Err(error) if error.is_unreadable() => return Ok(()),
        Err(error) => return Err(error),
    }
    let changes = reap::removable(open, txn.into_overlay())?;
    // A single entry may need more than the budget, and a deep change may leave no room for it.
    if group.records_with(&changes) <= BATCH_RECORDS_MAX {
        group.merge(changes)?;
    }
    Ok(())
}

/// Removes discarded records and drops the oldest texts in a group that a full disk has refused, until it removes as many
/// records as it adds: an engine takes such a batch even then. `None` if that is not possible in one batch.
pub(crate) fn make_room(
    open: &Open,
    mut group: Overlay,
    staged: Option<ObjectId>,
) -> Result<Option<Overlay>, StoreError> {
    let caller = Caller::default();
    for step in 0..STEPS_FOR_ROOM {
        let Ok(growth @ 1..) = usize::try_from(open.growth(&group)?) else {
            return Ok((step > 0).then_some(group));
        };
        let mut changes = match reap::piece(open, &group, staged, growth) {
            // As with any commit: damage to what is discarded must not stop what is not.
            Err(error) if error.is_unreadable() => Overlay::default(),
            changes => changes?,
        };
        if changes.is_empty() {
            let mut txn = Txn::new(open, &group, &caller);
            drop_oldest_text(&mut txn)?;
            changes = reap::removable(open, txn.into_overlay())?;
        }
        if changes.is_empty() || group.records_with(&changes) > ROOM_RECORDS {
            return Ok(None);
        }
        group.merge(changes)?;
    }
    Ok(None)
}

fn drop_oldest_text(txn: &mut Txn<'_>) -> Result<(), RecordError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let Some(number) = oldest_text(txn, object, &history)? else { return Ok(()) };
    drop_text(txn, object, &mut history, number)?;
    txn.set_history(object, history)
}

/// Drops the text that an entry holds. Returns how many records go with it at once.
fn drop_text(
    txn: &mut Txn<'_>,
    object: ObjectId,
    history: &mut History,
    number: u64,
) -> Result<usize, RecordError> {
    let mut dropped = None;
    history.edit(txn, object, number, |version| {
        version.held = 0;
        let held = std::mem::replace(&mut version.before, Before::Nothing);
        dropped = Some((held, std::mem::take(&mut version.retired)));
        true
    })?;
    history.texts_from = number.saturating_add(1);
    let Some((held, retired)) = dropped else { return Ok(0) };
    release(txn, held, &retired)?;
    Ok(retired.len())
}

fn trim(txn: &mut Txn<'_>, before: u64, mut budget: usize) -> Result<(), RecordError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let room = txn.root()?.room;
    let (mut changed, mut lost) = (false, false);
    while budget > 0 {
        let expired: Vec<Version> = match history.look_at(txn, object, 0)? {
            Place::Leaf(_, leaf) => {
                let expired = leaf.0.iter().take_while(|version| version.age < before);
                let mut cost = 0;
                expired
                    .take_while(|version| {
                        let is_first = cost == 0;
                        cost += cost_of(version);
                        is_first || cost <= budget
                    })
                    .cloned()
                    .collect()
            }
            Place::Gap(gap) => {
                if !is_over(txn, object, &history, gap.end, before)? {
                    break;
                }
                history.cut_front(txn, object)?;
                budget = budget.saturating_sub(1);
                (changed, lost) = (true, true);
                continue;
            }
        };
        if expired.is_empty() {
            break;
        }
        history.remove_first(txn, object, expired.len())?;
        // A node of the history, even if its entries hold nothing: a step must not remove any number of nodes.
        budget = budget.saturating_sub(1);
        for mut version in expired {
            budget = budget.saturating_sub(cost_of(&version));
            let held = std::mem::replace(&mut version.before, Before::Nothing);
            release(txn, held, &version.retired)?;
        }
        changed = true;
    }
    if lost && let (_, Some(held)) = history.survey(txn, object, SURVEYED)? {
        // What the lost entries held is not theirs any more: those records have no owner until the next rewrite.
        history.held = held;
    }
    while history.held > room && budget > 0 {
        let Some(number) = oldest_text(txn, object, &history)? else {
            // What is still counted was held by entries that cannot be read.
            (history.held, changed) = (0, true);
            break;
        };
        let retired = drop_text(txn, object, &mut history, number)?;
        budget = budget.saturating_sub(retired.saturating_add(2));
        changed = true;
    }
    // Also if it was empty before.
    if history.count() == 0 && txn.root()?.keep == 0 {
        return txn.end_history(object);
    }
    if changed {
        txn.set_history(object, history)?;
    }
    Ok(())
}

/// Whether the time of the entry at a position is over. Entries that cannot be read are over when those behind them are. Behind
/// many of those, the steps double, so that a commit reads few of them: then they stay until the time of a later entry is over.
fn is_over(
    source: &impl NodeSource,
    object: ObjectId,
    history: &History,
    mut position: u64,
    before: u64,
) -> Result<bool, RecordError> {
    let Some(last) = history.count().checked_sub(1) else { return Ok(false) };
    let (mut gaps, mut stride) = (0_u32, 1_u64);
    loop {
        let next = match history.look_at(source, object, position)? {
            Place::Leaf(_, leaf) => {
                return Ok(leaf.0.first().is_some_and(|version| version.age < before));
            }
            Place::Gap(gap) => gap.end.max(position.saturating_add(1)),
        };
        if next > last && position >= last {
            return Ok(before == u64::MAX);
        }
        gaps = gaps.saturating_add(1);
        if gaps > GAPS {
            stride = stride.saturating_mul(2);
        }
        position = next.saturating_add(stride).saturating_sub(1).min(last);
    }
}

/// The number of the oldest entry that holds a text, and can be read.
fn oldest_text(
    txn: &Txn<'_>,
    object: ObjectId,
    history: &History,
) -> Result<Option<u64>, RecordError> {
    let mut place = history.look_for(txn, object, history.texts_from)?;
    loop {
        let next = match &place {
            Place::Leaf(start, leaf) => {
                let holds = |version: &&Version| {
                    version.number >= history.texts_from
                        && matches!(version.before, Before::Head(_) | Before::Object(_))
                };
                if let Some(version) = leaf.0.iter().find(holds) {
                    return Ok(Some(version.number));
                }
                let length = u64::try_from(leaf.0.len()).unwrap_or(u64::MAX);
                start.saturating_add(length.max(1))
            }
            Place::Gap(gap) => gap.end.max(gap.start.saturating_add(1)),
        };
        if next >= history.count() {
            return Ok(None);
        }
        place = history.look_at(txn, object, next)?;
    }
}

/// Records that dropping an entry changes, besides those of the history.
fn cost_of(version: &Version) -> usize {
    match version.before {
        Before::Nothing | Before::Restored(_) => 0,
        Before::Head(_) => version.retired.len() + 1,
        Before::Object(_) => 1,
    }
}

/// Records that trimming rewrites besides those it removes: the nodes of the history, and the system folder.
const UPKEEP: usize = 8;
/// Records that a step may drop however many the group changes: two short texts, so that what is held shrinks although each
/// change may add one.
const LEAST: usize = 4;
/// Places in a row that cannot be read and that a step passes one by one.
const GAPS: u32 = 64;
/// Steps that look for room for one batch: each drops a text, or a part of what was discarded.
const STEPS_FOR_ROOM: usize = 64;
/// Records of a batch that was refused and drops texts: fewer than a journal takes as one entry, which is 124.
const ROOM_RECORDS: usize = 100;
/// Nodes of a history that are read to count its texts anew.
const SURVEYED: usize = 4_096;
