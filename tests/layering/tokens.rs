//! Reads a source file as tokens, and finds the paths that it names.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};

/// An item that a source file names.
pub(crate) struct Named {
    pub what: What,
    pub line: usize,
    /// The name that a `use` gives it in this file.
    pub alias: Option<String>,
    /// Whether the file does not use it itself: it passes it on with `pub use`, or says where something is visible.
    pub is_passed_on: bool,
}

pub(crate) enum What {
    /// A path from the root of this crate.
    Root(Vec<String>),
    /// The root of this crate itself, which gives access to everything.
    WholeCrate,
    /// A path that begins elsewhere: in another crate, or with a name in scope.
    Crate(Vec<String>),
    /// Source text from a file outside the usual place of its module.
    File,
}

pub(crate) fn names_in(source: &str, module: Vec<String>) -> Vec<Named> {
    let tokens: TokenStream = source.parse().unwrap();
    let mut reader = Reader::new(module);
    reader.read(tokens, &Prefix::None);
    reader.names
}

/// The prefix of the paths in a group.
pub(crate) enum Prefix {
    /// No prefix: ordinary code.
    None,
    /// No prefix, and each is a path: `use {a, b}`.
    Bare,
    /// A path from the root of this crate: `use crate::{a, b}`.
    Root(Vec<String>),
    /// A path that begins elsewhere: `use a::{b, c}`.
    Crate(Vec<String>),
}

pub(crate) struct Reader {
    /// The module that the tokens are in.
    module: Vec<String>,
    pub names: Vec<Named>,
    /// The modules without a body that the tokens declare.
    pub declares: Vec<String>,
    /// Whether code for tests is skipped.
    skips_tests: bool,
    /// Whether the tokens are in a `use`, and in one that other modules can see.
    in_use: (bool, bool),
}

impl Reader {
    pub(crate) fn new(module: Vec<String>) -> Self {
        let (names, declares, in_use) = (Vec::new(), Vec::new(), (false, false));
        Self { module, names, declares, skips_tests: false, in_use }
    }

    /// As [`new`](Self::new), for what ships: code for tests is skipped.
    pub(crate) fn without_tests(module: Vec<String>) -> Self {
        Self { skips_tests: true, ..Self::new(module) }
    }

    pub(crate) fn read(&mut self, tokens: TokenStream, prefix: &Prefix) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let before = at.checked_sub(1).and_then(|before| tokens.get(before));
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    if is_sign(before, '#') && sets_path(group.stream()) {
                        self.name(What::File, group.span());
                    }
                    if self.skips_tests && is_sign(before, '#') && is_for_tests(&group.stream()) {
                        at = end_of_item(&tokens, at);
                        continue;
                    }
                    let depth = self.module.len();
                    self.module.extend(inline_module(&tokens, at));
                    let bare = is_word(before, "use");
                    let inner = if bare { &Prefix::Bare } else { &Prefix::None };
                    let is_list = !matches!(prefix, Prefix::None);
                    self.read(group.stream(), if is_list { prefix } else { inner });
                    self.module.truncate(depth);
                }
                TokenTree::Ident(word) if is_word(before, "mod") => {
                    self.declares.extend(is_sign(tokens.get(at), ';').then(|| word.to_string()));
                }
                TokenTree::Ident(word) if word == "use" => {
                    // After `use<'a>` in a type comes no `;` either, and nothing that is read differently.
                    self.in_use = (true, is_public(&tokens, at - 1));
                }
                TokenTree::Punct(sign) if sign.as_char() == ';' => self.in_use = (false, false),
                TokenTree::Ident(word) if !is_declared(before) => {
                    let explicit = matches!(prefix, Prefix::Bare) || is_word(before, "use");
                    at = match (word.to_string().as_str(), tokens.get(at)) {
                        ("include", sign) if is_sign(sign, '!') => {
                            self.name(What::File, word.span());
                            at
                        }
                        ("extern", Some(TokenTree::Ident(krate))) if krate == "crate" => {
                            at + 1 + self.extern_crate(tokens.get(at + 1))
                        }
                        _ => self.path(word, &tokens, at, prefix, explicit),
                    };
                }
                _ => {}
            }
        }
    }

    /// Reads a path from its first segment. Returns the position after it. A single segment counts as a path
    /// only if it is `explicit`.
    fn path(
        &mut self,
        first: &Ident,
        tokens: &[TokenTree],
        mut at: usize,
        prefix: &Prefix,
        explicit: bool,
    ) -> usize {
        let mut segments = vec![first.to_string()];
        let mut group = None;
        let begin = at - 1;
        while is_sign(tokens.get(at), ':') && is_sign(tokens.get(at + 1), ':') {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(segment)) => segments.push(segment.to_string()),
                Some(TokenTree::Group(list)) if list.delimiter() == Delimiter::Brace => {
                    group = Some(list.stream());
                }
                sign if is_sign(sign, '*') => {}
                _ => break,
            }
            at += 3;
        }
        let end = at;
        let mut alias = segments.last().cloned();
        if is_word(tokens.get(at), "as") {
            alias = tokens.get(at + 1).map(ToString::to_string);
            at += 2; // the new name is not a reference
        }
        let below = self.resolve(&segments, prefix);
        if let Some(group) = group {
            let prefix = match below {
                Some(path) => Prefix::Root(path),
                None => Prefix::Crate(Self::elsewhere(&segments, prefix)),
            };
            self.read(group, &prefix);
            return at;
        }
        let what = match below {
            None if explicit || end > begin + 1 || matches!(prefix, Prefix::Crate(_)) => {
                What::Crate(Self::elsewhere(&segments, prefix))
            }
            None => return at,
            Some(path) if path.is_empty() && is_visibility(tokens, begin, end) => return at,
            Some(path) if path.is_empty() => What::WholeCrate,
            Some(path) => What::Root(path),
        };
        let (in_use, is_public) = self.in_use;
        let alias = alias.filter(|_| in_use);
        let is_passed_on = is_public || is_restriction(tokens, begin, end, &segments);
        self.names.push(Named { what, line: first.span().start().line, alias, is_passed_on });
        at
    }

    /// The whole of a path that begins in another crate, or with a name in scope.
    fn elsewhere(segments: &[String], prefix: &Prefix) -> Vec<String> {
        let base = if let Prefix::Crate(base) = prefix { base.as_slice() } else { &[] };
        base.iter().chain(segments.iter().filter(|it| *it != "self")).cloned().collect()
    }

    /// Reads the tokens after `extern crate`. Returns their number.
    fn extern_crate(&mut self, name: Option<&TokenTree>) -> usize {
        let Some(TokenTree::Ident(name)) = name else {
            return 0;
        };
        let what =
            if name == "self" { What::WholeCrate } else { What::Crate(vec![name.to_string()]) };
        self.name(what, name.span());
        1
    }

    /// Converts a path to one from the root of this crate, or returns `None` if it begins elsewhere.
    fn resolve(&self, segments: &[String], prefix: &Prefix) -> Option<Vec<String>> {
        let mut segments = segments.iter().map(String::as_str).peekable();
        let mut path = match (prefix, *segments.peek()?) {
            (Prefix::Crate(_), _) => return None,
            (Prefix::Root(base), _) => base.clone(),
            (_, "crate") => Vec::new(),
            (_, "super" | "self") => self.module.clone(),
            _ => return None,
        };
        segments.next_if(|first| matches!(*first, "crate" | "self"));
        while segments.next_if_eq(&"super").is_some() {
            path.pop();
        }
        path.extend(segments.map(str::to_owned));
        Some(path)
    }

    fn name(&mut self, what: What, span: Span) {
        let line = span.start().line;
        self.names.push(Named { what, line, alias: None, is_passed_on: false });
    }
}

