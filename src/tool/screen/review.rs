//! Asks a screen, and applies its verdict to the new text.

use std::panic::{AssertUnwindSafe, catch_unwind};

use inmost_format::secret::{self, Wiped};

use super::{Screen, ScreenFind, ScreenInput, ScreenVerdict};

/// The kind in a refusal if there is no verdict.
pub(crate) const UNSCREENED: &str = "something that could not be screened";

/// A write that a screen has let through.
#[derive(Default)]
pub(crate) struct Cleared {
    /// The new text without the finds; `None` if it has no finds.
    text: Option<Wiped<String>>,
    /// The number of finds that were redacted.
    pub(crate) redacted: usize,
    /// Their kinds, each once.
    pub(crate) kinds: Vec<&'static str>,
}

impl Cleared {
    /// The text to save in place of `new`.
    pub(crate) fn text<'a>(&'a self, new: &'a str) -> &'a str {
        self.text.as_deref().map_or(new, |text| text.as_str())
    }
}

/// A write that a screen has refused, for these kinds.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Refused(pub(crate) Vec<&'static str>);

/// Asks a screen. Does no I/O. A screen that panics, or whose verdict makes no sense, refuses.
pub(crate) fn review(screen: &dyn Screen, input: &ScreenInput<'_>) -> Result<Cleared, Refused> {
    let verdict = catch_unwind(AssertUnwindSafe(|| screen.screen(input)));
    match verdict {
        Ok(ScreenVerdict::Allow) => Ok(Cleared::default()),
        Ok(ScreenVerdict::Redact(finds)) => redact(input, finds),
        Ok(ScreenVerdict::Refuse(kinds)) if !kinds.is_empty() => Err(Refused(distinct(kinds))),
        Ok(ScreenVerdict::Refuse(_)) | Err(_) => Err(Refused(vec![UNSCREENED])),
    }
}

fn redact(input: &ScreenInput<'_>, finds: Vec<ScreenFind>) -> Result<Cleared, Refused> {
    let new = input.new_range();
    let is_broken =
        |find: &ScreenFind| find.range.is_empty() || input.text().get(find.range.clone()).is_none();
    let mut finds: Vec<_> =
        finds.into_iter().filter(|find| is_broken(find) || input.concerns(&find.range)).collect();
    finds.sort_by_key(|find| (find.range.start, find.range.end));
    let kinds = distinct(finds.iter().map(|find| find.kind));
    let reaches_out = |find: &ScreenFind| find.range.start < new.start || new.end < find.range.end;
    if finds.iter().any(|find| is_broken(find) || reaches_out(find)) {
        return Err(Refused(kinds));
    }
    if finds.is_empty() {
        return Ok(Cleared::default());
    }

    let finds = united(finds);
    let marks: Vec<_> = finds.iter().map(ScreenFind::mark).collect();
    let mut parts = Vec::with_capacity(finds.len().saturating_mul(2).saturating_add(1));
    let mut kept_from = new.start;
    for (find, mark) in finds.iter().zip(&marks) {
        parts.push(input.text().get(kept_from..find.range.start).unwrap_or_default());
        parts.push(mark);
        kept_from = find.range.end;
    }
    parts.push(input.text().get(kept_from..new.end).unwrap_or_default());
    let kinds = distinct(finds.iter().map(|find| find.kind));
    Ok(Cleared { text: Some(secret::join(&parts)), redacted: finds.len(), kinds })
}

/// Unites finds that overlap; the kind is that of the first. The finds must be in order.
fn united(finds: Vec<ScreenFind>) -> Vec<ScreenFind> {
    let mut united: Vec<ScreenFind> = Vec::with_capacity(finds.len());
    for find in finds {
        match united.last_mut() {
            Some(last) if find.range.start < last.range.end => {
                last.range.end = last.range.end.max(find.range.end);
            }
            _ => united.push(find),
        }
    }
    united
}

