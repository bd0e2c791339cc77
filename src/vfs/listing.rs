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
    push_line(bytes, &[folder.as_str()], out);
}

/// Appends `\n` and the line of an entry below the viewed folder.
pub(crate) fn push_item(viewed: &MemoryPath, item: &Item<'_>, out: &mut Wiped<String>) {
    let (folder, slash) = item.folder.map_or(("", ""), |folder| (folder, "/"));
    let end = if item.is_folder { "/" } else { "" };
    push_line(item.bytes, &[viewed.as_str(), "/", folder, slash, item.name, end], out);
}

fn push_line(bytes: u64, path: &[&str], out: &mut Wiped<String>) {
    let length = path.iter().fold(SIZE_BYTES + 2, |sum, part| sum.saturating_add(part.len()));
    // Nothing below grows the text, which would leave a copy.
    out.make_room(length);
    out.push('\n');
    push_size(bytes, out);
    out.push('\t');
    for part in path {
        out.push_str(part);
    }
}

/// Formats a size as the memory tool shows it: `0B` to `1023B`, then with one decimal in `K`, `M` or `G` of 1024, rounded
/// half to even.
///
/// A value that would be rounded to 1024 is shown in the next unit. There is no unit above `G`.
///
/// ```
/// assert_eq!([1_023, 1_280, 1_048_575].map(inmost::human_size), ["1023B", "1.2K", "1.0M"]);
/// ```
#[must_use]
pub fn human_size(bytes: u64) -> String {
    let mut text = String::with_capacity(SIZE_BYTES);
    push_size(bytes, &mut text);
    text
}

/// Appends a size, of at most [`SIZE_BYTES`].
fn push_size(bytes: u64, out: &mut String) {
    const KIB: u64 = 1 << 10;
    const UNITS: [(u64, char); 2] = [(KIB, 'K'), (KIB << 10, 'M')];

    let mut digits = itoa::Buffer::new();
    if bytes < KIB {
        out.push_str(digits.format(bytes));
        out.push('B');
        return;
    }
    let mut in_units = UNITS.iter().map(|(unit, letter)| (tenths(bytes, *unit), *letter));
    let fitting = in_units.find(|(tenths, _)| *tenths < KIB * 10);
    let (tenths, letter) = fitting.unwrap_or_else(|| (tenths(bytes, KIB << 20), 'G'));
    out.push_str(digits.format(tenths / 10));
    out.push('.');
    out.push_str(digits.format(tenths % 10));
    out.push(letter);
}

/// `bytes / unit` in tenths. Halves are rounded to the even tenth, as `{:.1}` does.
///
/// Integers are exact for every size; `unit` is a power of two, so exact halves do occur.
fn tenths(bytes: u64, unit: u64) -> u64 {
    let (bytes, unit) = (u128::from(bytes) * 10, u128::from(unit));
    let (whole, rest) = (bytes / unit, bytes % unit * 2);
    let up = rest > unit || (rest == unit && whole % 2 == 1);
    // Units begin at 1,024, so the result has at most 58 bits.
    u64::try_from(whole).unwrap_or(u64::MAX).saturating_add(u64::from(up))
}

/// Bytes of the longest size, `17179869184.0G`.
const SIZE_BYTES: usize = 14;

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
