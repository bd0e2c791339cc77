use super::*;

/// Numbers on both sides of each border between their lengths.
const NUMBERS: [u64; 9] =
    [0, 250, 251, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, 1_700_000_000_000, u64::MAX];

/// An entry that differs in every field from the one of the next number.
fn entry(number: usize) -> Entry {
    let field = |place: usize| NUMBERS[(number + place) % NUMBERS.len()];
    let info = FileInfo {
        bytes: field(0),
        lines: field(1),
        created: field(2),
        modified: field(3),
        head: field(4),
        lowest: field(5),
        number: field(6),
        version: field(7),
        flags: Extension::default(),
    };
    let what = if number % 4 == 3 { What::Folder } else { What::File(info) };
    let byte = u8::try_from(number).unwrap();
    let name = Name::new(&"é".repeat(number % 150));
    let mut entry = Entry::new(name, ObjectId([byte; 16]), Tag([!byte; 16]), what);
    let writer = Writer { session: [byte; 16], time: field(8) };
    entry.writer = number.is_multiple_of(3).then_some(writer);
    entry
}

fn assert_direct<T: Serialize + DirectEncode>(value: &T) {
    let length = codec::encoded_len(value).unwrap();
    assert_eq!(codec::direct_len(value), Ok(length));
    let (mut expected, mut found) = (vec![7; length + 1], vec![7; length + 1]);
    codec::encode(value, &mut expected).unwrap();
    assert_eq!(codec::encode_direct(value, &mut found), Ok(length));
    assert_eq!(found, expected);
    assert_eq!(codec::encode_direct(value, &mut found[..length - 1]), Err(CodecError));
}

#[test]
fn folders_write_the_bytes_that_serde_writes() {
    let totals = Totals {
        visible_children: 1,
        visible_grandchildren: 2,
        visible_bytes: 1 << 40,
        files: u64::MAX,
        bytes: 5,
    };
    for count in [0, 1, 2, 250, 251] {
        let entries = Entries((0..count).map(entry).collect());
        assert_direct(&entries);
        let next_index = 9 << 32;
        assert_direct(&Folder { next_index, totals, body: Body::Inline(entries) });
    }
    (0..NUMBERS.len() * 12).for_each(|number| assert_direct(&entry(number)));
    let refs = NUMBERS.map(|number| {
        let first = Name::new(&"x".repeat(usize::try_from(number % 300).unwrap()));
        (number, Tag([3; 16]), EntryRange { count: !number, first })
    });
    let inner = Inner::of(2, refs.into());
    assert_direct(&inner);
    assert_direct(&Folder { next_index: 1, totals, body: Body::Tree(inner) });
}

#[test]
fn no_entry_is_longer_than_the_longest() {
    for (number, slack) in [(u64::MAX, 6), (0, 70)] {
        let name = Name::new(&"é".repeat(200));
        let info = FileInfo {
            bytes: number,
            lines: number,
            head: number,
            lowest: number,
            number,
            version: number,
            ..FileInfo::of_times(number, number)
        };
        let mut entry = Entry::new(name, ObjectId([9; 16]), Tag([9; 16]), What::File(info));
        entry.writer = Some(Writer { session: [9; 16], time: u64::MAX });
        assert_eq!(codec::encoded_len(&entry).unwrap() + slack, entry.most_bytes());
        let totals = Totals::default();
        let body = Body::Inline(Entries(vec![entry.clone(); 2]));
        let folder = Folder { next_index: number, totals, body };
        let most = FOLDER_BYTES + 2 * entry.most_bytes();
        assert_eq!(codec::encoded_len(&folder).unwrap() + 8 + 2 * slack, most);
    }
}
