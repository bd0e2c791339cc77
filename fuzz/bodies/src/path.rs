//! Tests which paths are accepted and refused, and that parsing is stable.

use inmost::FileError;
use inmost::internals::{Path, echo};

use crate::naive::{Refused, canonical};

pub(crate) fn run(data: &[u8]) {
    let Ok(sent) = std::str::from_utf8(data) else { return };
    check(sent);
    // Most inputs do not begin like a path; with the root in front, they test more.
    check(&format!("/memories/{sent}"));
}

fn check(sent: &str) {
    let parsed = Path::parse(sent);
    let as_model = match &parsed {
        Ok(path) => Ok(path.as_str().to_owned()),
        Err(FileError::InvalidPath(reason)) => Err(match reason.as_str() {
            "it must start with /memories" => Refused::Prefix,
            "it would escape /memories" => Refused::Escape,
            reason => {
                assert!(!reason.is_empty());
                Refused::Invalid
            }
        }),
        Err(other) => panic!("unexpected parsing error: {other}"),
    };
    assert_eq!(as_model, canonical(sent), "{sent:?}");
    assert!(sent.len() - echo(sent).len() <= 1);
    if let Ok(path) = parsed {
        check_parsed(&path);
    }
}

fn check_parsed(path: &Path) {
    let text = path.as_str();
    assert!(text.len() <= 1_024 && path.depth() <= 20);
    assert_eq!(path.names().count(), path.depth());
    assert!(path.names().all(|name| !name.is_empty() && name.len() <= 255));
    assert!(path.names().all(|name| name != "." && name != ".."));
    assert!(!text.ends_with('/') && !text.contains("//"));
    assert!(path.starts_with(&Path::parse("/memories").unwrap()));
    let is_same = |sent: &str| Path::parse(sent).is_ok_and(|again| again.as_str() == text);
    assert!(is_same(text), "{text:?} is not stable");
    assert!(is_same(&format!("{text}/")));

    let rebuilt = ["/memories"].into_iter().chain(path.names()).collect::<Vec<_>>().join("/");
    assert_eq!(rebuilt, text);
    match (path.parent(), path.names().last()) {
        (Some(parent), Some(name)) => {
            assert!(path.starts_with(&parent) && !parent.starts_with(path));
            assert_eq!(format!("{}/{name}", parent.as_str()), text);
        }
        (None, None) => assert_eq!(text, "/memories"),
        _ => panic!("{text:?} has a name or a parent, but not both"),
    }
}
