//! What a history with damaged records still has: it goes on behind them.

use super::super::tree::{FoundLeaf, Owner, Place, Way, by_position};
use super::super::{NodeSink, NodeSource, ObjectId, RecordError};
use super::{History, Versions};

impl History {
    /// The leaf that has the entry at a position, or the entries around it that cannot be read.
    pub fn look_at(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        position: u64,
    ) -> Result<Place<'_, Versions>, RecordError> {
        if position >= self.body.count() {
            return Ok(self.newest_place());
        }
        self.body.look(source, object, by_position(position))
    }

    /// As [`look_at`](Self::look_at), for the first entry whose number is at least this one, or for one before it.
    pub fn look_for(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        number: u64,
    ) -> Result<Place<'_, Versions>, RecordError> {
        if self.is_newest(number) {
            return Ok(self.newest_place());
        }
        self.body.look(source, object, |_, refs| {
            refs.partition_point(|child| child.summary().first <= number).saturating_sub(1)
        })
    }

    fn newest_place(&self) -> Place<'_, Versions> {
        Place::Leaf(self.body.count(), FoundLeaf::Inline(&self.newest))
    }

    /// Visits entries and the positions of those that cannot be read; see
    /// [`Body::visit_places`](super::Body::visit_places).
    ///
    /// # Errors
    /// Those of the visitor, and those of the source but for damage to a node.
    pub fn visit_places<E: From<RecordError>>(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        way: Way,
        visitor: &mut impl FnMut(Place<'_, Versions>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let begins_there = matches!(way, Way::Back(from) if from > self.body.count());
        if begins_there && !visitor(self.newest_place())? {
            return Ok(());
        }
        let mut goes_on = true;
        self.body.visit_places(source, object, way, &mut |place| {
            goes_on = visitor(place)?;
            Ok::<_, E>(goes_on)
        })?;
        if goes_on && matches!(way, Way::Forward(_)) {
            visitor(self.newest_place())?;
        }
        Ok(())
    }

    /// Removes the first leaf of the body, or the entries at the beginning that cannot be read.
    pub fn cut_front(
        &mut self,
        sink: &mut impl NodeSink,
        object: ObjectId,
    ) -> Result<(), RecordError> {
        let mut owner = Owner { sink, object, next_index: &mut self.next_index };
        self.body.cut_front(&mut owner)
    }

    /// The number of entries that cannot be read, and the bytes that the others hold. Looks at this many places at most;
    /// then the second is `None`.
    pub fn survey(
        &self,
        source: &impl NodeSource,
        object: ObjectId,
        most: usize,
    ) -> Result<(u64, Option<u64>), RecordError> {
        let (count, mut position) = (self.count(), 0_u64);
        let (mut unreadable, mut held) = (0_u64, 0_u64);
        for _ in 0..most {
            if position >= count {
                return Ok((unreadable, Some(held)));
            }
            let end = match self.look_at(source, object, position)? {
                Place::Leaf(start, leaf) => {
                    held = held.saturating_add(super::tree::held(&leaf));
                    start.saturating_add(super::tree::length(&leaf))
                }
                Place::Gap(gap) => {
                    unreadable = unreadable.saturating_add(gap.end.saturating_sub(position));
                    gap.end
                }
            };
            // At least one, so that wrong counts do not lead to the same place for ever.
            position = end.max(position.saturating_add(1));
        }
        Ok((unreadable, None))
    }
}
