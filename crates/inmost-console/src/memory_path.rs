//! Paths of the memory on the command line. Does no I/O.

use std::convert::Infallible;

/// The path of a file or folder. A path without a leading slash is below `/memories`: `people/ada.md` is
/// `/memories/people/ada.md`, and `.` is `/memories`. The library checks the rest.
pub fn parse(text: &str) -> Result<String, Infallible> {
    Ok(absolute(text))
}

/// The path of a file.
///
/// # Errors
/// If it ends in a slash, which only the path of a folder does.
pub fn of_file(text: &str) -> Result<String, &'static str> {
    if text.ends_with('/') {
        return Err("a path that ends in a slash names a folder, and this needs a file");
    }
    Ok(absolute(text))
}

/// The folder of the whole memory.
pub const ROOT: &str = "/memories";

/// Whether a path is that of the whole memory.
pub fn is_root(path: &str) -> bool {
    path.trim_end_matches('/') == ROOT
}

/// The last name of a path; `None` for the root.
pub fn last_name(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    if path == ROOT { None } else { path.rsplit('/').next() }
}

fn absolute(text: &str) -> String {
    let mut rest = text;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    match rest {
        // An empty path stays one, so that an unset variable of a script does not become the whole memory.
        "" if text.is_empty() => String::new(),
        "" | "." => ROOT.to_owned(),
        _ if text.starts_with('/') => text.to_owned(),
        _ => format!("{ROOT}/{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_a_leading_slash_is_below_the_root() {
        for (text, path) in [
            ("people/ada.md", "/memories/people/ada.md"),
            ("people/", "/memories/people/"),
            ("./people", "/memories/people"),
            (".//.//people", "/memories/people"),
            (".hidden", "/memories/.hidden"),
            (".", "/memories"),
            ("./", "/memories"),
            ("", ""),
            ("/memories/a", "/memories/a"),
            ("/etc", "/etc"),
            ("/./etc", "/./etc"),
            ("../a", "/memories/../a"),
        ] {
            assert_eq!(parse(text), Ok(path.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_file_has_no_slash_at_its_end() {
        assert_eq!(of_file("a/b"), Ok("/memories/a/b".to_owned()));
        assert!(of_file("a/").is_err() && of_file("/memories/a/").is_err());
    }

    #[test]
    fn the_last_name_is_that_of_the_file_or_folder() {
        let last = ["/memories/a/b.md", "/memories/a/", "/memories", "/memories/"].map(last_name);
        assert_eq!(last, [Some("b.md"), Some("a"), None, None]);
    }
}
