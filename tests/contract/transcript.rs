//! Reads and plays a transcript: calls with the results that the contract requires, run in order against one
//! new store in memory, and again inside a folder of another store. `tests/transcripts/README.md` describes
//! the format. A file that violates the format is refused, so that reviewers see exactly what is compared.

use std::str::FromStr;

use inmost::{MemoryTool, Session, SessionOptions, ToolOptions};

/// A call and its required result.
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) call: String,
    pub(crate) is_error: bool,
    pub(crate) content: String,
}

pub(crate) struct Transcript {
    /// The name and the value; the value is empty for a switch.
    options: Vec<(String, String)>,
    pub(crate) steps: Vec<Step>,
}

/// Plays a whole transcript against a store, and again in a folder of another.
pub(crate) fn play(name: &str, text: &str) {
    let transcript = Transcript::parse(name, text);
    let session = transcript.session();
    transcript.play(name, &MemoryTool::with_options(session, transcript.tool_options()));
    if !transcript.has("whole_store") {
        transcript.play_in_subtree(name);
    }
}

impl Transcript {
    /// The content around the folder must not appear in any result, and must not change.
    fn play_in_subtree(&self, name: &str) {
        let session = self.session();
        let files = session.files();
        // Not with quotas, which would count these files.
        let around: &[&str] = if self.has("store_files") || self.has("store_bytes") {
            &[]
        } else {
            &["/memories/f", "/memories/a/a", "/memories/sub/tree.txt", "/memories/sub/f"]
        };
        for path in around {
            files.write(path, "outside\n").unwrap();
        }
        let options = self.tool_options().subtree("/memories/sub/tree").unwrap();
        let tool = MemoryTool::with_options(session.clone(), options);
        self.play(&format!("{name} in a subtree"), &tool);
        for path in around {
            assert_eq!(files.read(path).unwrap().as_str(), "outside\n", "{name}: {path}");
        }
    }

    /// Reports every result that differs, because later steps often show the effect of an earlier difference.
    fn play(&self, name: &str, tool: &MemoryTool) {
        let mut differences = Vec::new();
        for step in &self.steps {
            let result = tool.try_run_json(&step.call).unwrap_or_else(|_| {
                panic!(
                    "{name}:{}: the store returned an error for {}",
                    step.line,
                    excerpt(&step.call)
                )
            });
            if result.is_error() != step.is_error || !matches(&step.content, result.content()) {
                differences.push(format!(
                    "{name}:{}: {}\n{}\n{}",
                    step.line,
                    excerpt(&step.call),
                    described("expected", step.is_error, &step.content),
                    described("got", result.is_error(), result.content()),
                ));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    }
}

/// Returns whether `content` matches `expected`: exactly, or exactly around one `{reason}`.
pub(crate) fn matches(expected: &str, content: &str) -> bool {
    let Some((before, after)) = expected.split_once("{reason}") else {
        return content == expected;
    };
    content.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).is_some_and(is_a_reason)
}

/// Returns whether a text is a valid reason: not blank, on one line, and with no paths except those of the
/// memory tree.
fn is_a_reason(text: &str) -> bool {
    let elsewhere = text.replace("/memories/", "").replace("/memories", "");
    !text.trim().is_empty() && !text.contains(['\n', '\r']) && !elsewhere.contains(['/', '\\'])
}

impl Transcript {
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut transcript = Self { options: Vec::new(), steps: Vec::new() };
        let mut has_result = true;
        for (index, line) in text.lines().enumerate() {
            let at = format!("{name}:{}", index + 1);
            assert!(line.chars().all(|c| matches!(c, ' '..='~')), "{at}: printable ASCII only");
            assert_eq!(line.trim_end(), line, "{at}: a trailing blank needs the quoted form");
            let mut rest = line.chars();
            match rest.next() {
                None | Some('#') => {}
                Some('@') => {
                    assert!(
                        transcript.steps.is_empty(),
                        "{at}: an option must come before the first call"
                    );
                    transcript.options.push(option(&at, line));
                }
                Some('>') => {
                    assert!(has_result, "{at}: the previous call has no result");
                    let call = body(&at, rest.as_str());
                    transcript.steps.push(Step {
                        line: index + 1,
                        call,
                        is_error: false,
                        content: String::new(),
                    });
                    has_result = false;
                }
                Some(mark @ ('<' | '!')) => {
                    let step = transcript.steps.last_mut();
                    let step = step.unwrap_or_else(|| panic!("{at}: a result without a call"));
                    step.add_result(&at, mark == '!', &body(&at, rest.as_str()), !has_result);
                    has_result = true;
                }
                Some(_) => panic!("{at}: not a comment, option, call or result"),
            }
        }
        assert!(has_result, "{name}: the last call has no result");
        transcript
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| name == option)
    }

    fn session(&self) -> Session {
        let mut session = SessionOptions::new();
        for (name, value) in &self.options {
            session = match name.as_str() {
                "file_bytes" => session.max_file_bytes(number(value)),
                "store_files" => session.max_files(number(value)),
                "store_bytes" => session.max_store_bytes(number(value)),
                _ => session,
            };
        }
        session.in_memory().unwrap()
    }

    fn tool_options(&self) -> ToolOptions {
        let mut tool = ToolOptions::new();
        for (name, value) in &self.options {
            tool = match name.as_str() {
                "read_only" => tool.read_only(true),
                "create_overwrites" => tool.create_overwrites(true),
                "view_characters" => tool.max_view_characters(number(value)),
                "range_characters" => tool.max_range_characters(number(value)),
                "listing_entries" => tool.max_listing_entries(number(value)),
                "file_bytes" | "store_files" | "store_bytes" | "whole_store" => tool,
                _ => panic!("unknown option {name}"),
            };
        }
        tool
    }
}

