//! The system calls of a process, parsed from the output of strace.

use std::path::PathBuf;

/// The options of strace: every string complete and in hexadecimal.
pub(crate) const STRACE: [&str; 9] = [
    "strace",
    "-f",
    "-y",
    "-xx",
    "-s",
    "16777216",
    "-e",
    "trace=open,openat,openat2,creat,write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,sendfile,\
     copy_file_range,splice,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,symlink,symlinkat,mmap",
    "--quiet=all",
];

/// The relevant calls.
#[derive(Default)]
pub(crate) struct Calls {
    /// The opened files, and the paths that files and folders were created as or renamed to.
    pub(crate) opened_for_writing: Vec<PathBuf>,
    /// The file of each write and the bytes.
    pub(crate) written: Vec<(String, Vec<u8>)>,
    /// The number of mappings through which a file could be written.
    pub(crate) shared_mappings: usize,
}

pub(crate) fn parse(log: &str) -> Calls {
    let mut calls = Calls::default();
    for line in log.lines() {
        // If another thread interrupts a call, all of its arguments are on the first line.
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
        let Some((name, arguments)) = call.split_once('(') else { continue };
        let strings = strings(arguments);
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"];
        match name {
            "open" | "openat" | "openat2" | "creat"
                if name == "creat" || writes.iter().any(|flag| arguments.contains(flag)) =>
            {
                calls.opened_for_writing.extend(strings.into_iter().map(path));
            }
            "open" | "openat" | "openat2" => {}
            "mmap" => {
                let shared = arguments.contains("MAP_SHARED") && arguments.contains("PROT_WRITE");
                calls.shared_mappings += usize::from(shared);
            }
            _ if name.starts_with("rename")
                || name.contains("link")
                || name.starts_with("mkdir") =>
            {
                calls.opened_for_writing.extend(strings.into_iter().map(path));
            }
            "sendfile" | "copy_file_range" | "splice" => {
                panic!("strace does not show the bytes: {line}")
            }
            _ => {
                // The file descriptor, followed by its path in angle brackets.
                let file = arguments.split(['<', '>']).nth(1).map(unescape).unwrap_or_default();
                let file = String::from_utf8(file).unwrap();
                calls.written.push((file, strings.concat()));
            }
        }
    }
    calls
}

fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8(bytes).unwrap())
}

/// The strings of a call: `"\x61\x62"`.
fn strings(arguments: &str) -> Vec<Vec<u8>> {
    assert!(!arguments.contains("\"..."), "strace has truncated a string");
    let quoted = arguments.split('"').skip(1).step_by(2);
    quoted.map(unescape).collect()
}

fn unescape(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}
