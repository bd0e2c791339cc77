//! Compares truncation, line numbers, insertions and sizes with naive code.

use inmost::internals::{
    Cut, Path, count_lines, cut, enough_pieces, first_lines, insertion, listing_line, number_lines,
};

use crate::input::Input;
use crate::naive;

pub(crate) fn run(data: &[u8]) {
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
    let Cut { text, last_line, part_of_line } = cut(&requested, first, limit);

    let characters = |text: &str| text.chars().count();
    let lines = naive::lines(&requested);
    let mut sum = 0;
    let fitting = lines.iter().take_while(|line| {
        sum += characters(line);
        sum <= limit
    });
    let fitting = fitting.count();
    match (last_line, part_of_line) {
        (None, None) => {
            assert_eq!(text, requested);
            assert!(characters(text) <= limit);
        }
        (Some(last), None) => {
            assert_eq!(text, lines[..fitting].concat());
            assert!(fitting > 0 && fitting < lines.len());
            assert_eq!(last, first + u64::try_from(fitting).unwrap() - 1);
        }
        (None, Some((all, shown))) => {
            assert_eq!(fitting, 0);
            assert_eq!(text, requested.chars().take(limit).collect::<String>());
            assert_eq!(shown, u64::try_from(characters(text)).unwrap());
            let line = lines[0].strip_suffix('\n').unwrap_or(lines[0]);
            assert_eq!(all, u64::try_from(characters(line)).unwrap());
        }
        (Some(_), Some(_)) => {
            panic!("the text is cut both after whole lines and within the first line")
        }
    }
    lazily(input, &requested, first, limit);
}

/// A reader that stops early gets the same cut as one that reads everything.
fn lazily(input: &mut Input<'_>, requested: &str, first: u64, limit: usize) {
    let width = 1 + input.below(40);
    let characters: Vec<char> = requested.chars().collect();
    let pieces: Vec<String> =
        characters.chunks(width).map(|piece| piece.iter().collect()).collect();
    let enough = enough_pieces(&pieces, limit).unwrap_or(pieces.len());
    let read = pieces[..enough].concat();
    assert!(cut(&read, first, limit) == cut(requested, first, limit));
}

fn insertions(input: &mut Input<'_>) {
    let (file, new) = (any_text(input), any_text(input));
    let lines = naive::lines(&file);
    let line = input.below(lines.len() + 1);
    let offset = lines[..line].concat().len();
    let at_open_end = offset == file.len() && !file.is_empty() && !file.ends_with('\n');
    let mut spliced = file.clone();
    spliced.insert_str(offset, &insertion(&new, at_open_end));
    assert_eq!(spliced, naive::insertion(&file, line, &new));
}

fn lines(input: &mut Input<'_>) {
    let first = input.pick(&[1, 7, 99_998, 999_999, u64::MAX - 1_000_000]);
    let text = any_text(input);
    let lines = naive::lines(&text);
    assert_eq!(count_lines(&text), u64::try_from(lines.len()).unwrap());

    let (out, reserved) = number_lines(first, &text);
    assert_eq!(out, naive::numbered(usize::try_from(first).unwrap(), &lines));
    assert!(out.len() <= reserved, "the buffer was reallocated");

    let wanted = input.below(lines.len() + 2);
    let (head, newlines) = first_lines(&text, u64::try_from(wanted).unwrap());
    assert_eq!(head, lines[..wanted.min(lines.len())].concat());
    assert_eq!(newlines, u64::try_from(naive::newlines(head)).unwrap());
}

fn sizes(input: &mut Input<'_>) {
    let mut bytes = [0; 8];
    for byte in &mut bytes {
        *byte = input.byte();
    }
    // The model is exact only for sizes that a float can hold exactly.
    let bytes = u64::from_le_bytes(bytes) >> (11 + input.below(53));
    let name = any_text(input);
    let between = input.one_in(2).then_some("x");
    let line = listing_line(&Path::parse("/memories").unwrap(), between, &name, true, bytes);
    let folder = between.map_or(String::new(), |folder| format!("{folder}/"));
    assert_eq!(line, format!("\n{}\t/memories/{folder}{name}/", naive::size(bytes)));
}

fn any_text(input: &mut Input<'_>) -> String {
    if input.one_in(4) {
        return String::from_utf8_lossy(input.bytes(2_000)).into_owned();
    }
    input.text().chars().take(40_000).collect()
}
