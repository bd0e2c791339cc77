//! Private keys in the text formats of RFC 7468, RFC 1421 (encrypted), `OpenSSH`, `OpenPGP` (RFC 9580), SSH2 (RFC 4716),
//! `PuTTY`, age and `WireGuard`. The key material is random.
//!
//! The label is put together at run time, because the hosts of repositories block files that hold it.

use crate::random::{BASE64, Random, UPPER_HEX};

/// The name of a format, and how a key in it looks.
pub(crate) type Format = (&'static str, fn(&mut Random) -> String);

/// Lines of base64 for so many bytes.
fn lines(random: &mut Random, bytes: usize, width: usize) -> String {
    let material = random.base64(bytes);
    let lines: Vec<_> = material.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
    lines.join("\n")
}

fn border(dashes: &str, word: &str, label: &str, end: &str) -> String {
    format!("{dashes}{word} {label}{} KEY{end}{dashes}", "PRIVATE")
}

fn block(label: &str, body: &str) -> String {
    let (begin, end) = (border("-----", "BEGIN", label, ""), border("-----", "END", label, ""));
    format!("{begin}\n{body}\n{end}\n")
}

pub(crate) const FORMATS: &[Format] = &[
    ("PKCS#8, RSA", |r| block("", &lines(r, 1_217, 64))),
    ("PKCS#8, Ed25519", |r| block("", &format!("MC4CAQAwBQYDK2VwBCIEI{}", r.text(BASE64, 43)))),
    ("PKCS#8, P-256", |r| block("", &lines(r, 138, 64))),
    ("PKCS#8, encrypted", |r| block("ENCRYPTED ", &lines(r, 1_329, 64))),
    ("PKCS#1", |r| block("RSA ", &lines(r, 1_192, 64))),
    ("PKCS#1, encrypted", |r| {
        let headers =
            format!("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{}\n", r.text(UPPER_HEX, 32));
        block("RSA ", &format!("{headers}\n{}", lines(r, 1_192, 64)))
    }),
    ("SEC 1", |r| block("EC ", &lines(r, 121, 64))),
    ("DSA", |r| block("DSA ", &lines(r, 447, 64))),
    ("OpenSSH", |r| {
        let material = lines(r, 1_800, 70);
        block(
            "OPENSSH ",
            &format!(
                "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAAAAdzc2gtcn\n{material}"
            ),
        )
    }),
    ("OpenPGP", |r| {
        let (begin, end) =
            (border("-----", "BEGIN", "PGP ", " BLOCK"), border("-----", "END", "PGP ", " BLOCK"));
        let (material, check) = (lines(r, 2_000, 64), r.text(BASE64, 4));
        format!("{begin}\nVersion: GnuPG v2\nComment: my key\n\n{material}\n={check}\n{end}\n")
    }),
    ("SSH2", |r| {
        let (begin, end) = (
            border("----", " BEGIN", "SSH2 ENCRYPTED ", " "),
            border("----", " END", "SSH2 ENCRYPTED ", " "),
        );
        format!("{begin}\nComment: \"rsa-key\"\n{}\n{end}\n", lines(r, 800, 70))
    }),
    ("PuTTY", |r| {
        let (public, secret, mac) = (lines(r, 279, 64), lines(r, 607, 64), r.hex(40));
        format!(
            "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: me\nPublic-Lines: 6\n{public}\n{}-Lines: 13\n{secret}\n{}-MAC: {mac}\n",
            "Private", "Private"
        )
    }),
    ("a service account in JSON", |r| {
        let key = block("", &lines(r, 1_217, 64)).replace('\n', "\\n");
        format!(
            "{{\"type\": \"service_account\", \"private_key_id\": \"{}\", \"{}_key\": \"{key}\"}}",
            r.hex(40),
            "private"
        )
    }),
    ("an indented key in YAML", |r| {
        format!("tls:\n  key: |\n    {}", block("EC ", &lines(r, 121, 64)).replace('\n', "\n    "))
    }),
    ("a string in source code", |r| {
        let key = block("RSA ", &lines(r, 600, 64));
        let lines: Vec<_> = key.lines().map(|line| format!("    \"{line}\\n\"")).collect();
        format!("const KEY: &str = concat!(\n{});", lines.join(",\n"))
    }),
    ("a key with the line breaks of Windows", |r| {
        block("", &lines(r, 1_217, 64)).replace('\n', "\r\n")
    }),
    ("a key without its end", |r| {
        format!("{}\n{}\n", border("-----", "BEGIN", "RSA ", ""), lines(r, 600, 64))
    }),
    ("age", |r| {
        // Bech32 of BIP 173, in capitals.
        format!("AGE-{}-KEY-1{}", "SECRET", r.text("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
    }),
    ("WireGuard", |r| {
        format!(
            "[Interface]\nAddress = 10.0.0.2/32\n{}Key = {}\nDNS = 10.0.0.1",
            "Private",
            r.base64(32)
        )
    }),
];