/// Returns whether an attribute is `path = "..."`, or sets it conditionally. In the signature of a Python method it is the
/// default of an argument.
fn sets_path(attribute: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = attribute.into_iter().collect();
    if is_word(tokens.first(), "pyo3") {
        return false;
    }
    tokens.windows(2).any(|pair| is_word(pair.first(), "path") && is_sign(pair.get(1), '='))
        || tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => sets_path(group.stream()),
            _ => false,
        })
}

/// Returns whether an attribute leaves an item out of what ships: `cfg(test)`.
fn is_for_tests(attribute: &TokenStream) -> bool {
    attribute.to_string().replace(' ', "") == "cfg(test)"
}

/// Returns the position after the item that begins here.
fn end_of_item(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(sign) if sign.as_char() == ';' => break,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            _ => {}
        }
    }
    at
}

/// Returns whether the item whose keyword is here is visible outside its module.
fn is_public(tokens: &[TokenTree], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    is_word(before(1), "pub")
        || matches!(before(1), Some(TokenTree::Group(_))) && is_word(before(2), "pub")
}

/// Returns the name of the module whose body ends just before `at`: `mod name { ... }`.
fn inline_module(tokens: &[TokenTree], at: usize) -> Option<String> {
    let [.., keyword, TokenTree::Ident(name), TokenTree::Group(_)] = tokens.get(..at)? else {
        return None;
    };
    is_word(Some(keyword), "mod").then(|| name.to_string())
}

/// Returns whether the next token declares a name or belongs to something already read.
fn is_declared(before: Option<&TokenTree>) -> bool {
    match before {
        Some(TokenTree::Ident(word)) => word == "mod" || word == "fn",
        Some(TokenTree::Punct(sign)) => sign.as_char() == '.',
        _ => false,
    }
}

fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

/// Returns whether a path only says where an item is visible: `pub(super)`, `pub(in crate::a)`.
fn is_restriction(tokens: &[TokenTree], begin: usize, end: usize, segments: &[String]) -> bool {
    let is_relative = segments.iter().all(|it| ["crate", "self", "super"].contains(&it.as_str()));
    is_visibility(tokens, begin, end) && (begin == 1 || is_relative)
}

/// Returns whether parentheses contain only a path: `pub(crate)`, `pub(in super::super)`.
fn is_visibility(tokens: &[TokenTree], begin: usize, end: usize) -> bool {
    let opened = begin == 0 || begin == 1 && is_word(tokens.first(), "in");
    opened && end == tokens.len()
}
