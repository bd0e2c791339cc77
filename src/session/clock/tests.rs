//! Stories of clocks that are wrong. In each, versions are kept for 30 days, and a change is made at some hours of real time.

use super::*;

/// What happened to a clock, and what follows for the text that the first change ended.
struct Story {
    name: &'static str,
    /// For each change: the hour of real time, and by how many hours the clock was ahead.
    changes: Vec<(i64, i64)>,
    /// The hours of real time between which the text is found to be over. `None`: it is kept to the end.
    over: Option<(i64, i64)>,
}

/// One change each day, from one day to another, with a clock that is ahead by these hours.
fn daily(days: std::ops::Range<i64>, ahead: i64) -> impl Iterator<Item = (i64, i64)> {
    days.map(move |day| (day * 24, ahead))
}

fn story(
    name: &'static str,
    changes: impl IntoIterator<Item = (i64, i64)>,
    over: Option<(i64, i64)>,
) -> Story {
    Story { name, changes: changes.into_iter().collect(), over }
}

fn stories() -> Vec<Story> {
    let begin = || daily(0..2, 0);
    let exact = Some((30 * 24 + 1, 35 * 24));
    vec![
        story("the clock is right", daily(0..40, 0), exact),
        story("behind by 40 days for one change", begin().chain([(30, -40 * 24), (31, 0)]), None),
        story(
            "behind by 40 days for one change, and used on",
            begin().chain([(30, -40 * 24)]).chain(daily(2..40, 0)),
            exact,
        ),
        story("at 1970 for three changes", begin().chain((30..33).map(|at| (at, -EPOCH))), None),
        story(
            "behind, and set right in steps",
            begin().chain((0..60).map(|step| (48 + step, -40 * 24 + step * 16))).chain([(120, 0)]),
            None,
        ),
        story("ahead by a year for one change", begin().chain([(30, YEAR), (31, 0)]), None),
        story("ahead by a year for many changes in an hour", begin().chain([(30, YEAR); 50]), None),
        story(
            "ahead by 13 months for ten days of sessions, then right",
            begin().chain(daily(2..12, 13 * 30 * 24)).chain(daily(12..29, 0)),
            None,
        ),
        story(
            "ahead by 13 months for ten days of sessions, then right for long",
            begin().chain(daily(2..12, 13 * 30 * 24)).chain(daily(12..60, 0)),
            Some((30 * 24 + 1, 46 * 24)),
        ),
        story("ahead by three days near the end", daily(0..29, 0).chain([(28 * 24 + 1, 72)]), None),
        story(
            "ahead further and further in an hour, three times",
            begin().chain((1..4).map(|jump| (30, jump * YEAR))).chain([(31, 0)]),
            None,
        ),
        story(
            "jumping both ways in mid-session",
            daily(0..29, 0)
                .zip([0, YEAR, -YEAR, 0, 40, -900].into_iter().cycle())
                .map(|((at, _), ahead)| (at, ahead)),
            None,
        ),
        story(
            "an hour forth and back, as with daylight saving in local time",
            (0..696).map(|at| (at, at % 2)),
            None,
        ),
        story(
            "two machines that differ by ten minutes, taken as an hour",
            (0..696).map(|at| (at, -(at % 2))).chain(daily(29..40, 0)),
            Some((30 * 24, 35 * 24)),
        ),
        story("suspended for 20 days", begin().chain(daily(22..29, 0)), None),
        story(
            "not used for two months, then daily",
            begin().chain(daily(60..90, 0)),
            Some((62 * 24, 78 * 24)),
        ),
        story(
            "one change a month",
            (0..14).map(|month| (month * 30 * 24, 0)),
            Some((60 * 24, 190 * 24)),
        ),
        story("one change a week", (0..20).map(|week| (week * 168, 0)), Some((31 * 24, 78 * 24))),
        story(
            "behind by 40 days for 20 days, then right",
            begin().chain(daily(2..22, -40 * 24)).chain(daily(22..29, 0)),
            None,
        ),
        story(
            "behind by 40 days for 20 days, then right for long",
            begin().chain(daily(2..22, -40 * 24)).chain(daily(22..90, 0)),
            Some((30 * 24 + 1, 60 * 24)),
        ),
        story(
            "ahead by a century for a month, then right: it goes on to count",
            daily(0..2, 0).chain(daily(2..32, 100 * YEAR)).chain(daily(32..80, 0)),
            Some((15 * 24, 80 * 24)),
        ),
    ]
}

#[test]
fn no_wrong_clock_ends_a_text_early() {
    for Story { name, changes, over } in stories() {
        let (mut seen, mut first, mut ended) = (Seen::default(), None, None);
        for (at, ahead) in changes {
            let before = seen.age;
            seen = seen_at(seen, clock(at + ahead), KEEP);
            assert!(seen.age >= before, "{name}: the age fell");
            // Changes of one moment see the same.
            assert_eq!(seen_at(seen, clock(at + ahead), KEEP), seen, "{name}, hour {at}");
            let first = *first.get_or_insert(seen.age);
            if ended.is_none() && first < is_over_below(&seen, KEEP) {
                ended = Some(at);
            }
        }
        match (over, ended) {
            (None, None) => {}
            (Some((from, to)), Some(at)) if (from..=to).contains(&at) => {}
            _ => panic!("{name}: over at hour {ended:?}, not within {over:?}"),
        }
    }
}

/// A clock that is watched and not believed hides nothing from those who only read.
#[test]
fn a_clock_that_is_far_ahead_ends_nothing_at_a_look() {
    let seen = (0..29).fold(Seen::default(), |seen, day| seen_at(seen, clock(day * 24), KEEP));
    for now in [clock(29 * 24), clock(29 * 24 + YEAR), clock(-EPOCH), 0, u64::MAX] {
        assert_eq!(is_over_below(&seen_at(seen, now, KEEP), KEEP), 0, "{now}");
    }
}

fn clock(hours: i64) -> u64 {
    u64::try_from((hours + EPOCH) * 3_600_000).unwrap_or_default()
}

const KEEP: u64 = 30 * 24 * 3_600_000;
/// Hours from 1970 until the stories begin.
const EPOCH: i64 = 491_000;
const YEAR: i64 = 365 * 24;
