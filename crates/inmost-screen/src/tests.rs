//! Tests of the detectors: their limits, and their cost. `tests/corpus` measures them on a corpus.

use inmost_testing::for_all;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The finds in a text, as kind and text.
fn found(text: &str) -> Vec<(&'static str, &str)> {
    let finds = SecretScreen::redacting().find(text);
    finds.into_iter().map(|find| (find.kind, text.get(find.range).unwrap())).collect()
}

/// Whether nothing is found.
fn is_clean(text: &str) -> bool {
    found(text).is_empty()
}

/// A text of distinct characters, which no placeholder check refuses. Put together with a prefix at run time, because
/// the hosts of repositories block files that hold a whole token.
fn random(length: usize) -> String {
    "q7Zb3Lx9Rk2Wf8Tn5Vc4Hj6Md1Gs0Py".chars().cycle().take(length).collect()
}

#[test]
fn a_token_has_the_length_of_its_shape_and_ends_there() {
    let token = |length| format!("ghp{}{}", "_", random(length));
    assert_eq!(found(&token(36)), [("API key", token(36).as_str())]);
    assert!(is_clean(&token(35)));
    assert_eq!(found(&token(255)).len(), 1);
    assert!(is_clean(&token(256)));
    assert!(is_clean(&format!("{}_", token(36))));
    assert!(is_clean(&format!("x{}", token(36))));
    assert!(is_clean(&format!("ghp_{}", "x".repeat(36))), "a placeholder");
    let in_line = format!("({}), and é", token(36));
    assert_eq!(found(&in_line), [("API key", token(36).as_str())]);
}

#[test]
fn the_longest_shape_of_a_token_wins() {
    let token = format!("glpat{}{}.{}", "-", random(36), "01k2m3n4p");
    assert_eq!(found(&token), [("API key", token.as_str())]);
}

#[test]
fn a_token_at_the_end_of_a_sentence_is_found() {
    let token = format!("abc8Q{}{}", "~", random(34));
    for text in [format!("It is {token}."), format!("It is {token}...")] {
        assert_eq!(found(&text), [("API key", token.as_str())], "{text}");
    }
}

#[test]
fn a_token_in_escapes_is_found() {
    let token = format!("npm{}{}", "_", random(36));
    for text in
        [format!("a\\n{token}\\nb"), format!("a%3D{token}%26b"), format!("\"\\\"{token}\\\"\"")]
    {
        assert_eq!(found(&text), [("API key", token.as_str())], "{text}");
    }
}

#[test]
fn a_value_counts_by_the_name_before_it() {
    let secret = random(40);
    for text in [
        format!("aws_secret_access_key = {secret}"),
        format!("AWS_SECRET_ACCESS_KEY=\"{secret}\""),
        format!("{{\\\"apiKey\\\": \\\"{secret}\\\"}}"),
        format!("'client-secret' => '{secret}',"),
        format!("<SecretAccessKey>{secret}</SecretAccessKey>"),
        format!("Authorization: Bearer {secret}"),
        format!("service.api.token: {secret}."),
        format!("- API key: {secret}"),
        format!("Client secret = {secret}"),
        format!("**apiKey**: {secret}"),
        format!("__Access token__: {secret}"),
        format!("**API key:** {secret}"),
        format!("__API key:__ {secret}"),
        format!("_API key:_ {secret}"),
        format!("**_API key:_** `{secret}`"),
        format!("_**API key:**_ {secret}"),
        format!("__Authorization:__ Bearer {secret}"),
    ] {
        assert_eq!(found(&text), [("API key", secret.as_str())], "{text}");
    }
    let marked = format!("__{secret}");
    assert_eq!(found(&format!("api_key: {marked}")), [("API key", marked.as_str())]);
    let long = random(5_000);
    assert_eq!(found(&format!("session_token={long}\n")), [("API key", long.as_str())]);
    let key = format!("{}=", random(43));
    assert_eq!(found(&format!("PrivateKey = {key}")), [("private key", key.as_str())]);
}

