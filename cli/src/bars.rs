//! Bars made of characters. Does no I/O.

/// A bar of at most `width` columns for a part of the largest one, in eighths of a column. A part that is not 0 is never
/// invisible.
pub(crate) fn bar(part: u64, largest: u64, width: u64) -> String {
    if part == 0 || largest == 0 {
        return String::new();
    }
    let eighths = u128::from(part.min(largest)) * u128::from(width) * 8 / u128::from(largest);
    let eighths = usize::try_from(eighths).unwrap_or(usize::MAX).max(1);
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(
        (eighths % 8).checked_sub(1).and_then(|rest| ['▏', '▎', '▍', '▌', '▋', '▊', '▉'].get(rest)),
    );
    bar
}

/// One column for each number, as high as its part of the largest one. 0 is a dot.
pub(crate) fn columns(numbers: &[u64]) -> String {
    let largest = numbers.iter().copied().max().unwrap_or_default();
    let column = |number: &u64| {
        let height = (u128::from(*number) * 8).div_ceil(u128::from(largest.max(1)));
        let index = usize::try_from(height).unwrap_or_default();
        ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'].get(index).copied().unwrap_or('█')
    };
    numbers.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part() {
        for (part, largest, expected) in [
            (8, 8, "████"),
            (4, 8, "██"),
            (5, 8, "██▌"),
            (1, 1_000, "▏"),
            (0, 8, ""),
            (0, 0, ""),
            (u64::MAX, u64::MAX, "████"),
        ] {
            assert_eq!(bar(part, largest, 4), expected, "{part} of {largest}");
        }
    }

    #[test]
    fn a_column_is_as_high_as_its_number() {
        assert_eq!(columns(&[0, 1, 4, 8]), "·▁▄█");
        assert_eq!(columns(&[0, 1, 1_000]), "·▁█");
        assert_eq!(columns(&[u64::MAX, 0]), "█·");
        assert_eq!(columns(&[0, 0]), "··");
        assert_eq!(columns(&[]), "");
    }
}
