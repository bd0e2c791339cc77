//! Formats sizes and the lines of a folder listing.
//!
//! The entries, their order and the cut are decided where folders are read. The header and the last line of a listing
//! are texts of the tool.

use super::path::MemoryPath;
use inmost_format::secret::Wiped;

/// One line below the first of a listing.
pub(crate) struct Item<'a> {
    /// The sub-folder in between, for an entry two levels below the viewed folder.
    pub(crate) folder: Option<&'a str>,
    /// The name.
    pub(crate) name: &'a str,
    /// Whether it is a folder; a folder's line ends in `/`.
    pub(crate) is_folder: bool,
    /// Bytes of the file, or of all visible files below the folder.
    pub(crate) bytes: u64,
}

/// Appends `\n` and the line of the viewed folder, which does not end in `/`.
pub(crate) fn push_first_line(folder: &MemoryPath, bytes: u64, out: &mut Wiped<String>) {
    push(out, &["\n", &human_size(bytes), "\t", folder.as_str()]);
}

/// Appends `\n` and the line of an entry below the viewed folder.
pub(crate) fn push_item(viewed: &MemoryPath, item: &Item<'_>, out: &mut Wiped<String>) {
    push(out, &["\n", &human_size(item.bytes), "\t", viewed.as_str(), "/"]);
    if let Some(folder) = item.folder {
        push(out, &[folder, "/"]);
    }
    push(out, &[item.name, if item.is_folder { "/" } else { "" }]);
}

/// Formats a size as `du -h` does: `0B` to `1023B`, then with one decimal in `K`, `M` or `G`.
///
/// A value that would be rounded to 1024 is shown in the next unit. There is no unit above `G`.
///
/// ```
/// assert_eq!([1_023, 1_280, 1_048_575].map(inmost::human_size), ["1023B", "1.2K", "1.0M"]);
/// ```
#[must_use]
pub fn human_size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const UNITS: [(u64, char); 2] = [(KIB, 'K'), (KIB << 10, 'M')];

    if bytes < KIB {
        return format!("{bytes}B");
    }
    for (unit, letter) in UNITS {
        let tenths = tenths(bytes, unit);
        if tenths < u128::from(KIB * 10) {
            return one_decimal(tenths, letter);
        }
    }
    one_decimal(tenths(bytes, KIB << 20), 'G')
}

/// `bytes / unit` in tenths. Halves are rounded to the even tenth, as `{:.1}` does.
///
/// Integers are exact for every size; `unit` is a power of two, so exact halves do occur.
fn tenths(bytes: u64, unit: u64) -> u128 {
    let (bytes, unit) = (u128::from(bytes) * 10, u128::from(unit));
    let (whole, rest) = (bytes / unit, bytes % unit * 2);
    let up = rest > unit || (rest == unit && whole % 2 == 1);
    whole + u128::from(up)
}

fn one_decimal(tenths: u128, letter: char) -> String {
    format!("{}.{}{letter}", tenths / 10, tenths % 10)
}

fn push(out: &mut Wiped<String>, parts: &[&str]) {
    for part in parts {
        out.append(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_step_up_at_every_edge() {
        for (bytes, expected) in [
            (0, "0B"),
            (1, "1B"),
            (1_023, "1023B"),
            (1_024, "1.0K"),
            (1_075, "1.0K"),
            (1_076, "1.1K"),
            (1_536, "1.5K"),
            (4_096, "4.0K"),
            (1_048_524, "1023.9K"),
            (1_048_525, "1.0M"),
            (1_048_575, "1.0M"),
            (1_048_576, "1.0M"),
            (1_258_291, "1.2M"),
            ((1 << 30) - 1, "1.0G"),
            (1 << 30, "1.0G"),
            (1 << 40, "1024.0G"),
            (u64::MAX, "17179869184.0G"),
        ] {
            assert_eq!(human_size(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn ties_go_to_the_even_tenth() {
        for (bytes, expected) in [
            (1_280, "1.2K"),                     // 1.25
            (1_792, "1.8K"),                     // 1.75
            (1_024 * 2 + 256, "2.2K"),           // 2.25
            (1_024 * 2 + 768, "2.8K"),           // 2.75
            ((1 << 20) + (1 << 18), "1.2M"),     // 1.25
            ((1 << 30) + 3 * (1 << 28), "1.8G"), // 1.75
        ] {
            assert_eq!(human_size(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn sizes_agree_with_the_formatting_of_floats() {
        let mut bytes = 1_024_u64;
        while bytes < 1 << 45 {
            let mut value = bytes.to_string().parse::<f64>().unwrap() / 1_024.0;
            let mut text = format!("{value:.1}K");
            for letter in ['M', 'G'] {
                if !text.starts_with("1024.0") && value < 1_024.0 {
                    break;
                }
                value /= 1_024.0;
                text = format!("{value:.1}{letter}");
            }
            assert_eq!(human_size(bytes), text, "{bytes}");
            bytes += 1 + bytes / 4_099;
        }
    }

    #[test]
    fn only_folders_below_the_viewed_one_end_in_a_slash() {
        let folder = MemoryPath::parse("/memories/a").unwrap();
        let mut out = Wiped::new("header".to_owned());
        push_first_line(&folder, 1_536, &mut out);
        let below = Item { folder: None, name: "b", is_folder: true, bytes: 0 };
        push_item(&folder, &below, &mut out);
        let two_below = Item { folder: Some("b"), name: "c", is_folder: false, bytes: 7 };
        push_item(&folder, &two_below, &mut out);
        assert_eq!(*out, "header\n1.5K\t/memories/a\n0B\t/memories/a/b/\n7B\t/memories/a/b/c");
    }
}
