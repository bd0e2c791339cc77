//! The note of a rewrite in progress, and generations that are set aside.
//!
//! A rewrite names the generations that it is going to leave behind before it creates any of them. After a crash, the next
//! unlock removes these. A generation that no rewrite named came from somewhere else, for example from a newer store that
//! an older copy was restored over. It may be the only copy of its records, so it is set aside.

/// What a rewrite notes before it creates anything, and removes when it has left nothing behind.
#[derive(Clone, PartialEq, Eq)]
pub struct Rewriting {
    /// The generation that is rewritten.
    pub old: u64,
    /// The generation that takes its place.
    pub new: u64,
    /// The generation for sorting, which a large store needs.
    pub scratch: u64,
    /// Whether both copies of the header are known to name the new generation.
    pub switched: bool,
    /// The header of the old generation, if that generation is to be set aside and not to be removed. It holds the only
    /// key of those records.
    pub kept_header: Option<Vec<u8>>,
}

/// What is to be done with a generation that the header does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leftover<'a> {
    /// The rewrite left it behind. Nothing in it is needed.
    Remove,
    /// The rewrite replaced it, and its records are to be kept with this header.
    Keep(&'a [u8]),
    /// The rewrite knows nothing of it.
    Unknown,
}

impl Rewriting {
    /// Returns what this rewrite says of a generation, when the header names `named`. Does no I/O.
    #[must_use]
    pub fn leftover(&self, named: u64, generation: u64) -> Leftover<'_> {
        let is_old = generation == self.old;
        // Once both copies name the new generation, a header that names the old one was put back from a copy. The new
        // generation has been in use since then, and its removal would lose what was written to it.
        let has_moved = named == self.new;
        let has_not_moved = named == self.old && !self.switched;
        match &self.kept_header {
            _ if generation == named => Leftover::Unknown,
            Some(header) if has_moved && is_old => Leftover::Keep(header),
            _ if has_moved && (is_old || generation == self.scratch) => Leftover::Remove,
            _ if has_not_moved && (generation == self.new || generation == self.scratch) => {
                Leftover::Remove
            }
            _ => Leftover::Unknown,
        }
    }
}

/// A generation that was set aside. No unlock opens or removes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetAsideGeneration {
    /// The number in its name. It is that of the generation, unless that name was taken.
    pub number: u64,
    /// The bytes that it occupies on disk.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn rewriting(switched: bool, kept_header: Option<Vec<u8>>) -> Rewriting {
        Rewriting { old: 4, new: 5, scratch: 6, switched, kept_header }
    }

    /// What is to be done with the generations 3 to 7.
    fn leftovers(rewriting: &Rewriting, named: u64) -> [Leftover<'_>; 5] {
        [3, 4, 5, 6, 7].map(|generation| rewriting.leftover(named, generation))
    }

    #[test]
    fn only_what_the_rewrite_named_is_removed() {
        use Leftover::{Remove, Unknown};
        let begun = rewriting(false, None);
        assert_eq!(leftovers(&begun, 4), [Unknown, Unknown, Remove, Remove, Unknown]);
        assert_eq!(leftovers(&begun, 5), [Unknown, Remove, Unknown, Remove, Unknown]);
        for other in [3, 6, 7] {
            assert_eq!(leftovers(&begun, other), [Unknown; 5], "{other}");
        }
    }

    #[test]
    fn a_generation_in_use_is_not_removed_for_a_header_that_was_put_back() {
        use Leftover::{Remove, Unknown};
        let switched = rewriting(true, None);
        assert_eq!(leftovers(&switched, 4), [Unknown; 5]);
        assert_eq!(leftovers(&switched, 5), [Unknown, Remove, Unknown, Remove, Unknown]);
    }

    #[test]
    fn a_generation_to_keep_is_kept_with_its_header() {
        use Leftover::{Keep, Remove, Unknown};
        for switched in [false, true] {
            let kept = rewriting(switched, Some(b"header".to_vec()));
            let after = [Unknown, Keep(b"header".as_slice()), Unknown, Remove, Unknown];
            assert_eq!(leftovers(&kept, 5), after);
        }
        let kept = rewriting(false, Some(b"header".to_vec()));
        assert_eq!(leftovers(&kept, 4), [Unknown, Unknown, Remove, Remove, Unknown]);
    }
}
