//! Lengths of time and moments, as people type and read them.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A number and a unit. Not `humantime`: it takes `1M` for a month, where a slip of the shift key would keep a store
/// unlocked for weeks.
pub fn parse_length(text: &str) -> Result<Duration, &'static str> {
    let expected = "expected a number with s, m, h or d";
    let split = text.len().saturating_sub(1);
    let (number, unit) = text.split_at_checked(split).ok_or(expected)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(expected),
    };
    let number = number.parse::<u64>().ok().filter(|number| *number > 0).ok_or(expected)?;
    let seconds = number.checked_mul(seconds).filter(|all| *all <= CENTURY);
    seconds.map(Duration::from_secs).ok_or(TOO_LONG)
}

/// A moment: so long ago, a day or a time of this machine's time zone, or a time with its offset.
pub fn parse_moment(text: &str) -> Result<SystemTime, &'static str> {
    match parse_length(text) {
        Ok(length) => {
            return Ok(SystemTime::now().checked_sub(length).unwrap_or(SystemTime::UNIX_EPOCH));
        }
        Err(TOO_LONG) => return Err(TOO_LONG),
        Err(_) => {}
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.into());
    }
    let time = text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::system()));
    time.map(|time| time.timestamp().into()).map_err(|_| {
        "expected 2h or 3d for so long ago, a day such as 2026-11-21, or a time such as 2026-11-21T18:30:00Z"
    })
}

/// A moment in this machine's time zone, to the second.
pub fn local(time: SystemTime) -> String {
    shown(time, "%Y-%m-%d %H:%M:%S")
}

/// A moment in this machine's time zone, to the minute.
pub fn local_minute(time: SystemTime) -> String {
    shown(time, "%Y-%m-%d %H:%M")
}

fn shown(time: SystemTime, format: &str) -> String {
    match Timestamp::try_from(time) {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime(format).to_string(),
        // Only a damaged store has a time that no calendar has.
        Err(_) => "?".to_owned(),
    }
}

/// Why a length with a number and a unit is refused.
pub const TOO_LONG: &str = "expected less than a hundred years";

/// In seconds.
const CENTURY: u64 = 100 * 365 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_with_a_unit() {
        for (text, seconds) in [("1s", 1), ("15m", 900), ("8h", 28_800), ("365d", 365 * 86_400)] {
            assert_eq!(parse_length(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse_length("99999d"), Err(TOO_LONG));
        assert_eq!(parse_moment("99999d"), Err(TOO_LONG));
        for text in
            ["", "m", "15", "0s", "-1m", "1.5h", "36501d", "1w", "99999999999999999999s", "1\u{e9}"]
        {
            assert!(parse_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_moment_is_long_ago_a_day_or_a_time() {
        let two_hours_ago = || SystemTime::now() - Duration::from_secs(7_200);
        let before = two_hours_ago();
        let ago = parse_moment("2h").unwrap();
        assert!(before <= ago && ago <= two_hours_ago(), "{ago:?}");
        let at = |text: &str| {
            let time = parse_moment(text).unwrap();
            time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
        };
        assert_eq!(at("2026-11-21T18:30:00Z"), 1_795_285_800);
        assert_eq!(at("2026-11-21T18:30:00+02:00"), 1_795_285_800 - 7_200);
        assert_eq!(at("2026-11-21T18:30"), at("2026-11-21") + 18 * 3_600 + 1_800);
        assert_eq!(local(parse_moment("2026-11-21T18:30:05").unwrap()), "2026-11-21 18:30:05");
        for text in ["", "yesterday", "2026-13-01", "21.11.2026", "-2h", "2026-11-21T25:00:00Z"] {
            assert!(parse_moment(text).is_err(), "{text}");
        }
    }
}
