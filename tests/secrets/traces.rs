//! The search for traces of secrets: unique words, the forms in which a secret can be stored, and one pass
//! that searches for all of them.
//!
//! A trace is any run of a needle's bytes that is too long to be chance, so half of a key in a freed block is
//! found too.

pub(crate) mod keys;

use std::collections::HashMap;
use std::fmt::Write;

use blake2::Blake2bMac512;
use blake2::digest::{FixedOutput, KeyInit, Update};
use unicode_normalization::UnicodeNormalization;

/// Returns a word of 24 letters that occurs only where a test uses it. The same label gives the same word.
pub(crate) fn word(label: &str) -> String {
    let mut mac = Blake2bMac512::new_from_slice(b"canary").unwrap();
    mac.update(label.as_bytes());
    let hash = mac.finalize_fixed();
    hash.iter().take(24).map(|byte| char::from(b'a' + byte % 26)).collect()
}

/// Bytes to search for, in one form.
pub(crate) struct Needle {
    /// The name of the secret.
    pub(crate) name: String,
    /// The name of the form.
    pub(crate) form: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// The number of consecutive bytes that count as a trace.
    window: usize,
}

impl Needle {
    /// Returns the bytes of the first needle in this form.
    pub(crate) fn form(needles: Vec<Self>, form: &str) -> Vec<u8> {
        needles.into_iter().find(|needle| needle.form == form).unwrap().bytes
    }
}

/// Returns every form in which a text could be stored.
pub(crate) fn of_text(name: &str, text: &str) -> Vec<Needle> {
    let composed: String = text.nfc().collect();
    let decomposed: String = text.nfd().collect();
    let mut texts = vec![("", composed)];
    if texts[0].1 != decomposed {
        texts.push((" NFD", decomposed));
    }
    let mut needles = Vec::new();
    for (_, text) in &texts {
        let utf16: Vec<u16> = text.encode_utf16().collect();
        let le = utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let be = utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let wide = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        for (form, bytes, factor) in
            [("UTF-16LE", le, 2), ("UTF-16BE", be, 2), ("UTF-32LE", wide, 4)]
        {
            needles.push(Needle { name: name.into(), form, bytes, window: WINDOW * factor });
        }
        needles.extend(of_bytes(name, text.as_bytes()));
    }
    needles
}

/// Returns the needles for the words of these labels.
pub(crate) fn of_words(labels: &[String]) -> Vec<Needle> {
    labels.iter().flat_map(|label| of_text(label, &word(label))).collect()
}

/// Returns bytes unchanged, in hexadecimal, and in base64 at each of the three positions in its groups.
pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Vec<Needle> {
    let hex = |upper: bool| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = if upper { write!(text, "{byte:02X}") } else { write!(text, "{byte:02x}") };
            text
        })
    };
    let mut forms = vec![
        ("plain", bytes.to_vec(), WINDOW),
        ("hex", hex(false).into_bytes(), 2 * WINDOW),
        ("HEX", hex(true).into_bytes(), 2 * WINDOW),
    ];
    for shift in 0..3 {
        forms.push(("base64", base64_within(bytes, shift), WINDOW * 4 / 3));
    }
    let needle = |(form, bytes, window)| Needle { name: name.to_owned(), form, bytes, window };
    forms.into_iter().map(needle).collect()
}

/// Returns the base64 characters of `bytes` after `shift` other bytes, without those that depend on their
/// neighbours.
fn base64_within(bytes: &[u8], shift: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
    let mut text: Vec<u8> = bytes
        .chunks_exact(3)
        .flat_map(|three| {
            let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
            [18, 12, 6, 0].map(|by| ALPHABET[usize::try_from(bits >> by & 63).unwrap()])
        })
        .collect();
    text.drain(..(8 * shift).div_ceil(6));
    text
}

/// Searches for all needles in one pass.
pub(crate) struct Search {
    needles: Vec<Needle>,
    /// Windows by their first eight bytes.
    windows: HashMap<u64, Vec<(usize, usize)>>,
    /// Whether a window begins with these four bytes, by [`slot`]. Most positions are settled here, so this is what a search costs.
    begins: Vec<bool>,
}

/// A run of a needle's bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Trace {
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) form: &'static str,
    /// The length of the run and of the needle, in bytes.
    pub(crate) length: (usize, usize),
}

impl Search {
    pub(crate) fn new(needles: Vec<Needle>) -> Self {
        let mut windows: HashMap<u64, Vec<_>> = HashMap::new();
        let mut begins = vec![false; 1 << 20];
        for (number, needle) in needles.iter().enumerate() {
            assert!(needle.bytes.len() >= needle.window, "{} is too short", needle.name);
            for at in 0..=needle.bytes.len() - needle.window {
                windows.entry(eight(&needle.bytes[at..])).or_default().push((number, at));
                let first = needle.bytes[at..at + 4].try_into().unwrap();
                begins[slot(u32::from_le_bytes(first))] = true;
            }
        }
        Self { needles, windows, begins }
    }

    pub(crate) fn traces(&self, bytes: &[u8]) -> Vec<Trace> {
        let mut traces = Vec::new();
        let (mut four, mut next) = (0, 3);
        for (last, byte) in bytes.iter().enumerate() {
            four = four >> 8 | u32::from(*byte) << 24;
            if last < next || !self.begins[slot(four)] {
                continue;
            }
            if let Some(trace) = self.trace(bytes, last - 3) {
                next = last + trace.length.0;
                traces.push(trace);
            }
        }
        traces
    }

    fn trace(&self, bytes: &[u8], at: usize) -> Option<Trace> {
        let here = bytes.get(at..).filter(|here| here.len() >= 8)?;
        self.windows.get(&eight(here))?.iter().find_map(|(number, from)| {
            let needle = &self.needles[*number];
            let rest = &needle.bytes[*from..];
            let length = rest.iter().zip(here).take_while(|(one, other)| one == other).count();
            (length >= needle.window).then(|| Trace {
                at,
                name: needle.name.clone(),
                form: needle.form,
                length: (length, needle.bytes.len()),
            })
        })
    }
}

/// Traces counted by secret and place.
#[cfg(target_os = "linux")]
pub(crate) type Counts = std::collections::BTreeMap<(String, String), usize>;

/// Returns 20 bits that four bytes are spread over.
fn slot(four: u32) -> usize {
    usize::try_from(four.wrapping_mul(0x9E37_79B1) >> 12).unwrap()
}

fn eight(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// The number of consecutive bytes that cannot be chance: 96 bits of a key, twelve letters of a word.
const WINDOW: usize = 12;

#[test]
fn every_form_of_a_needle_is_found_and_parts_of_it_too() {
    let secret = format!("{} caf\u{e9}", word("the search itself"));
    let search = Search::new(of_text("secret", &secret));
    for needle in of_text("secret", &secret) {
        let mut hay = vec![1; 100];
        hay.extend(&needle.bytes);
        hay.extend([1; 100]);
        let found = search.traces(&hay);
        assert_eq!(found.len(), 1, "{}", needle.form);
        assert_eq!(found[0].at, 100, "{}", needle.form);
        let part = &needle.bytes[needle.bytes.len() - needle.window..];
        assert_eq!(search.traces(part).len(), 1, "the end of {}", needle.form);
        assert_eq!(search.traces(&part[1..]).len(), 0, "chance in {}", needle.form);
    }
}
