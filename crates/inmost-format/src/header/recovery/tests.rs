//! Tests of recovery keys as text, and of the mistakes that typing makes.

use super::*;
use crate::assert_leaks_nowhere;

fn counting() -> RecoveryKey {
    RecoveryKey::new(SecretBytes::init_with(|key| {
        (0..).zip(key).for_each(|(value, byte)| *byte = value);
    }))
}

fn text() -> String {
    counting().to_text().expose().to_owned()
}

fn error_of(text: &str) -> Option<RecoveryKeyError> {
    RecoveryKey::parse(text).err()
}

fn characters() -> impl Iterator<Item = char> {
    ALPHABET.iter().map(|byte| char::from(*byte))
}

#[test]
fn a_key_is_read_as_it_was_printed() {
    assert_leaks_nowhere!(RecoveryKeyText);
    for key in [counting(), RecoveryKey::generate().unwrap(), RecoveryKey::generate().unwrap()] {
        let text = key.to_text();
        assert_eq!(text.expose().len(), 77);
        assert_eq!(RecoveryKey::parse(text.expose()).unwrap().expose(), key.expose());
    }
    let ones = RecoveryKey::new(SecretBytes::init_with(|key| key.fill(255)));
    assert!(ones.to_text().expose().contains("ZZZZ"));
    assert_eq!(RecoveryKey::parse(ones.to_text().expose()).unwrap().expose(), &[255; 32]);
}

#[test]
fn look_alike_characters_are_read_as_the_ones_in_use() {
    assert!(!ALPHABET.iter().any(|byte| b"ILOUilou".contains(byte)));
    let strict = text();
    assert!(strict.contains('0') && strict.contains('1'));
    for sloppy in [
        strict.to_lowercase(),
        strict.replace('0', "O").replace('1', "l"),
        strict.replace('0', "o").replace('1', "I"),
        strict.replace('-', ""),
        strict.replace('-', " \n"),
        strict.replace('-', "\u{2011}"),
        strict.replace('-', " \u{2013} "),
        format!("  {strict}\r\n"),
        strict.replace('-', "").chars().flat_map(|char| [char, ' ']).collect(),
    ] {
        assert_eq!(RecoveryKey::parse(&sloppy).unwrap().expose(), counting().expose());
    }
}

#[test]
fn every_wrong_character_is_noticed_in_its_group() {
    let right = text();
    for at in 0..right.len() {
        if right.as_bytes()[at] == b'-' {
            continue;
        }
        let group = group_at(at - at / 6);
        for other in
            characters().filter(|other| u32::from(right.as_bytes()[at]) != u32::from(*other))
        {
            let mut typed = right.clone();
            typed.replace_range(at..=at, &other.to_string());
            assert_eq!(error_of(&typed), Some(RecoveryKeyError::Typo { group }), "{typed}");
        }
        for other in ["U", "!", "é", "\0"] {
            let mut typed = right.clone();
            typed.replace_range(at..=at, other);
            assert_eq!(error_of(&typed), Some(RecoveryKeyError::NotACharacter { group }));
        }
    }
}

#[test]
fn characters_that_changed_places_are_noticed_in_their_group() {
    for key in [counting(), RecoveryKey::generate().unwrap()] {
        let right = key.to_text().expose().to_owned();
        let groups: Vec<&str> = right.split('-').collect();
        for (number, group) in groups.iter().enumerate() {
            for (one, other) in (0..5).flat_map(|one| (0..one).map(move |other| (one, other))) {
                let mut bytes = group.as_bytes().to_vec();
                bytes.swap(one, other);
                let swapped = String::from_utf8(bytes).unwrap();
                let mut typed = groups.clone();
                typed[number] = &swapped;
                let group = group_at(number * GROUP);
                let expected =
                    (swapped != groups[number]).then_some(RecoveryKeyError::Typo { group });
                assert_eq!(error_of(&typed.join("-")), expected);
            }
        }
    }
}

#[test]
fn groups_that_changed_places_are_noticed() {
    let right = text();
    for (one, other) in (0..GROUPS).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let mut typed: Vec<&str> = right.split('-').collect();
        typed.swap(one, other);
        let group = group_at(other * GROUP);
        assert_eq!(error_of(&typed.join("-")), Some(RecoveryKeyError::Typo { group }));
    }
}

#[test]
fn a_missing_or_additional_character_is_looked_for_in_its_group() {
    let right = text();
    for at in (0..right.len()).filter(|at| right.as_bytes()[*at] != b'-') {
        let group = group_at(at - at / 6);
        let mut short = right.clone();
        short.remove(at);
        // After the last group no further text shows where it ends.
        let expected = if group < 13 {
            RecoveryKeyError::GroupLength { group }
        } else {
            error_of(&short).unwrap()
        };
        assert_eq!(error_of(&short), Some(expected));
        let mut long = right.clone();
        long.insert(at, 'Z');
        let named = error_of(&long).unwrap();
        assert!(
            group == 13 || named == RecoveryKeyError::GroupLength { group },
            "{named} for {long}"
        );
    }
}

/// Groups are reported in order, so that a person who types a key finds the first mistake.
#[test]
fn a_broken_group_is_named_before_a_wrong_character_that_comes_after_it() {
    let mut groups: Vec<String> = text().split('-').map(str::to_owned).collect();
    groups[2].pop();
    groups[7].replace_range(1..2, "!");
    let broken = Some(RecoveryKeyError::GroupLength { group: 3 });
    assert_eq!(error_of(&groups.join("-")), broken);
    groups.swap(2, 7);
    assert_eq!(error_of(&groups.join("-")), Some(RecoveryKeyError::NotACharacter { group: 3 }));
}

#[test]
fn another_number_of_groups_is_the_wrong_length() {
    let right = text();
    for length in (5..right.len()).step_by(6) {
        assert_eq!(error_of(right.get(..length).unwrap()), Some(RecoveryKeyError::WrongLength));
    }
    assert_eq!(error_of(""), Some(RecoveryKeyError::WrongLength));
    assert_eq!(error_of(&format!("{right}-00000")), Some(RecoveryKeyError::WrongLength));
    assert_eq!(error_of(&" ".repeat(1_000_000)), Some(RecoveryKeyError::WrongLength));
}

#[test]
fn the_bits_after_the_key_are_zero() {
    // A last group with a valid check character, and a bit set that must be zero.
    let mut typed: Vec<String> = text().split('-').map(str::to_owned).collect();
    let mut data: Vec<u8> = typed[12].chars().filter_map(symbol).take(DATA).collect();
    data[3] |= 1;
    let check = check_symbol(12, &data);
    typed[12] = data.into_iter().chain([check]).filter_map(character).map(char::from).collect();
    assert_eq!(error_of(&typed.join("-")), Some(RecoveryKeyError::Typo { group: 13 }));
}
