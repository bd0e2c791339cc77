//! Card numbers that networks and payment services publish for tests, as people write them down.

use crate::random::Random;

/// From the test pages of Stripe, Adyen, `PayPal` and Braintree, without separators.
const PUBLISHED: &[&str] = &[
    "4111111111111111", // Visa
    "4012888888881881",
    "4242424242424242",
    "4000056655665556",
    "4009348888881881",
    "4012000033330026",
    "5555555555554444", // Mastercard
    "5105105105105100",
    "5200828282828210",
    "2223003122003222",
    "2223000048400011",
    "5431111111111111",
    "378282246310005", // American Express
    "371449635398431",
    "378734493671000",
    "6011111111111117", // Discover
    "6011000990139424",
    "6011981111111113",
    "3566002020360505", // JCB
    "3530111333300000",
    "3056930009020004", // Diners Club
    "36227206271667",
    "30569309025904",
    "38520000023237",
    "6200000000000005", // UnionPay
    "6200000000000047",
    "6205500000000000004",
    "6759649826438453", // Maestro
    "6771798021000008",
    "2200000000000053", // Mir
    "4222222222222",    // Visa of 13 digits
];

/// The groups in which the digits are printed on the card.
fn groups(digits: &str) -> Vec<&str> {
    let lengths: &[usize] = match digits.len() {
        14 => &[4, 6, 4],
        15 => &[4, 6, 5],
        16 => &[4, 4, 4, 4],
        19 => &[4, 4, 4, 4, 3],
        length => &[length],
    };
    let mut rest = digits;
    let mut groups = Vec::new();
    for length in lengths {
        let (group, after) = rest.split_at(*length);
        groups.push(group);
        rest = after;
    }
    groups
}

/// Every published number, written in every way, within texts.
pub(crate) fn texts(random: &mut Random) -> Vec<(String, String)> {
    let carriers: &[fn(&str) -> String] = &[
        |number| format!("The user pays with the card {number}, which is valid until 12/27.\n"),
        |number| format!("card_number={number}\nexp=12/27\ncvc=123\n"),
        |number| {
            format!("{{\"type\": \"credit_card\", \"number\": \"{number}\", \"cvv\": \"737\"}}")
        },
        |number| format!("stripe.Card(number=\"{number}\", exp_month=8)"),
        |number| format!("# Payment\n\n- Visa/MC: {number}\n- name on it: A. Miller\n"),
        |number| format!("| card | {number} |\n|---|---|\n"),
    ];
    let mut texts = Vec::new();
    for number in PUBLISHED {
        for separator in ["", " ", "-"] {
            let written = groups(number).join(separator);
            for carrier in carriers {
                texts.push((written.clone(), carrier(&written)));
            }
        }
    }
    // Without a word for a card, in the length of most cards.
    for number in PUBLISHED.iter().filter(|number| matches!(number.len(), 15 | 16)) {
        let written = groups(number).join(random.one(&["", " ", "-"]));
        texts.push((written.clone(), format!("Please note {written} for later.\n")));
        texts.push((written.clone(), format!("let number = \"{written}\";\n")));
    }
    texts
}
