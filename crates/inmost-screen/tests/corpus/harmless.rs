//! Harmless texts of the kinds that memories hold: notes, logs, lock files, changelogs, code. They are full of hashes,
//! identifiers and numbers that look random and are no secrets. The other kinds are in `numbers.rs` and `machines.rs`.

use crate::machines;
use crate::numbers;
use crate::random::{ALNUM, BASE64URL, LOWER, Random};

/// A kind of text, and how one looks.
pub(crate) type Kind = (&'static str, fn(&mut Random) -> String);

/// This many texts, with the name of their kind, each kind as often.
pub(crate) fn texts(random: &mut Random, count: usize) -> Vec<(&'static str, String)> {
    let kinds: Vec<&Kind> = KINDS.iter().chain(numbers::KINDS).chain(machines::KINDS).collect();
    (0..count)
        .map(|index| {
            let (name, text) = kinds[index % kinds.len()];
            (*name, text(random))
        })
        .collect()
}

/// So many lines, each made anew.
pub(crate) fn lines(
    random: &mut Random,
    low: u64,
    high: u64,
    line: impl Fn(&mut Random) -> String,
) -> String {
    let count = random.between(low, high);
    (0..count).map(|_| line(random) + "\n").collect()
}

pub(crate) fn word(random: &mut Random) -> &'static str {
    random.one(&[
        "parser", "server", "client", "cache", "token", "session", "index", "queue", "worker",
        "schema", "config", "deploy", "report", "backup", "router", "signal", "writer", "bridge",
        "kernel", "socket",
    ])
}

pub(crate) fn name(random: &mut Random) -> &'static str {
    random.one(&[
        "Ada Moss",
        "Ben Ito",
        "Chloe Diaz",
        "Dmitri Volkov",
        "Eva Lang",
        "Femi Adeyemi",
        "Grace Kim",
    ])
}