#[test]
fn a_value_that_is_not_random_is_left_alone() {
    let secret = random(40);
    for text in [
        format!("cache_key = {secret}"),
        format!("public_key = {secret}"),
        format!("the api key {secret}"),
        format!("It is kept by the device. Key: {secret}"),
        format!("The robot token: {secret}"),
        "- API key: vault/prod2024/openai".to_owned(),
        "api_key = 12345678-90ab-cdef-1234-567890abcdef".to_owned(),
        "api_key = /run/secrets/openai_api_key_2".to_owned(),
        "api_key = REPLACE_WITH_YOUR_OWN_KEY_42".to_owned(),
        "api_key = process.env.OPENAI_API_KEY".to_owned(),
        format!("api_key = {}", random(15)),
        "api_key = aaaaaaaaaaaaaaaaaaaa1111".to_owned(),
        "PrivateKey: X509RequestInheritOptions2024,".to_owned(),
    ] {
        assert!(is_clean(&text), "{text}");
    }
}

/// A block in PEM, whose label is put together at run time.
fn pem(label: &str, body: &str) -> String {
    format!("-----BEGIN {label}{0} KEY-----\n{body}\n-----END {label}{0} KEY-----", "PRIVATE")
}

#[test]
fn a_key_in_pem_is_found_whole() {
    let block = pem("EC ", &format!("{}\n{}\nab==", random(64), random(64)));
    let text = format!("before\n{block}\nafter\n");
    assert_eq!(found(&text), [("private key", block.as_str())]);
    let escaped = block.replace('\n', "\\n");
    assert_eq!(found(&format!("\"{escaped}\"")), [("private key", escaped.as_str())]);
    let two = format!("{block}\n{block}");
    assert_eq!(found(&two).len(), 2);
}

#[test]
fn a_label_without_key_material_is_no_key() {
    assert!(is_clean(&pem("", "...")));
    assert!(is_clean(&pem("RSA ", "(64 characters a line)")));
    assert!(is_clean(&pem("", &random(39))));
    assert_eq!(found(&pem("", &random(40))).len(), 1);
    assert!(is_clean(&pem("", &random(64)).replace(&format!("{} KEY", "PRIVATE"), "PUBLIC KEY")));
    let begin = format!("-----BEGIN {} KEY-----", "PRIVATE");
    let distant =
        format!("{begin} begins a key. {} {}", "More words follow here. ".repeat(30), random(64));
    assert!(is_clean(&distant));
}

#[test]
fn either_half_of_a_key_is_found() {
    let block = pem("RSA ", &format!("{}\n{}\n{}", random(64), random(64), random(64)));
    let (first, last) = block.split_at(block.len() / 2);
    assert_eq!(found(&format!("note\n{first}")).len(), 1);
    let rest = format!("{last}\nand more words");
    assert_eq!(found(&rest), [("private key", last)]);
}

#[test]
fn a_card_number_has_its_check_digit_its_network_and_its_groups() {
    for text in [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "3782 822463 10005",
        "3622 720627 1667",
    ] {
        assert_eq!(found(&format!("pay with {text}, please")), [("card number", text)]);
    }
    for text in [
        "4111111111111112",
        "9111111111111110",
        "4111 1111-1111 1111",
        "41 11 11 11 11 11 11 11",
        "41111111111111110",
        "x4111111111111111",
        "4111111111111111x",
        "1.4111111111111111",
        "4111111111111111.5",
        "+4111111111111111",
        "0x4111111111111111",
        "id/4111111111111111",
        "1234 4111 1111 1111 1111",
        "4111 1111 1111 1111 1234",
        "00000000-0000-4111-1111-111111111111",
    ] {
        assert!(is_clean(text), "{text}");
    }
}

#[test]
fn a_number_without_groups_counts_by_the_words_around_it() {
    for text in ["see 4111111111111111", "Visa 36227206271667", "cc=6205500000000000004"] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
    for text in [
        "order 4111111111111111",
        "\"orderId\": 4111111111111111",
        "tracking no. 4111111111111111",
        "took 4111111111111111 ns",
        "see 36227206271667",
        "8cc2 36227206271667",
        "see 6205500000000000004",
    ] {
        assert!(is_clean(text), "{text}");
    }
    assert_eq!(found("a card for the order 4111111111111111").len(), 1);
    assert!(is_clean("a new card\norder 4111111111111111"), "another line");
}

#[test]
fn an_iban_has_the_length_the_structure_and_the_check_digits_of_its_country() {
    for text in [
        "DE89370400440532013000",
        "DE89 3704 0044 0532 0130 00",
        "DE89-3704-0044-0532-0130-00",
        "de89370400440532013000",
        "NO9386011117947",
        "MT84MALT011000012345MTLCAST001S",
    ] {
        assert_eq!(found(&format!("to ({text})")), [("IBAN", text)]);
    }
    for text in [
        "DE88370400440532013000",
        "DE8937040044053201300",
        "DE893704004405320130000",
        "XDE89370400440532013000",
        "De89370400440532013000",
        "US89370400440532013000",
        "DE89 370400440532013000",
        "DE89 3704 0044-0532 0130 00",
        "GB2960161331926819NWBK",
    ] {
        assert!(is_clean(text), "{text}");
    }
}

