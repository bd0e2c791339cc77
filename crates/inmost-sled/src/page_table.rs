//! Which messages of sled's log are in effect: the table that sled makes from a snapshot and the log behind it.
//!
//! Kept as one number for each page, so that a digest of the whole table is cheap to keep up to date.

use inmost_engines::local_engine::Frontier;

use super::log::Change;

/// A number that stands for a table. Tables that differ by accident have different ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Digest {
    /// Pages that have a message.
    pub(super) pages: u64,
    /// The sum of a number for each message in effect.
    pub(super) sum: u64,
}

impl Digest {
    /// The digest as bytes of a frontier.
    pub(super) fn proof(self) -> [u8; 24] {
        let mut proof = [0; 24];
        let fields = self.pages.to_le_bytes().into_iter().chain(self.sum.to_le_bytes());
        proof.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
        proof
    }
}

/// The messages in effect, by page.
#[derive(Default)]
pub(super) struct PageTable {
    pages: Vec<Page>,
    digest: Digest,
}

#[derive(Clone, Copy, Default)]
struct Page {
    /// The sum of a number for each of its messages. 0 for a page that no message has made.
    sum: u64,
    is_free: bool,
}

/// A page or message that no log of sled's has.
#[derive(Debug)]
pub(super) struct Impossible;

impl PageTable {
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// Applies a message at this position. `most` bounds the number of a page.
    pub(super) fn apply(
        &mut self,
        page: u64,
        change: Change,
        position: u64,
        most: u64,
    ) -> Result<(), Impossible> {
        if page > most {
            return Err(Impossible);
        }
        let number = number(page, change, position);
        let index = usize::try_from(page).map_err(|_| Impossible)?;
        if change == Change::Link {
            // A change of a page that is not there yet is one that was moved: a later message has the whole page.
            if let Some(page) = self.pages.get_mut(index)
                && page.sum != 0
                && !page.is_free
            {
                page.sum = page.sum.wrapping_add(number);
                self.digest.sum = self.digest.sum.wrapping_add(number);
            }
            return Ok(());
        }
        if self.pages.len() <= index {
            self.pages.resize(index.saturating_add(1), Page::default());
        }
        let page = self.pages.get_mut(index).ok_or(Impossible)?;
        let old = std::mem::replace(page, Page { sum: number, is_free: change == Change::Free });
        self.digest.sum = self.digest.sum.wrapping_sub(old.sum).wrapping_add(number);
        self.digest.pages = self.digest.pages.saturating_add(u64::from(old.sum == 0));
        Ok(())
    }

    /// Whether these are the messages in effect at the frontier, and no page is missing.
    pub(super) fn proves(&self, frontier: &Frontier) -> bool {
        self.is_complete() && self.digest.proof() == frontier.proof
    }

    /// Whether every page up to the last one has a message. sled cannot open a log in which one has none.
    pub(super) fn is_complete(&self) -> bool {
        u64::try_from(self.pages.len()) == Ok(self.digest.pages)
    }
}

/// A number for a message: never 0, and unlike that of any other message.
fn number(page: u64, change: Change, position: u64) -> u64 {
    let kind = match change {
        Change::Replace => 1,
        Change::Link => 2,
        Change::Free => 3,
    };
    // The finalizer of SplitMix64, twice: every bit of the input changes half of the output.
    let mix = |mut value: u64| {
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    mix(mix(position.wrapping_mul(4).wrapping_add(kind)).wrapping_add(page)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(messages: &[(u64, Change, u64)]) -> PageTable {
        let mut table = PageTable::default();
        for (page, change, position) in messages {
            table.apply(*page, *change, *position, 1_000).unwrap();
        }
        table
    }

    #[test]
    fn only_messages_in_effect_count() {
        use Change::{Free, Link, Replace};
        let long = table(&[
            (0, Replace, 20),
            (1, Replace, 60),
            (1, Link, 90),
            (2, Link, 95),
            (0, Link, 100),
            (1, Replace, 200),
            (1, Link, 260),
        ]);
        let short = table(&[(0, Replace, 20), (0, Link, 100), (1, Replace, 200), (1, Link, 260)]);
        assert_eq!(long.digest(), short.digest());
        assert!(long.is_complete());
        for lost in 0..4 {
            let mut messages =
                vec![(0, Replace, 20), (0, Link, 100), (1, Replace, 200), (1, Link, 260)];
            messages.remove(lost);
            assert_ne!(table(&messages).digest(), short.digest());
        }
        let freed = table(&[(0, Replace, 20), (0, Free, 100), (0, Link, 120)]);
        assert_eq!(freed.digest(), table(&[(0, Free, 100)]).digest());
        assert!(!table(&[(0, Replace, 20), (2, Replace, 40)]).is_complete());
    }

    #[test]
    fn a_page_with_an_impossible_number_takes_no_memory() {
        let mut table = PageTable::default();
        assert!(table.apply(1 << 40, Change::Replace, 20, 1 << 20).is_err());
        assert_eq!(table.pages.len(), 0);
    }
}
