//! Keyfiles, and recovery keys as text.

use serde::Deserialize;

use super::{Hex, patched, secret};
use crate::crypto::keys::{Keyfile, RecoveryKey};

#[derive(Deserialize)]
struct Vectors {
    keyfiles: Keyfiles,
    recovery_keys: RecoveryKeys,
}

#[derive(Deserialize)]
struct Keyfiles {
    opens: Vec<File>,
    refused: Vec<RefusedFile>,
}

#[derive(Deserialize)]
struct File {
    secret: Hex,
    keyfile: Hex,
}

#[derive(Deserialize)]
struct RefusedFile {
    name: String,
    of: usize,
    length: usize,
    patches: Vec<(usize, Hex)>,
    error: String,
}

#[derive(Deserialize)]
struct RecoveryKeys {
    opens: Vec<Text>,
    read: Vec<OtherText>,
    refused: Vec<RefusedText>,
}

#[derive(Deserialize)]
struct Text {
    key: Hex,
    text: String,
}

#[derive(Deserialize)]
struct OtherText {
    name: String,
    of: usize,
    text: String,
}

#[derive(Deserialize)]
struct RefusedText {
    name: String,
    text: String,
    error: String,
    group: Option<u8>,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../../tests/vectors/credentials.json")).unwrap()
}

#[test]
fn the_keyfiles_of_the_vectors_open_and_their_changes_are_refused() {
    let Keyfiles { opens, refused } = vectors().keyfiles;
    assert_eq!((opens.len(), refused.len()), (3, 42));
    for case in &opens {
        assert_eq!(Keyfile::new(secret(&case.secret)).to_bytes().expose(), case.keyfile.0);
        assert_eq!(Keyfile::parse(&case.keyfile.0).unwrap().expose(), &case.secret.array());
        let read = Keyfile::read(&*case.keyfile.0).unwrap();
        assert_eq!(read.unwrap().expose(), &case.secret.array());
    }
    for case in &refused {
        let bytes = patched(&opens[case.of].keyfile, case.length, &case.patches);
        let expected = match case.error.as_str() {
            "UnknownVersion" => {
                format!("UnknownVersion({})", u16::from_le_bytes([bytes[8], bytes[9]]))
            }
            other => other.to_owned(),
        };
        for found in [Keyfile::parse(&bytes), Keyfile::read(&*bytes).unwrap()] {
            let error = found.err().expect(&case.name);
            assert_eq!(format!("{error:?}"), expected, "{}", case.name);
        }
    }
}

#[test]
fn recovery_keys_have_the_texts_of_the_vectors_and_other_texts_are_refused() {
    let RecoveryKeys { opens, read, refused } = vectors().recovery_keys;
    assert_eq!((opens.len(), read.len(), refused.len()), (5, 50, 80));
    for case in &opens {
        assert_eq!(RecoveryKey::new(secret(&case.key)).to_text().expose(), case.text);
        assert_eq!(RecoveryKey::parse(&case.text).unwrap().expose(), &case.key.array());
    }
    for case in &read {
        let key = RecoveryKey::parse(&case.text).expect(&case.name);
        assert_eq!(key.expose(), &opens[case.of].key.array(), "{}", case.name);
    }
    for case in refused {
        let error = RecoveryKey::parse(&case.text).err().expect(&case.name);
        let group = case.group.map(|group| format!(" {{ group: {group} }}"));
        assert_eq!(format!("{error:?}"), case.error + &group.unwrap_or_default(), "{}", case.name);
    }
}
