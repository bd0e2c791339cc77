//! The test vectors of `vectors.py`, a second implementation. `INMOST_SYNC_VECTORS` names another file of them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets the unexpected should stop there"
)]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use inmost_sync::{
    Base, Chains, Dot, FileHeads, FileId, Heads, LogId, PathHead, Tag, Text, TextHead, Vector,
    merge, tree,
};
use serde_json::{Value, json};
use zeroize::Zeroizing;

#[test]
fn both_implementations_show_the_same_files() {
    let path = std::env::var("INMOST_SYNC_VECTORS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors.jsonl").to_owned());
    let mut checked = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let vectors: Value = serde_json::from_str(line).unwrap();
        for case in vectors["merges"].as_array().unwrap() {
            let [base, first, second] =
                ["base", "first", "second"].map(|key| case[key].as_str().unwrap());
            for merged in [merge(base, first, second), merge(base, second, first)] {
                assert_eq!(
                    merged.as_ref().map(|text| text.as_str()),
                    case["merged"].as_str(),
                    "{case}"
                );
            }
            checked += 1;
        }
        for case in vectors["cases"].as_array().unwrap() {
            assert_eq!(shown(case), case["tree"], "{case}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} vectors");
}

/// What the crate shows for a case, in the form of the case.
fn shown(case: &Value) -> Value {
    let mut chains = Chains::default();
    let mut dots = Vec::new();
    for object in case["objects"].as_array().unwrap() {
        let dot = Dot {
            log: LogId(bytes(&object["log"])),
            number: object["number"].as_u64().unwrap(),
            tag: Tag(bytes(&object["tag"])),
        };
        let previous = object["previous"].as_u64().map(|at| dots[usize::try_from(at).unwrap()]);
        chains.insert(dot, previous.map(|dot: Dot| dot.tag));
        dots.push(dot);
    }
    let files = tree(&chains, &heads(case, &dots));
    let file = |(id, file): (&FileId, &inmost_sync::TreeFile)| {
        let mut merged: Vec<_> = file
            .merged
            .dots()
            .map(|dot| dots.iter().position(|other| other == dot).unwrap())
            .collect();
        merged.sort_unstable();
        json!({
            "id": hex(id), "path": file.path, "wanted": file.wanted, "text": file.text.as_str(),
            "merged": merged, "copy_of": file.copy_of.as_ref().map(hex),
        })
    };
    files.iter().map(file).collect()
}

fn heads(case: &Value, dots: &[Dot]) -> Heads {
    let vector = |value: &Value| -> Vector {
        value.as_array().unwrap().iter().map(|at| dots[index(at)]).collect()
    };
    let dot = |state: &Value| dots[index(&state["object"])];
    let text_head = |state: &Value| TextHead {
        dot: dot(state),
        over: vector(&state["over"]),
        lamport: state["lamport"].as_u64().unwrap(),
        text: text(&state["text"]),
        path: string(&state["path"]),
        label: string(&state["label"]),
        time: state["time"].as_u64().unwrap(),
        bases: list(&state["bases"], |base| Base {
            vector: vector(&base["vector"]),
            text: text(&base["text"]),
        }),
    };
    let path_head = |state: &Value| PathHead {
        dot: dot(state),
        over: vector(&state["over"]),
        lamport: state["lamport"].as_u64().unwrap(),
        path: string(&state["path"]),
    };
    let mut heads = BTreeMap::new();
    for file in case["files"].as_array().unwrap() {
        let known = FileHeads {
            texts: list(&file["texts"], text_head),
            paths: list(&file["paths"], path_head),
            forgotten: vector(&file["forgotten"]),
        };
        heads.insert(FileId(bytes(&file["id"])), known);
    }
    heads
}

fn list<T>(values: &Value, parse: impl Fn(&Value) -> T) -> Vec<T> {
    values.as_array().unwrap().iter().map(parse).collect()
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn text(value: &Value) -> Text {
    Arc::new(Zeroizing::new(string(value)))
}

fn bytes(value: &Value) -> [u8; 16] {
    let digits = value.as_str().unwrap();
    std::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
}

fn hex(id: &FileId) -> String {
    let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap();
    id.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