/// Each kind once, in the order of their first appearance.
fn distinct(kinds: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    let mut distinct = Vec::new();
    for kind in kinds {
        if !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Says(ScreenVerdict);

    impl Screen for Says {
        fn screen(&self, _: &ScreenInput<'_>) -> ScreenVerdict {
            self.0.clone()
        }
    }

    /// The verdict on `new` between `old` and `text`, with finds of these ranges and kinds.
    fn redacted(finds: &[(usize, usize, &'static str)]) -> Result<(String, usize), Refused> {
        let finds = finds.iter().map(|(start, end, kind)| ScreenFind::new(*start..*end, kind));
        let screen = Says(ScreenVerdict::Redact(finds.collect()));
        let input = ScreenInput::of_text("/memories/a", "oldé", "0123456789", "text");
        review(&screen, &input)
            .map(|cleared| (cleared.text("0123456789").to_owned(), cleared.redacted))
    }

    #[test]
    fn finds_in_the_new_text_are_replaced_by_their_kind() {
        let done = |text: &str, count| Ok((text.to_owned(), count));
        assert_eq!(redacted(&[]), done("0123456789", 0));
        assert_eq!(redacted(&[(5, 15, "a")]), done("[redacted: a]", 1));
        let two = [(12, 14, "b"), (6, 8, "a")];
        assert_eq!(redacted(&two), done("0[redacted: a]3456[redacted: b]9", 2));
        let touching = [(6, 8, "a"), (8, 10, "b")];
        assert_eq!(redacted(&touching), done("0[redacted: a][redacted: b]56789", 2));
        let nested = [(6, 12, "a"), (7, 8, "b"), (11, 13, "c")];
        assert_eq!(redacted(&nested), done("0[redacted: a]89", 1));
    }

    #[test]
    fn finds_in_old_text_alone_are_ignored() {
        assert_eq!(redacted(&[(0, 5, "a"), (15, 19, "b")]), Ok(("0123456789".to_owned(), 0)));
    }

    #[test]
    fn a_find_that_reaches_into_old_text_refuses() {
        for find in [(3, 6, "a"), (14, 16, "a"), (0, 19, "a")] {
            assert_eq!(redacted(&[find]), Err(Refused(vec!["a"])), "{find:?}");
        }
        let both = [(6, 7, "b"), (14, 16, "a"), (0, 2, "c"), (8, 9, "b")];
        assert_eq!(redacted(&both), Err(Refused(vec!["b", "a"])));
    }

    #[test]
    fn a_seam_between_old_texts_is_part_of_a_deletion() {
        let input = ScreenInput::of_text("/memories/a", "half", "", "half");
        assert!(input.concerns(&(3..5)));
        assert!(!input.concerns(&(0..4)) && !input.concerns(&(4..8)));
        let screen = Says(ScreenVerdict::Redact(vec![ScreenFind::new(2..6, "a")]));
        assert_eq!(review(&screen, &input).err(), Some(Refused(vec!["a"])));
    }

    #[test]
    fn a_range_that_is_not_one_of_the_text_refuses() {
        #[expect(clippy::reversed_empty_ranges, reason = "a screen may return one")]
        for range in [4..6, 6..6, 8..7, 18..20, usize::MAX - 1..usize::MAX, 0..0] {
            let screen = Says(ScreenVerdict::Redact(vec![ScreenFind::new(range.clone(), "a")]));
            let input = ScreenInput::of_text("/memories/a", "oldé", "0123456789", "text");
            assert_eq!(review(&screen, &input).err(), Some(Refused(vec!["a"])), "{range:?}");
        }
    }

    #[test]
    fn a_refusal_names_each_kind_once_and_never_nothing() {
        let refused = |kinds: &[&'static str]| {
            let screen = Says(ScreenVerdict::Refuse(kinds.to_vec()));
            review(&screen, &ScreenInput::of_path("/memories/a", "")).err()
        };
        assert_eq!(refused(&["b", "a", "b"]), Some(Refused(vec!["b", "a"])));
        assert_eq!(refused(&[]), Some(Refused(vec![UNSCREENED])));
    }

    #[test]
    fn a_panic_refuses() {
        struct Panics;
        impl Screen for Panics {
            fn screen(&self, _: &ScreenInput<'_>) -> ScreenVerdict {
                panic!("a bug in the screen");
            }
        }
        let input = ScreenInput::of_path("/memories/a", "harmless");
        assert_eq!(review(&Panics, &input).err(), Some(Refused(vec![UNSCREENED])));
    }

    #[test]
    fn neither_path_nor_text_is_printed() {
        let input = ScreenInput::of_path("/memories/secret", "secret");
        assert_eq!(format!("{input:?}"), "ScreenInput { .. }");
    }
}
