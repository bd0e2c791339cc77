//! Harmless texts that machines write: logs, manifests, dumps.

use crate::harmless::{Kind, lines, name, word};
use crate::random::{ALNUM, BASE64URL, LOWER, UPPER, UPPER_HEX};

pub(crate) const KINDS: &[Kind] = &[
    ("a log of requests", |r| {
        lines(r, 3, 9, |r| {
            format!(
                "{}.{}.{}.{} - - [{}] \"GET /api/v1/{}/{} HTTP/1.1\" {} {} \"-\" \"curl/8.{}\" rid={}",
                r.between(1, 250),
                r.between(0, 255),
                r.between(0, 255),
                r.between(1, 254),
                r.time(),
                word(r),
                r.uuid(),
                r.one(&["200", "201", "404", "500"]),
                r.between(0, 9_999_999),
                r.between(0, 9),
                r.hex(32)
            )
        })
    }),
    ("a log in JSON", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{{\"ts\":{},\"level\":\"info\",\"msg\":\"{} done\",\"trace_id\":\"{}\",\"span_id\":\"{}\",\"duration_ns\":{},\"user_id\":{}}}",
                r.between(1_600_000_000_000_000_000, 1_790_000_000_000_000_000),
                word(r),
                r.hex(32),
                r.hex(16),
                r.next() >> 20,
                r.next() >> 4
            )
        })
    }),
    ("a log of a system", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "Nov {:2} 07:{:02}:{:02} host {}[{}]: {} of {} took {} us, offset {}",
                r.between(1, 30),
                r.between(0, 59),
                r.between(0, 59),
                word(r),
                r.between(1, 99_999),
                word(r),
                word(r),
                r.digits(9),
                r.digits(16)
            )
        })
    }),
    ("a stack trace", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "  {}: 0x{} - {}::{}::h{}\n             at /rustc/{}/library/core/src/{}.rs:{}",
                r.between(0, 40),
                r.hex(16),
                word(r),
                word(r),
                r.hex(16),
                r.hex(40),
                word(r),
                r.between(1, 3_000)
            )
        })
    }),
    ("a build", |r| {
        lines(r, 3, 7, |r| {
            format!(
                "sha256:{}: Pulling from library/{}\nDigest: sha256:{}\nregistry.example.org/{}@sha256:{}",
                r.hex(12),
                word(r),
                r.hex(64),
                word(r),
                r.hex(64)
            )
        })
    }),
    ("a manifest of Kubernetes", |r| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {0}-{1}-{2}\n  uid: {3}\n  resourceVersion: \"{4}\"\n  annotations:\n    checksum/config: {5}\nspec:\n  containers:\n  - image: {0}:{6}\n    env:\n    - name: API_KEY\n      valueFrom:\n        secretKeyRef:\n          name: {0}-secret\n          key: apiKey\n",
            word(r),
            r.text(LOWER, 10),
            r.text(LOWER, 5),
            r.uuid(),
            r.digits(9),
            r.hex(64),
            r.version()
        )
    }),
    ("names of resources", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "arn:aws:iam::{}:role/{} vpc-{} i-{} ami-{} sg-{} E{} AROA{} AIDA{}",
                r.digits(12),
                word(r),
                r.hex(17),
                r.hex(17),
                r.hex(17),
                r.hex(17),
                r.text(UPPER, 13),
                r.text(UPPER, 17),
                r.text(UPPER, 17)
            )
        })
    }),
    ("identifiers", |r| {
        lines(r, 4, 9, |r| {
            let ulid = r.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24);
            format!(
                "{} {} 01{ulid} req_{} pi_{} AC{} msg_01{}",
                r.uuid(),
                r.uuid().to_uppercase(),
                r.text(ALNUM, 24),
                r.text(ALNUM, 24),
                r.hex(32),
                r.text(ALNUM, 22)
            )
        })
    }),
    ("checksums", |r| {
        lines(r, 3, 9, |r| {
            let length = [32, 40, 64, 96, 128][usize::try_from(r.between(0, 4)).unwrap()];
            format!("{}  {}-{}.tar.gz", r.hex(length), word(r), r.version())
        })
    }),
    ("checksums in capitals", |r| {
        lines(r, 3, 9, |r| format!("{} *{}.iso", r.text(UPPER_HEX, 40), word(r)))
    }),
    ("headers of a reply", |r| {
        format!(
            "HTTP/2 200\netag: W/\"{}\"\nx-request-id: {}\ncf-ray: {}-FRA\nset-cookie: csrf={}; Path=/\nx-amz-version-id: {}\nstrict-transport-security: max-age=31536000\nauthorization: Bearer <redacted>\n",
            r.hex(32),
            r.uuid(),
            r.hex(16),
            r.text(BASE64URL, 43),
            r.text(ALNUM, 32)
        )
    }),
    ("a dump of bytes", |r| {
        lines(r, 4, 9, |r| {
            let pairs: Vec<_> = (0..8).map(|_| r.hex(4)).collect();
            format!("{:08x}: {}  ................", r.between(0, 1 << 20), pairs.join(" "))
        })
    }),
    ("addresses in memory", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "{}-{} r-xp {} fd:01 {} /usr/lib/{}.so",
                r.hex(12),
                r.hex(12),
                r.hex(8),
                r.digits(8),
                word(r)
            )
        })
    }),
    ("transactions of a chain", |r| {
        lines(r, 3, 7, |r| {
            format!(
                "tx 0x{} from 0x{} to bc1q{} block {} gas {}",
                r.hex(64),
                r.hex(40),
                r.text("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 38),
                r.digits(8),
                r.digits(7)
            )
        })
    }),
    ("a table of a database", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "| {} | {} | {} | {}.{} | {} |",
                r.between(1, 999_999),
                r.uuid(),
                name(r),
                r.digits(3),
                r.digits(14),
                r.time()
            )
        })
    }),
    ("a list of members", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "{},{},{}@example.com,+49 {} {},member since {}",
                r.between(1, 9_999),
                name(r),
                r.text(LOWER, 7),
                r.digits(3),
                r.digits(7),
                r.time()
            )
        })
    }),
    ("settings", |r| {
        format!(
            "cache_key = \"{}\"\nsort_key = \"{}#{}\"\npublic_key = \"{}\"\nprimary_key = {}\nkey_id = \"{}\"\nidempotency_key = \"{}\"\nnext_page_token = \"{}\"\n",
            r.hex(40),
            word(r),
            r.digits(13),
            r.hex(64),
            r.digits(10),
            r.uuid(),
            r.uuid(),
            r.text(BASE64URL, 60)
        )
    }),
    ("a notebook", |r| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"code\", \"id\": \"{}\", \"source\": [\"x = {}.{}\\n\", \"np.array([{}, {}])\"]}}], \"nbformat\": 4}}",
            r.hex(8),
            r.digits(1),
            r.digits(16),
            r.digits(16),
            r.digits(15)
        )
    }),
    ("model weights", |r| {
        lines(r, 3, 7, |r| {
            format!(
                "model-{:05}-of-00012.safetensors {} {} bytes, xet {}",
                r.between(1, 12),
                r.hex(64),
                r.digits(10),
                r.hex(64)
            )
        })
    }),
];
