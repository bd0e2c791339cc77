//! Trimming: drops versions whose time is over, or for which there is no room, a bounded number with every commit.
//!
//! The oldest go first. An entry whose time is over is removed. Where there is no room, only the text goes, and the entry
//! stays until its time is over.

use inmost_format::record::history::{Before, History, Version};
use inmost_format::record::{ObjectId, RecordError, load_history};
use inmost_storage::limits::{BATCH_RECORDS, BATCH_RECORDS_MAX};

use super::author::Author;
use super::history::{expired_before, release};
use super::open::Open;
use super::overlay::Overlay;
use super::txn::Txn;

/// Whether anything is to be dropped. Nothing can be dropped from a damaged history.
pub(super) fn is_due(open: &Open) -> Result<bool, RecordError> {
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
        let Some(before) = expired_before(open, root) else { return Ok(false) };
        let (_, first) = history.body.find(open, root.history.id, |_, _| 0)?;
        Ok(first.0.first().is_some_and(|version| version.time < before))
    };
    match due() {
        Err(RecordError::Damaged { .. }) => Ok(false),
        due => due,
    }
}

/// Adds a step of trimming to a group that is about to be committed.
pub(super) fn trim_into(open: &Open, group: &mut Overlay) -> Result<(), RecordError> {
    if !is_due(open)? {
        return Ok(());
    }
    let taken = group.records_with(&Overlay::default()).saturating_add(UPKEEP);
    let budget = BATCH_RECORDS.saturating_sub(taken);
    let mut txn = Txn::new(open, group, &Author::default());
    match trim(&mut txn, expired_before(open, open.root()), budget) {
        Ok(()) => {}
        // Damage to old versions must not block a valid commit.
        Err(RecordError::Damaged { .. }) => return Ok(()),
        Err(error) => return Err(error),
    }
    let changes = txn.into_overlay();
    // A single entry may need more than the budget.
    if group.records_with(&changes) <= BATCH_RECORDS_MAX {
        group.merge(changes)?;
    }
    Ok(())
}

fn trim(txn: &mut Txn<'_>, before: Option<u64>, mut budget: usize) -> Result<(), RecordError> {
    let Some((object, mut history)) = txn.history()? else { return Ok(()) };
    let room = txn.root()?.room;
    let mut changed = false;
    if let Some(before) = before {
        while budget > 0 {
            let expired: Vec<Version> = {
                let (_, leaf) = history.body.find(txn, object, |_, _| 0)?;
                let expired = leaf.0.iter().take_while(|version| version.time < before);
                let mut cost = 0;
                expired
                    .take_while(|version| {
                        let is_first = cost == 0;
                        cost += cost_of(version);
                        is_first || cost <= budget
                    })
                    .cloned()
                    .collect()
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
    }
    while history.held > room && budget > 0 {
        let Some(number) = oldest_text(txn, object, &history)? else { break };
        let mut dropped = None;
        history.edit(txn, object, number, |version| {
            version.held = 0;
            let held = std::mem::replace(&mut version.before, Before::Nothing);
            dropped = Some((held, std::mem::take(&mut version.retired)));
            true
        })?;
        if let Some((held, retired)) = dropped {
            budget = budget.saturating_sub(retired.len() + 2);
            release(txn, held, &retired)?;
        }
        history.texts_from = number.saturating_add(1);
        changed = true;
    }
    if changed {
        if history.body.count() == 0 && txn.root()?.keep == 0 {
            return txn.end_history(object);
        }
        txn.set_history(object, history)?;
    }
    Ok(())
}

/// The number of the oldest entry that holds a text.
fn oldest_text(
    txn: &Txn<'_>,
    object: ObjectId,
    history: &History,
) -> Result<Option<u64>, RecordError> {
    let from = history.position_of(txn, object, history.texts_from)?;
    let mut found = None;
    history.body.visit::<RecordError>(txn, object, from, &mut |_, leaf| {
        let holds = |version: &&Version| {
            version.number >= history.texts_from
                && matches!(version.before, Before::Head(_) | Before::Object(_))
        };
        found = leaf.0.iter().find(holds).map(|version| version.number);
        Ok(found.is_none())
    })?;
    Ok(found)
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
