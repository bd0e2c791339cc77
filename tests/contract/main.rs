//! Tests of the memory tool contract from the outside: calls are sent like those of a model, and results are
//! compared string for string.
//!
//! Most tests are transcripts (`transcripts/*.txt`; the README there describes the format). The modules below
//! test what a transcript cannot express: threads, a locked store, millions of lines, loops over every
//! command. `transcripts/COVERAGE.md` maps each sentence of the contract to its test. Durability, damage and
//! stored bytes are not tested here.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test should stop at the first unexpected result and report it"
)]

mod availability;
mod coverage;
mod failures;
mod insert_rule;
mod lines;
mod listing;
mod parallel;
mod paths;
mod quotas;
mod screening;
mod store;
mod subtree;
mod transcript;

/// Defines one test per transcript, named after its file, and their list, so that a test can find a missing
/// one.
macro_rules! transcripts {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                let text = include_str!(concat!("../transcripts/", stringify!($name), ".txt"));
                transcript::play(concat!(stringify!($name), ".txt"), text);
            }
        )+

        const LISTED: &[&str] = &[$(concat!(stringify!($name), ".txt")),+];
    };
}

transcripts! {
    create
    create_overwrites
    delete
    input
    input_fields
    input_integers
    insert
    insert_refused
    known_slips
    order_of_checks
    order_of_limits
    order_of_quotas
    path_accepted
    path_echo
    path_escape
    path_final_slash
    path_invalid
    path_limits
    path_prefix
    path_unicode
    quota_file_bytes
    quota_store_bytes
    quota_store_files
    read_only
    rename
    rename_limits
    rename_refused
    session
    str_replace
    str_replace_cut
    str_replace_refused
    text
    view_cut
    view_cut_configured
    view_file
    view_folder
    view_folder_cut
    view_folder_hidden
    view_folder_order
    view_folder_sizes
    view_range
}

#[test]
fn every_transcript_in_the_folder_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, LISTED, "the macro lists the transcripts in alphabetical order");
}