#[test]
fn a_find_in_a_path_refuses_and_old_text_does_not_count() {
    let card = "4111 1111 1111 1111";
    let screen = |input: &ScreenInput<'_>| SecretScreen::redacting().screen(input);
    let path = format!("/memories/{card}.md");
    assert_eq!(
        screen(&ScreenInput::of_path(&path, "")),
        ScreenVerdict::Refuse(vec!["card number"])
    );
    assert_eq!(screen(&ScreenInput::of_text(&path, "", "new", "")), ScreenVerdict::Allow);
    let old = ScreenInput::of_text("/memories/a", &format!("{card}\n"), "new\n", card);
    assert_eq!(screen(&old), ScreenVerdict::Allow);
    assert_eq!(SecretScreen::refusing().screen(&old), ScreenVerdict::Allow);
    let new = ScreenInput::of_text("/memories/a", "old", card, "old");
    assert_eq!(screen(&new), ScreenVerdict::Allow, "no card number between letters");
    let new = ScreenInput::of_text("/memories/a", "old ", card, " old");
    let find = ScreenFind::new(4..4 + card.len(), "card number");
    assert_eq!(screen(&new), ScreenVerdict::Redact(vec![find]));
    let refused = ScreenVerdict::Refuse(vec!["card number"]);
    assert_eq!(SecretScreen::refusing().screen(&new), refused);
}

/// A detector that is quadratic in one of these texts of 1 MiB would need hours, so the test needs no clock.
#[test]
fn hostile_texts_cost_linear_time() {
    let label = format!("{} KEY", "PRIVATE");
    for piece in [
        "a",
        "1",
        "1 ",
        "4111 ",
        "4111-1111-1111-1111-",
        "=",
        ">=:",
        "api_key=",
        "api_key:__ ",
        "apikey=a1b2c3d4e5f6",
        "Authorization: Bearer ",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "sk-",
        "xoxb-1-",
        "ghp_",
        "M-",
        "SG.aaaaaaaaaaaaaaaaaaaaaa.",
        "DE89 ",
        "GB29NWBK",
        "A\u{e9}",
        "PRIVATE",
        &label,
        &format!("-----BEGIN {label}-----"),
        &format!("-----END {label}-----"),
        &format!("-----BEGIN {label}-----{}\n", "word "),
        &format!("aaaa\n-----END {label}-----\n"),
        &format!("{}-Lines: 1\n", "Private"),
        "-----BEGIN ",
    ] {
        let text = piece.repeat((1 << 20) / piece.len());
        for find in SecretScreen::redacting().find(&text) {
            assert!(text.get(find.range.clone()).is_some(), "{piece}: {find:?}");
        }
    }
}

/// Pieces that begin, continue and end what the detectors look for.
const PIECES: [&str; 32] = [
    " ",
    "\n",
    "\\n",
    "-",
    ".",
    ":",
    "=",
    "\"",
    "_",
    "/",
    "%3D",
    "\u{e9}",
    "\u{20ac}",
    "a",
    "7",
    "-----",
    "BEGIN ",
    "END ",
    "PRIVATE ",
    "KEY",
    "4111",
    "1111",
    "4111111111111111",
    "DE89",
    "3704",
    "0044053201",
    "3000",
    "api_key",
    "ghp",
    "eyJhbGciOiJIUzI1NiJ9",
    "q7Zb3Lx9Rk2Wf8Tn5Vc4Hj6Md1Gs0Py",
    "Private-Lines: ",
];

#[test]
fn finds_are_in_order_on_characters_and_never_within_another() {
    for_all(256, &vec(select(&PIECES[..]), 0..60), |pieces| {
        let text = pieces.concat();
        let finds = SecretScreen::redacting().find(&text);
        for find in &finds {
            prop_assert!(text.get(find.range.clone()).is_some_and(|found| !found.is_empty()));
        }
        for pair in finds.windows(2) {
            prop_assert!(pair[0].range.start <= pair[1].range.start);
            prop_assert!(pair[0].range.end < pair[1].range.end);
        }
        Ok(())
    });
}
