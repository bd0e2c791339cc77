//! A unit for systemd that mounts a folder at each login.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::exit::Failure;

/// The text of a unit whose process is `inmost mount` with these arguments.
///
/// The folder is mounted whether or not the store is unlocked, so programs never find it plain.
///
/// # Errors
/// An argument that is not UTF-8, or has a control character.
pub(super) fn text(arguments: &[OsString]) -> Result<String, Failure> {
    let folder = arguments.last().map_or("", |folder| folder.to_str().unwrap_or_default());
    let program = std::env::current_exe().unwrap_or_else(|_| Path::new("/usr/bin/inmost").into());
    let program = quoted(program.as_os_str())?;
    let folder = quoted(OsStr::new(folder))?;
    let arguments: Result<Vec<String>, Failure> =
        arguments.iter().map(|argument| quoted(argument)).collect();
    Ok(format!(
        "[Unit]\n\
         Description=Encrypted memory as a folder\n\
         Documentation=man:inmost-mount(1)\n\
         \n\
         [Service]\n\
         ExecStart={program} mount --allow-locked {}\n\
         ExecStop={program} unmount {folder}\n\
         Restart=on-failure\n\
         RestartSec=1\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        arguments?.join(" "),
    ))
}

/// An argument of a command line in a unit, in which systemd expands `%` and `$`.
fn quoted(argument: &OsStr) -> Result<String, Failure> {
    let text = argument.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = text.ok_or_else(|| {
        Failure::usage(
            "A unit cannot name a path that is not UTF-8 or has control characters.",
            "Rename it.",
        )
    })?;
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(format!("\"{}\"", escaped.replace('%', "%%").replace('$', "$$")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_systemd_would_expand_is_escaped() {
        let plain = quoted(OsStr::new("/tmp/a b/100%$HOME\\\"x\"")).unwrap();
        assert_eq!(plain, r#""/tmp/a b/100%%$$HOME\\\"x\"""#);
        assert!(quoted(OsStr::new("a\nExecStart=b")).is_err());
    }
}
