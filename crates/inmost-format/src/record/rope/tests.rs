//! Compares the rope with a plain string.

use super::*;
use crate::record::plain::{OBJECT, Plain, Random};

struct Rope {
    nodes: Plain,
    next_index: u64,
    body: Body<Text>,
    model: String,
}

impl Rope {
    fn new() -> Self {
        Self { nodes: Plain::default(), next_index: 0, body: Body::empty(), model: String::new() }
    }

    fn splice(&mut self, range: Range<usize>, text: &str) {
        let wide = |at| u64::try_from(at).unwrap();
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
        splice(&mut owner, &mut self.body, wide(range.start)..wide(range.end), text).unwrap();
        self.model.replace_range(range, text);
    }

    fn append(&mut self, text: &str) {
        let mut owner =
            Owner { sink: &mut self.nodes, object: OBJECT, next_index: &mut self.next_index };
        append(&mut owner, &mut self.body, text).unwrap();
        self.model.push_str(text);
    }

    fn chunks(&self) -> Vec<usize> {
        let mut chunks = Vec::new();
        self.body
            .visit::<RecordError>(&self.nodes, OBJECT, 0, &mut |_, chunk: &Text| {
                chunks.push(chunk.as_str().len());
                Ok(true)
            })
            .unwrap();
        chunks
    }

    fn check(&self) {
        assert_eq!(self.body.count(), TextCount::of(&self.model));
        assert!(read_text(&self.nodes, OBJECT, &self.body).unwrap().as_str() == self.model);
        assert_eq!(
            lines(&self.nodes, OBJECT, &self.body).unwrap(),
            u64::try_from(self.model.split_terminator('\n').count()).unwrap()
        );
        let closed = is_closed(&self.nodes, OBJECT, &self.body).unwrap();
        assert_eq!(closed, self.model.ends_with('\n'));
        match self.body {
            Body::Inline(_) => {
                assert!(self.model.len() <= FILE_INLINE);
                assert_eq!(self.nodes.len(), 0, "records that nothing refers to");
            }
            Body::Tree(_) => {
                assert!(self.body.count().bytes >= FILE_INLINE_AGAIN);
                let chunks = self.chunks();
                assert!(
                    chunks.iter().all(|bytes| (CHUNK_BYTES_MIN..=CHUNK_BYTES).contains(bytes)),
                    "{chunks:?}"
                );
            }
        }
    }

    /// A character boundary at or before a random offset.
    fn offset(&self, random: &mut Random) -> usize {
        let mut at = random.below(self.model.len() + 1);
        while !self.model.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// Characters of one to four bytes and line ends, so that some chunk boundaries would fall inside a character.
fn text(random: &mut Random, characters: usize) -> String {
    let alphabet = ['a', 'b', ' ', '\n', 'ß', '中', '😀'];
    (0..characters).map(|_| alphabet[random.below(alphabet.len())]).collect()
}

#[test]
fn a_spliced_rope_reads_like_a_plain_string() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let mut rope = Rope::new();
        for step in 0..150 {
            let (one, other) = (rope.offset(&mut random), rope.offset(&mut random));
            let mut end = if step % 9 == 0 { one.max(other) } else { one.min(other) + 40 };
            end = end.min(rope.model.len());
            while !rope.model.is_char_boundary(end) {
                end += 1;
            }
            let range = one.min(other)..end;
            let length = match step % 10 {
                0 => random.below(9_000),
                1..4 => random.below(1_500),
                _ => random.below(30),
            };
            rope.splice(range, &text(&mut random, length));
            rope.check();
        }
    }
}

#[test]
fn a_rope_that_is_cut_down_ends_as_one_record_and_as_nothing() {
    let mut random = Random(7);
    let mut rope = Rope::new();
    rope.splice(0..0, &text(&mut random, 60_000));
    while !rope.model.is_empty() {
        let (one, other) = (rope.offset(&mut random), rope.offset(&mut random));
        rope.splice(one.min(other)..one.max(other), "");
        rope.check();
        if rope.model.chars().count() < 3 {
            rope.splice(0..rope.model.len(), "");
        }
    }
    assert!(matches!(rope.body, Body::Inline(_)));
    rope.check();
}

#[test]
fn a_new_rope_is_full_but_for_its_last_two_chunks() {
    for (bytes, chunks) in [
        (FILE_INLINE, vec![FILE_INLINE]),
        (FILE_INLINE + 1, vec![FILE_INLINE + 1]),
        (CHUNK_BYTES + 1, vec![2_033, 2_034]),
        (2 * CHUNK_BYTES, vec![CHUNK_BYTES; 2]),
        (2 * CHUNK_BYTES + 1, vec![CHUNK_BYTES, 2_033, 2_034]),
        (6_099, vec![CHUNK_BYTES, 2_033]),
    ] {
        let mut rope = Rope::new();
        rope.splice(0..0, &"x".repeat(bytes));
        assert_eq!(rope.chunks(), chunks, "{bytes}");
        assert_eq!(matches!(rope.body, Body::Inline(_)), bytes <= FILE_INLINE);
    }
}

#[test]
fn text_appended_in_steps_has_no_small_chunk() {
    for last in [1, CHUNK_BYTES_MIN - 1, CHUNK_BYTES_MIN, 3_000, CHUNK_BYTES + 5] {
        let mut rope = Rope::new();
        rope.append(&"中\n".repeat(5_000));
        rope.append(&"x".repeat(last));
        rope.check();
    }
    let mut short = Rope::new();
    short.append("short");
    short.check();
}

/// Between the two limits a file keeps its form, so that an edit near the border is cheap.
#[test]
fn a_file_at_the_border_does_not_change_its_form() {
    let mut rope = Rope::new();
    rope.splice(0..0, &"x".repeat(3_500));
    assert!(matches!(rope.body, Body::Inline(_)));
    rope.splice(0..0, &"x".repeat(501));
    assert!(matches!(rope.body, Body::Tree(_)));
    rope.splice(0..501, "");
    assert!(matches!(rope.body, Body::Tree(_)));
    rope.splice(0..429, "");
    assert!(matches!(rope.body, Body::Inline(_)));
    rope.check();
}

#[test]
fn lines_start_where_they_start_in_a_plain_string() {
    let mut random = Random(3);
    for characters in [0, 1, 100, 40_000] {
        let mut rope = Rope::new();
        rope.splice(0..0, &text(&mut random, characters));
        let newlines = TextCount::of(&rope.model).newlines;
        let starts = rope.model.match_indices('\n').map(|(at, _)| at + 1);
        for (line, start) in (1..).zip(std::iter::once(0).chain(starts)) {
            if line < 50 || line % 97 == 0 || line > newlines {
                let found = line_start(&rope.nodes, OBJECT, &rope.body, line).unwrap();
                assert_eq!(found, u64::try_from(start).unwrap(), "line {line}");
            }
        }
        for line in [newlines + 2, u64::MAX] {
            let end = line_start(&rope.nodes, OBJECT, &rope.body, line).unwrap();
            assert_eq!(end, u64::try_from(rope.model.len()).unwrap());
        }
        assert_eq!(line_start(&rope.nodes, OBJECT, &rope.body, 0).unwrap(), 0);
    }
}
