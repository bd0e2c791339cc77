//! Numbers of bytes, as people type them.

/// A number of bytes, or of KiB, MiB or GiB with the letter `K`, `M` or `G`.
pub(crate) fn parse(text: &str) -> Result<u64, &'static str> {
    let expected = "expected a number of bytes, or one with K, M or G";
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) => (number, text.get(number.len()..).unwrap_or_default()),
        None => (text, ""),
    };
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    let number: u64 = number.parse().map_err(|_| expected)?;
    number.checked_mul(1 << shift).ok_or(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_may_have_a_unit() {
        for (text, bytes) in
            [("0", 0), ("12", 12), ("3K", 3_072), ("64M", 64 << 20), ("2G", 2 << 30)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "1k", "1.5M", "-1", "1MB", "99999999999G", "1\u{e9}"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
