//! Harmless texts with long numbers: orders, parcels, telephones, books, measurements.

use crate::harmless::{Kind, lines, name, word};
use crate::random::{DIGITS, Random, UPPER};

/// A number that does not begin with zero.
fn number(random: &mut Random, digits: usize) -> String {
    format!("{}{}", random.between(1, 9), random.digits(digits - 1))
}

pub(crate) const KINDS: &[Kind] = &[
    ("orders", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "Order {} of {} was shipped; invoice no. {} is open.",
                number(r, 16),
                name(r),
                number(r, 10)
            )
        })
    }),
    ("orders in JSON", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "{{\"orderId\": {}, \"customer\": \"{}\", \"total\": {}.{}}}",
                number(r, 16),
                name(r),
                number(r, 4),
                r.digits(2)
            )
        })
    }),
    ("orders of a shop", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "Bought a {} on {}, order {}-{}-{}.",
                word(r),
                r.time(),
                r.digits(3),
                r.digits(7),
                r.digits(7)
            )
        })
    }),
    ("parcels", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "Tracking number 1Z{}{} (UPS), {} (DHL), tracking {} {} {} {} {} {} (USPS)",
                r.text(UPPER, 3),
                r.digits(13),
                number(r, 12),
                r.digits(4),
                r.digits(4),
                r.digits(4),
                r.digits(4),
                r.digits(4),
                r.digits(2)
            )
        })
    }),
    ("tickets", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "Ticket #{} was merged into {}-{}; case {} is closed.",
                number(r, 8),
                r.text(UPPER, 4),
                number(r, 5),
                number(r, 15)
            )
        })
    }),
    ("telephones", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{}: +1 ({}) {}-{}, mobile +49 {} {}, office 0{} {}-{}",
                name(r),
                r.digits(3),
                r.digits(3),
                r.digits(4),
                r.digits(3),
                r.digits(8),
                r.digits(3),
                r.digits(6),
                r.digits(2)
            )
        })
    }),
    ("books", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{}, \"The {}\", ISBN 978-{}-{}-{}-{}, EAN 978{}",
                name(r),
                word(r),
                r.digits(1),
                r.digits(4),
                r.digits(4),
                r.digits(1),
                r.digits(10)
            )
        })
    }),
    ("timestamps", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "{} {} {} {} {}",
                r.between(1_500_000_000, 1_790_000_000),
                r.between(1_500_000_000_000, 1_790_000_000_000),
                r.between(1_500_000_000_000_000, 1_790_000_000_000_000),
                r.time(),
                r.text("20", 1) + &r.digits(13)
            )
        })
    }),
    ("snowflakes", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "tweet {} by user {}, channel <#{}>, message {}",
                number(r, 19),
                number(r, 18),
                number(r, 18),
                number(r, 19)
            )
        })
    }),
    ("measurements", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "{}.{}, -{}.{}, {}e-{}, 0.{}",
                r.digits(1),
                r.digits(16),
                r.digits(2),
                r.digits(15),
                r.digits(16),
                r.digits(2),
                r.digits(16)
            )
        })
    }),
    ("a matrix", |r| {
        lines(r, 3, 6, |r| {
            let row: Vec<_> = (0..8).map(|_| number(r, 4)).collect();
            row.join(" ")
        })
    }),
    ("coordinates", |r| {
        lines(r, 3, 7, |r| {
            format!(
                "{}: {}.{}, {}.{} (accuracy {} m)",
                word(r),
                r.digits(2),
                r.digits(14),
                r.digits(2),
                r.digits(14),
                r.digits(2)
            )
        })
    }),
    ("accounts that are no IBAN", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "VAT DE{}, SWIFT {}DE{}XXX, EORI GB{}000, customer {}{}",
                r.digits(9),
                r.text(UPPER, 4),
                r.text(UPPER, 2),
                r.digits(9),
                r.text(UPPER, 2),
                r.digits(18)
            )
        })
    }),
    ("codes of products", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{}{}-{} SKU {}{} serial {}{} model {}{}",
                r.text(UPPER, 2),
                r.digits(6),
                r.digits(4),
                r.text(UPPER, 3),
                r.digits(9),
                r.text(UPPER, 4),
                r.digits(12),
                r.text(UPPER, 2),
                r.digits(20)
            )
        })
    }),
    ("devices", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "IMEI 35{}, MAC {}:{}:{}:{}:{}:{}, serial {}",
                r.digits(13),
                r.hex(2),
                r.hex(2),
                r.hex(2),
                r.hex(2),
                r.hex(2),
                r.hex(2),
                number(r, 16)
            )
        })
    }),
    ("sizes", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{} bytes in {} blocks, {} inodes, {} us, cursor {}",
                number(r, 14),
                number(r, 9),
                number(r, 7),
                number(r, 16),
                number(r, 17)
            )
        })
    }),
    ("flights", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "{} flies {}{} on 2026-0{}-1{}, booking {}, e-ticket 220-{}",
                name(r),
                r.text(UPPER, 2),
                r.digits(4),
                r.between(1, 9),
                r.between(0, 9),
                r.text(UPPER, 6),
                number(r, 10)
            )
        })
    }),
    ("money", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{},{},{}.{} EUR; {} {} {} JPY; ${}",
                number(r, 3),
                r.digits(3),
                r.digits(3),
                r.digits(2),
                number(r, 3),
                r.digits(3),
                r.digits(3),
                number(r, 9)
            )
        })
    }),
    ("large numbers", |r| {
        lines(r, 3, 6, |r| {
            format!(
                "n = {}, the sum is {}, f({}) = {}",
                number(r, 40),
                number(r, 24),
                r.text(DIGITS, 5),
                number(r, 30)
            )
        })
    }),
    ("numbers without a name", |r| {
        lines(r, 1, 1, |r| format!("Remember {} and {}.", number(r, 16), number(r, 12)))
    }),
    ("social networks", |r| {
        lines(r, 2, 5, |r| {
            format!(
                "https://x.com/{}/status/{} https://www.facebook.com/{} https://store.example.com/p/{}",
                word(r),
                number(r, 19),
                number(r, 15),
                number(r, 16)
            )
        })
    }),
];
