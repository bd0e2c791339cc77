//! Cuts, numbers, insertions and sizes against naive ones.

use super::input::Input;
use super::model;
use crate::vfs::listing::{self, Item};
use crate::vfs::path::MemoryPath;
use crate::vfs::text::{self, Cut, Extent, Shown};

pub(super) fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(4) {
        0 => cuts(&mut input),
        1 => insertions(&mut input),
        2 => lines(&mut input),
        _ => sizes(&mut input),
    }
}

fn cuts(input: &mut Input<'_>) {
    let limit = input.pick(&[0, 1, 2, 5, 16_000]) + input.below(4);
    let first = 1 + u64::try_from(input.below(1_000)).unwrap();
    let requested = any_text(input);
    let Cut { text, shown } = text::cut(&requested, first, limit);

    let characters = |text: &str| text.chars().count();
    let lines = model::lines(&requested);
    let mut sum = 0;
    let fitting = lines.iter().take_while(|line| {
        sum += characters(line);
        sum <= limit
    });
    let fitting = fitting.count();
    match shown {
        Shown::All => {
            assert_eq!(text, requested);
            assert!(characters(text) <= limit);
        }
        Shown::Lines { last } => {
            assert_eq!(text, lines[..fitting].concat());
            assert!(fitting > 0 && fitting < lines.len());
            assert_eq!(last, first + u64::try_from(fitting).unwrap() - 1);
        }
        Shown::PartOfFirstLine { characters: all, shown } => {
            assert_eq!(fitting, 0);
            assert_eq!(text, requested.chars().take(limit).collect::<String>());
            assert_eq!(shown, u64::try_from(characters(text)).unwrap());
            let line = lines[0].strip_suffix('\n').unwrap_or(lines[0]);
            assert_eq!(all, u64::try_from(characters(line)).unwrap());
        }
    }
    lazily(input, &requested, first, limit);
}

/// Reading until it is enough cuts like reading all.
fn lazily(input: &mut Input<'_>, requested: &str, first: u64, limit: usize) {
    let mut extent = Extent::default();
    let mut read = String::new();
    let width = 1 + input.below(40);
    let characters: Vec<char> = requested.chars().collect();
    for piece in characters.chunks(width) {
        let piece: String = piece.iter().collect();
        read.push_str(&piece);
        if extent.is_enough_after(&piece, limit) {
            break;
        }
    }
    assert!(text::cut(&read, first, limit) == text::cut(requested, first, limit));
}

fn insertions(input: &mut Input<'_>) {
    let (file, new) = (any_text(input), any_text(input));
    let lines = model::lines(&file);
    let line = input.below(lines.len() + 1);
    let offset = lines[..line].concat().len();
    let at_open_end = offset == file.len() && text::is_unclosed(&file);
    let mut spliced = file.clone();
    spliced.insert_str(offset, &text::insertion(&new, at_open_end));
    assert_eq!(spliced, model::insertion(&file, line, &new));
}

fn lines(input: &mut Input<'_>) {
    let first = input.pick(&[1, 7, 99_998, 999_999, u64::MAX - 1_000_000]);
    let text = any_text(input);
    let lines = model::lines(&text);
    assert_eq!(text::count_lines(&text), u64::try_from(lines.len()).unwrap());

    let mut out = String::new();
    text::number_lines(first, &text, &mut out);
    assert_eq!(out, model::numbered(usize::try_from(first).unwrap(), &lines));
    assert!(out.len() <= text::numbered_size(&text), "the buffer has grown");

    let wanted = input.below(lines.len() + 2);
    let (head, newlines) = text::first_lines(&text, u64::try_from(wanted).unwrap());
    assert_eq!(head, lines[..wanted.min(lines.len())].concat());
    assert_eq!(newlines, text::count_newlines(head));
}

fn sizes(input: &mut Input<'_>) {
    let mut bytes = [0; 8];
    for byte in &mut bytes {
        *byte = input.byte();
    }
    // No test needs more than a float can hold exactly.
    let bytes = u64::from_le_bytes(bytes) >> (11 + input.below(53));
    assert_eq!(listing::size(bytes), model::size(bytes));

    let name = any_text(input);
    let item = Item { folder: input.one_in(2).then_some("x"), name: &name, is_folder: true, bytes };
    let mut out = inmost_format::secret::Wiped::new(String::new());
    listing::push_item(&MemoryPath::root(), &item, &mut out);
    let folder = item.folder.map_or(String::new(), |folder| format!("{folder}/"));
    assert_eq!(*out, format!("\n{}\t/memories/{folder}{name}/", model::size(bytes)));
}

fn any_text(input: &mut Input<'_>) -> String {
    if input.one_in(4) {
        return String::from_utf8_lossy(input.bytes(2_000)).into_owned();
    }
    input.text().chars().take(40_000).collect()
}