const KINDS: &[Kind] = &[
    ("a Cargo.lock", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "[[package]]\nname = \"{}-{}\"\nversion = \"{}\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{}\"\n",
                word(r),
                word(r),
                r.version(),
                r.hex(64)
            )
        })
    }),
    ("a package-lock.json", |r| {
        lines(r, 2, 6, |r| {
            let (package, version) = (word(r), r.version());
            format!(
                "    \"node_modules/{package}\": {{\n      \"version\": \"{version}\",\n      \"resolved\": \"https://registry.npmjs.org/{package}/-/{package}-{version}.tgz\",\n      \"integrity\": \"sha512-{}\",\n      \"license\": \"MIT\"\n    }},",
                r.base64(64)
            )
        })
    }),
    ("a yarn.lock", |r| {
        lines(r, 2, 6, |r| {
            let (package, version) = (word(r), r.version());
            format!(
                "\"{package}@npm:^{version}\":\n  version: {version}\n  resolution: \"{package}@npm:{version}\"\n  checksum: 10c0/{}\n  languageName: node",
                r.hex(128)
            )
        })
    }),
    ("a go.sum", |r| {
        lines(r, 3, 9, |r| {
            let (who, what) = (word(r), word(r));
            format!("github.com/{who}/{what} v{} h1:{}", r.version(), r.base64(32))
        })
    }),
    ("a requirements.txt", |r| {
        lines(r, 2, 5, |r| {
            format!(
                "{}=={} \\\n    --hash=sha256:{} \\\n    --hash=sha256:{}",
                word(r),
                r.version(),
                r.hex(64),
                r.hex(64)
            )
        })
    }),
    ("a flake.lock", |r| {
        let (modified, hash, revision) =
            (r.between(1_500_000_000, 1_790_000_000), r.base64(32), r.hex(40));
        format!(
            "{{\"nixpkgs\": {{\"locked\": {{\"lastModified\": {modified}, \"narHash\": \"sha256-{hash}\", \"rev\": \"{revision}\"}}}}}}"
        )
    }),
    ("a log of commits", |r| {
        lines(r, 2, 6, |r| {
            format!(
                "commit {}\nAuthor: {} <{}@example.org>\nDate:   Tue Nov {} 14:{} 2025 +0100\n\n    Fix the {} of the {} (#{})\n",
                r.hex(40),
                name(r),
                r.text(LOWER, 5),
                r.between(1, 30),
                r.between(10, 59),
                word(r),
                word(r),
                r.between(1, 9_999)
            )
        })
    }),
    ("short commits", |r| {
        lines(r, 4, 12, |r| format!("{} {}: handle an empty {}", r.hex(7), word(r), word(r)))
    }),
    ("a diff", |r| {
        format!(
            "diff --git a/src/{0}.rs b/src/{0}.rs\nindex {1}..{2} 100644\n--- a/src/{0}.rs\n+++ b/src/{0}.rs\n@@ -{3},7 +{3},9 @@\n-let key = map.get(&{4});\n+let key = map.get(&{4}).copied();\n",
            word(r),
            r.hex(10),
            r.hex(10),
            r.between(1, 400),
            word(r)
        )
    }),
    ("a changelog", |r| {
        lines(r, 2, 5, |r| {
            format!(
                "## [{}] - 2025-{:02}-{:02}\n\n### Fixed\n\n- The API key of a {} is read from the environment ({}, thanks @{}).\n- `sk-{}` is no longer logged.\n",
                r.version(),
                r.between(1, 12),
                r.between(1, 28),
                word(r),
                r.hex(8),
                r.text(LOWER, 6),
                word(r)
            )
        })
    }),
    ("notes of a meeting", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "- {}: the {} costs {}.{:02} EUR, due 2026-{:02}-{:02}; call back at {}:{:02}",
                name(r),
                word(r),
                r.between(10, 99_999),
                r.between(0, 99),
                r.between(1, 12),
                r.between(1, 28),
                r.between(8, 18),
                r.between(0, 59)
            )
        })
    }),
    ("preferences of a user", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "The user prefers {} over {} since {}; see ticket {}-{}.",
                word(r),
                word(r),
                r.version(),
                word(r).to_uppercase(),
                r.between(1, 99_999)
            )
        })
    }),
    ("placeholders", |r| {
        let rest = "x".repeat(36);
        format!(
            "Set these before the first run:\n\nexport GITHUB_TOKEN=gh{}{rest}\nOPENAI_API_KEY=sk-...\napi_key = \"YOUR_API_KEY_HERE\"\nANTHROPIC_API_KEY=<your key for {}>\nclient_secret: ${{{{ secrets.CLIENT_SECRET }}}}\nSLACK_TOKEN=xoxb-your-{}-token\n",
            "p_",
            word(r),
            word(r)
        )
    }),
    ("code that reads keys", |r| {
        format!(
            "api_key = os.environ[\"{0}_API_KEY\"]\nsecret_key = settings.get(\"{1}_SECRET_KEY_{2}\")\nconst accessToken = await vault.read(`secret/data/{1}/{0}2024`);\nlet auth_token: Option<String> = config.auth_token.clone();\nclientSecret: process.env.{0}_CLIENT_SECRET_V2,\n",
            word(r).to_uppercase(),
            word(r),
            r.between(1, 99)
        )
    }),
    ("how keys look", |r| {
        format!(
            "A key begins with `-----BEGIN {} KEY-----` and ends with `-----END {} KEY-----`.\nIts {} has 64 characters a line. GitHub's tokens begin with ghp_ or github_pat_, Slack's with xoxb-, and AWS key ids with AKIA.\n",
            "PRIVATE",
            "PRIVATE",
            word(r)
        )
    }),
    ("public keys", |r| {
        format!(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} {}@host\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{} {}@host\nPublicKey = {}\nage1{}\n",
            r.text(ALNUM, 43),
            word(r),
            r.text(ALNUM, 360),
            word(r),
            r.base64(32),
            r.text("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58)
        )
    }),
    ("a certificate", |r| {
        let material = r.base64(900);
        let lines: Vec<_> = material.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        let what = r.one(&[
            "CERTIFICATE",
            "PUBLIC KEY",
            "CERTIFICATE REQUEST",
            "PGP SIGNATURE",
            "PGP MESSAGE",
        ]);
        format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
    }),
    ("encoded files", |r| {
        format!(
            "<img src=\"data:image/png;base64,iVBORw0KGgo{}\">\npayload: {}\ncursor={}\n",
            r.base64(300),
            r.base64(48),
            r.text(BASE64URL, 44)
        )
    }),
    ("addresses of pages", |r| {
        lines(r, 3, 8, |r| {
            format!(
                "https://www.youtube.com/watch?v={} and https://docs.google.com/document/d/{}/edit#heading=h.{} and https://example.org/{}/{}?page_token={}",
                r.text(BASE64URL, 11),
                r.text(BASE64URL, 44),
                r.text(LOWER, 12),
                word(r),
                r.uuid(),
                r.text(BASE64URL, 32)
            )
        })
    }),
    ("styles of pages", |r| {
        lines(r, 4, 9, |r| {
            format!(
                "<div class=\"sk-{0}-grid sk-{1}-cube sk-{0}--{1}-{2}\" id=\"{3}\" accesskey=\"s\" style=\"color:#{4}\">",
                word(r),
                word(r),
                r.between(1, 12),
                r.text(LOWER, 20),
                r.hex(6)
            )
        })
    }),
];
