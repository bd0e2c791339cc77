//! Paths: what is accepted, what is refused, and that parsing is stable.

use super::model::{Refused, canonical};
use crate::vfs::path::{MemoryPath, PathError, echo};

pub(super) fn run(data: &[u8]) {
    let Ok(sent) = std::str::from_utf8(data) else { return };
    check(sent);
    // Most inputs do not begin like a path, and are worth more behind the root.
    check(&format!("/memories/{sent}"));
}

fn check(sent: &str) {
    let parsed = MemoryPath::parse(sent);
    let as_model = match &parsed {
        Ok(path) => Ok(path.as_str().to_owned()),
        Err(PathError::Prefix) => Err(Refused::Prefix),
        Err(PathError::Escape) => Err(Refused::Escape),
        Err(PathError::Invalid(invalid)) => {
            assert!(!invalid.describe().is_empty());
            Err(Refused::Invalid)
        }
    };
    assert_eq!(as_model, canonical(sent), "{sent:?}");
    assert!(sent.len() - echo(sent).len() <= 1);
    if let Ok(path) = parsed {
        check_parsed(&path);
    }
}

fn check_parsed(path: &MemoryPath) {
    let text = path.as_str();
    assert!(text.len() <= 1_024 && path.depth() <= 20);
    assert_eq!(path.segments().count(), path.depth());
    assert!(path.segments().all(|name| !name.is_empty() && name.len() <= 255));
    assert!(path.segments().all(|name| name != "." && name != ".."));
    assert!(!text.ends_with('/') && !text.contains("//"));
    assert!(path.starts_with(&MemoryPath::root()));
    assert!(MemoryPath::parse(text).is_ok_and(|again| again == *path), "{text:?} is not stable");
    assert!(MemoryPath::parse(&format!("{text}/")).is_ok_and(|again| again == *path));

    let rebuilt = ["/memories"].into_iter().chain(path.segments()).collect::<Vec<_>>().join("/");
    assert_eq!(rebuilt, text);
    match (path.parent(), path.name()) {
        (Some(parent), Some(name)) => {
            assert!(path.starts_with(&parent) && !parent.starts_with(path));
            assert!(parent.join(name).is_ok_and(|again| again == *path), "{text:?}");
        }
        (None, None) => assert!(path.is_root()),
        _ => panic!("{text:?} has a name or a parent, but not both"),
    }
}