impl Step {
    /// Adds one line of the result. The lines of one result are joined by `\n`.
    fn add_result(&mut self, at: &str, is_error: bool, line: &str, first: bool) {
        if first {
            self.is_error = is_error;
        } else {
            assert_eq!(self.is_error, is_error, "{at}: a result has only one kind of line");
            self.content.push('\n');
        }
        self.content.push_str(line);
    }
}

fn option(at: &str, line: &str) -> (String, String) {
    let text = line.strip_prefix("@option ").unwrap_or_else(|| panic!("{at}: not an option"));
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.to_owned(), value.to_owned())
}

fn number<T: FromStr>(value: &str) -> T {
    value.parse().unwrap_or_else(|_| panic!("{value:?} is not a number"))
}

/// Returns the text of a line after its mark: nothing, a blank and plain text, or a JSON string.
fn body(at: &str, rest: &str) -> String {
    if rest.is_empty() {
        return String::new();
    }
    if rest.starts_with('"') {
        let expanded = expand(at, rest);
        return serde_json::from_str(&expanded)
            .unwrap_or_else(|error| panic!("{at}: not a JSON string: {error}"));
    }
    let plain = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{at}: no blank after the mark"));
    assert!(!plain.starts_with(' '), "{at}: a leading blank needs the quoted form");
    expand(at, plain)
}

/// Replaces each `$repeat(N, "text")` by N copies of the text, before anything else is parsed.
fn expand(at: &str, line: &str) -> String {
    let mut expanded = String::new();
    let mut rest = line;
    while let Some((before, macro_call)) = rest.split_once("$repeat(") {
        let (count, tail) = macro_call
            .split_once(", \"")
            .unwrap_or_else(|| panic!("{at}: $repeat needs a number and a text"));
        let (text, after) =
            tail.split_once("\")").unwrap_or_else(|| panic!("{at}: $repeat is not closed"));
        expanded.push_str(before);
        expanded.push_str(&text.repeat(number(count)));
        rest = after;
    }
    expanded + rest
}

fn described(what: &str, is_error: bool, content: &str) -> String {
    let kind = if is_error { "error" } else { "success" };
    format!("  {what:>8}: {kind} of {} bytes {}", content.len(), excerpt(content))
}

/// Returns the text as a Rust literal, shortened in the middle if it is long.
fn excerpt(text: &str) -> String {
    const KEPT: usize = 700;
    let count = text.chars().count();
    if count <= 2 * KEPT {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(KEPT).collect();
    let end: String = text.chars().skip(count - KEPT).collect();
    format!("{start:?} ... {end:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeat_is_expanded_before_the_line_is_read() {
        let text = "> $repeat(3, \"ab\")-$repeat(0, \"x\")\n<\"$repeat(2, \"\\t\")\"\n";
        let transcript = Transcript::parse("t", text);
        assert_eq!(transcript.steps[0].call, "ababab-");
        assert_eq!(transcript.steps[0].content, "\t\t");
    }

    #[test]
    fn lines_of_a_result_are_joined() {
        let transcript = Transcript::parse("t", "> a\n< b\n<\n<\"c \"\n\n>\"d\\n\"\n! e\n");
        assert_eq!(transcript.steps[0].content, "b\n\nc ");
        assert!(!transcript.steps[0].is_error);
        assert_eq!(transcript.steps[1].call, "d\n");
        assert!(transcript.steps[1].is_error);
    }

    #[test]
    fn a_reason_is_one_line_that_names_no_foreign_path() {
        assert!(matches("Error: {reason}!", "Error: too long!"));
        assert!(matches("Error: {reason}", "Error: 1,024 bytes, `/memories/` included"));
        assert!(!matches("Error: {reason}", "Error: "));
        assert!(!matches("Error: {reason}", "Error: a\nb"));
        assert!(!matches("Error: {reason}", "Error: cannot open /tmp/x"));
        assert!(!matches("Error: {reason}!", "Error: too long"));
    }
}
