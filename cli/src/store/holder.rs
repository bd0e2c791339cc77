//! Who holds a store, in words.

/// The process that holds a store. What kind it is is known on Linux alone, and only for processes of this machine's `/proc`.
pub(super) fn of(process: Option<u32>) -> String {
    let Some(process) = process else { return "another process".to_owned() };
    match kind(&words(process)) {
        Some(kind) => format!("{kind}, process {process}"),
        None => format!("process {process}"),
    }
}

/// What a command line runs. Does no I/O.
fn kind(words: &[String]) -> Option<String> {
    let (program, args) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    if program != "inmost" {
        // A program of its user, such as `python3`, that has the library.
        return Some(format!("the program {program}"));
    }
    // Options may stand before the command.
    let is = |command: &str| args.iter().any(|word| word == command);
    Some(match args.first() {
        Some(first) if first == crate::keyd::COMMAND => "the key daemon".to_owned(),
        _ if is("mcp") => "an MCP server".to_owned(),
        Some(first) if !first.starts_with('-') => format!("the command inmost {first}"),
        _ => "a command of inmost".to_owned(),
    })
}

/// The command line of a process; empty if it cannot be read.
#[cfg(target_os = "linux")]
fn words(process: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// No cheap way is known here.
#[cfg(not(target_os = "linux"))]
fn words(_process: u32) -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_named_by_what_it_runs() {
        for (line, name) in [
            ("/usr/bin/inmost keyd", Some("the key daemon")),
            ("inmost --store x mcp", Some("an MCP server")),
            ("inmost write a.md", Some("the command inmost write")),
            ("inmost --store x write a.md", Some("a command of inmost")),
            ("/usr/bin/python3 agent.py", Some("the program python3")),
            ("", None),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(kind(&words).as_deref(), name, "{line}");
        }
    }
}
