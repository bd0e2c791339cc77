//! The rule by which a history of calls on one file is judged; see `tests/store/linearizable.rs`.

use std::collections::HashMap;

/// A call on one file.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) is_write: bool,
    pub(crate) text: String,
}

/// The span of the calls on one text.
struct Zone {
    from: u64,
    to: u64,
    /// Whether the text must have been present all the time. Otherwise it appeared and was replaced within
    /// the zone.
    stood: bool,
}

/// Checks the history of one file. Returns the reason if it is not linearizable.
pub(crate) fn judge(calls: &[Call]) -> Result<(), String> {
    let mut by_text: HashMap<&str, Vec<&Call>> = HashMap::new();
    for call in calls {
        by_text.entry(&call.text).or_default().push(call);
    }
    let mut zones = Vec::new();
    for (text, calls) in by_text {
        let writes: Vec<_> = calls.iter().filter(|call| call.is_write).collect();
        let [write] = writes[..] else {
            return Err(format!("{text} was written {} times", writes.len()));
        };
        if let Some(read) = calls.iter().find(|call| call.end < write.begin) {
            return Err(format!("{read:?} returned before {write:?} began"));
        }
        let earliest_end = calls.iter().map(|call| call.end).min().unwrap();
        let latest_begin = calls.iter().map(|call| call.begin).max().unwrap();
        let (from, to) = (earliest_end.min(latest_begin), earliest_end.max(latest_begin));
        zones.push((text, Zone { from, to, stood: earliest_end < latest_begin }));
    }
    for (text, zone) in zones.iter().filter(|(_, zone)| zone.stood) {
        for (other_text, other) in &zones {
            if text == other_text {
                continue;
            }
            let wrong = if other.stood {
                zone.from < other.to && other.from < zone.to
            } else {
                zone.from < other.from && other.to < zone.to
            };
            if wrong {
                return Err(format!("{other_text} came between calls that saw {text}"));
            }
        }
    }
    Ok(())
}
