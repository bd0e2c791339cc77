//! Measures the built-in screen on a labelled corpus: how many secrets it finds, and how many harmless texts it flags.
//!
//! The secrets are made from what services and registries publish, not from the screen's own expressions. Every run
//! makes the same corpus from a seed. Run it with `--nocapture` to see the rates.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test should stop at the first unexpected result and report it"
)]

mod cards;
mod examples;
mod harmless;
mod ibans;
mod machines;
mod numbers;
mod private_keys;
mod random;
mod services;

use std::collections::BTreeMap;

use inmost_screen::SecretScreen;
use random::Random;

/// How a secret stands in a text.
const CARRIERS: &[fn(&str) -> String] = &[
    |secret| format!("Remember that the user's key is {secret}. It expires in May.\n"),
    |secret| {
        format!(
            "# Deployment\n\n- host: example.org\n- login: `{secret}` (rotate it in spring)\n- region: eu\n"
        )
    },
    |secret| format!("HOST=example.org\nLOGIN={secret}\nDEBUG=1\n"),
    |secret| format!("export LOGIN='{secret}'\n"),
    |secret| format!("service:\n  login: {secret} # for the build\n  retries: 3\n"),
    |secret| format!("{{\"name\": \"ci\", \"login\": \"{secret}\", \"retries\": 3}}"),
    |secret| format!("{{\"body\": \"{{\\\"login\\\":\\\"{secret}\\\"}}\"}}"),
    |secret| format!("let client = Client::new(\"{secret}\").retries(3);\n"),
    |secret| format!("curl -H 'X-Login: {secret}' https://example.org/v1\n"),
    |secret| format!("https://example.org/v1?login={secret}&page=2\n"),
    |secret| format!("| ci | {secret} | 2026-03-01 |\n"),
    |secret| format!("{secret}\n"),
    |secret| secret.to_owned(),
    |secret| format!("first line\\nlogin: {secret}\\nlast line"),
];

/// The share of secrets that are found at least, in percent, for each kind.
const RECALL: usize = 95;

/// The harmless texts, and how many of them are flagged at most.
const HARMLESS: (usize, usize) = (2_000, 10);

/// So many corpora of harmless texts, each from its own seed.
const SEEDS: u64 = 10;

/// Whether a find of this kind holds the random part of the secret in the text.
fn is_found(text: &str, secret: &str, kind: &str) -> bool {
    let start = text.find(secret).unwrap();
    let is_random = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte);
    let parts = secret.split(|character| u8::try_from(character).is_ok_and(|it| !is_random(it)));
    let longest = parts.max_by_key(|part| part.len()).unwrap();
    let start = start + secret.find(longest).unwrap();
    let end = start + longest.len();
    let finds = SecretScreen::redacting().find(text);
    finds.iter().any(|it| it.kind == kind && it.range.start <= start && end <= it.range.end)
}

/// Prints the rate, and checks it.
fn check_recall(kind: &str, missed: &BTreeMap<&str, usize>, count: usize) {
    let found = count - missed.values().sum::<usize>();
    println!("{kind}: {found} of {count} found; missed: {missed:?}");
    assert!(found * 100 >= count * RECALL, "{kind}: only {found} of {count} were found");
}

#[test]
fn keys_and_tokens_of_services_are_found() {
    let random = &mut Random::new(1);
    let (mut missed, mut count) = (BTreeMap::new(), 0);
    for (service, secret) in services::SERVICES {
        for carrier in CARRIERS {
            for _ in 0..3 {
                let secret = secret(random);
                count += 1;
                if !is_found(&carrier(&secret), &secret, SecretScreen::API_KEY) {
                    *missed.entry(*service).or_insert(0) += 1;
                }
            }
        }
    }
    check_recall(SecretScreen::API_KEY, &missed, count);
    // No service is missing altogether.
    let most = CARRIERS.len();
    assert!(missed.values().all(|missed| *missed <= most), "{missed:?}");
}

#[test]
fn examples_of_documentation_are_found() {
    let mut missed = Vec::new();
    for (page, kind, parts) in examples::EXAMPLES {
        let example = parts.concat();
        if !is_found(&example, &example, kind) {
            missed.push(*page);
        }
    }
    println!("examples: {} of {} missed: {missed:?}", missed.len(), examples::EXAMPLES.len());
    // Too short to be told from a word: `mF_9.B5f-4.1JqM`.
    assert_eq!(missed, ["RFC 6750, section 2.1"]);
}

#[test]
fn private_keys_are_found() {
    let random = &mut Random::new(2);
    let (mut missed, mut count) = (BTreeMap::new(), 0);
    for (format, secret) in private_keys::FORMATS {
        for carrier in
            [CARRIERS[0], CARRIERS[1], CARRIERS[4], CARRIERS[10], CARRIERS[11], CARRIERS[12]]
        {
            for _ in 0..5 {
                let secret = secret(random);
                count += 1;
                if !is_found(&carrier(&secret), &secret, SecretScreen::PRIVATE_KEY) {
                    *missed.entry(*format).or_insert(0) += 1;
                }
            }
        }
    }
    check_recall(SecretScreen::PRIVATE_KEY, &missed, count);
}

#[test]
fn card_numbers_are_found() {
    let texts = cards::texts(&mut Random::new(3));
    let (mut missed, count) = (BTreeMap::new(), texts.len());
    for (number, text) in &texts {
        if !is_found(text, number, SecretScreen::CARD_NUMBER) {
            *missed.entry(number.as_str()).or_insert(0) += 1;
        }
    }
    check_recall(SecretScreen::CARD_NUMBER, &missed, count);
}

#[test]
fn account_numbers_are_found() {
    let texts = ibans::texts();
    let (mut missed, count) = (BTreeMap::new(), texts.len());
    for (number, text) in &texts {
        if !is_found(text, number, SecretScreen::IBAN) {
            *missed.entry(number.as_str()).or_insert(0) += 1;
        }
    }
    check_recall(SecretScreen::IBAN, &missed, count);
}

#[test]
fn harmless_texts_are_left_alone() {
    let (count, most) = HARMLESS;
    let screen = SecretScreen::redacting();
    let mut total = 0;
    for seed in 0..SEEDS {
        let mut flagged = 0;
        for (kind, text) in harmless::texts(&mut Random::new(seed), count) {
            if let Some(find) = screen.find(&text).first() {
                flagged += 1;
                println!("{kind}: {} in {:?}", find.kind, text.get(find.range.clone()));
            }
        }
        println!("seed {seed}: {flagged} of {count} harmless texts flagged");
        assert!(flagged <= most, "seed {seed}: {flagged} of {count} were flagged");
        total += flagged;
    }
    println!("{total} harmless texts flagged in {SEEDS} corpora of {count}");
}

#[test]
fn every_find_of_a_whole_card_or_account_number_is_exact() {
    let (cards, ibans) = (cards::texts(&mut Random::new(5)), ibans::texts());
    for (number, text) in cards.iter().chain(&ibans) {
        for find in SecretScreen::redacting().find(text) {
            assert_eq!(text.get(find.range), Some(number.as_str()));
        }
    }
}
