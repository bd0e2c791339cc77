//! Random changes and their undo, against the tree as it was before them.

use std::collections::BTreeMap;

use super::tests::{all_done, keeping, undo};
use crate::session::Session;
use inmost_format::record::plain::Random;

type Tree = BTreeMap<String, String>;

fn tree(session: &Session) -> Tree {
    fn walk(session: &Session, folder: &str, tree: &mut Tree) {
        for entry in session.files().list(folder).unwrap() {
            let path = format!("{folder}/{}", entry.name);
            if entry.metadata.is_folder() {
                walk(session, &path, tree);
            } else {
                let text = session.files().read(&path).unwrap().into_string();
                tree.insert(path, text);
            }
        }
    }
    let mut tree = Tree::new();
    walk(session, "/memories", &mut tree);
    tree
}

/// A path that exists, or a folder of one, or any path of few names.
fn path(session: &Session, random: &mut Random) -> String {
    let paths: Vec<String> = tree(session).into_keys().collect();
    if !paths.is_empty() && random.below(10) < 7 {
        let path = &paths[random.below(paths.len())];
        let folder = path.rsplit_once('/').unwrap().0;
        return if folder != "/memories" && random.below(4) == 0 { folder } else { path }
            .to_owned();
    }
    (0..=random.below(3)).fold("/memories".to_owned(), |path, _| {
        format!("{path}/{}", ["a", "b", "c", "d"][random.below(4)])
    })
}

/// A call that may be refused.
fn change(session: &Session, random: &mut Random) {
    let (one, other) = (path(session, random), path(session, random));
    let files = session.files();
    let _refused = match random.below(10) {
        0..=3 => files.write(&one, &random.below(1_000).to_string()).err(),
        4..=7 => files.rename(&one, &other).err(),
        _ => files.remove(&one).err(),
    };
}

/// The changes of one actor: `write PATH TEXT`, `mv PATH PATH`, `rm PATH`, below the root folder.
fn make(session: &Session, changes: &[&str]) {
    let files = session.files();
    for change in changes {
        let words: Vec<&str> = change.split(' ').collect();
        let path = |word: &str| format!("/memories/{word}");
        match words[..] {
            ["write", file, text] => files.write(&path(file), text).unwrap(),
            ["mv", old, new] => files.rename(&path(old), &path(new)).unwrap(),
            ["rm", gone] => files.remove(&path(gone)).unwrap(),
            _ => panic!("{change}"),
        }
    }
}

#[test]
fn files_go_back_with_the_folders_that_were_moved_and_deleted_around_them() {
    let cases: [(&[&str], &[&str]); 10] = [
        (&["write e/b 1", "write e/c 1"], &["write e/b 2", "mv e f", "write f/b 3"]),
        (&["write e/b 1", "write e/c 1"], &["write e/b 2", "mv e f", "mv f/b g"]),
        (&["write e/b 1", "write e/c 1"], &["write e/b 2", "mv e f", "mv f/b f/x"]),
        (&["write e/b 1", "write e/c 1"], &["write e/b 2", "mv e f", "rm f/b"]),
        (&["write c/b 1", "write c/e 1"], &["mv c/e x", "write c/b 2", "rm c", "write x 3"]),
        (&["write c/b 1", "write c/e 1"], &["mv c/e x", "write c/b 2", "mv c d", "write x 3"]),
        (&["write d/c 1"], &["mv d/c t", "mv t d"]),
        (&["write d 1"], &["mv d t", "mv t d/c"]),
        (&["write e/b 1", "write e/c 1"], &["mv e/b x", "rm e", "mv x e"]),
        (&["write z 1"], &["write a/e 1", "mv a c", "rm c/e"]),
    ];
    for (before, changes) in cases {
        let session = keeping();
        make(&session, before);
        let expected = tree(&session);
        make(&session.acting_as("a"), changes);
        let (undone, left) = undo(&session);
        assert!(all_done(&undone) && left == 0, "{changes:?}: {undone:?}");
        assert_eq!(tree(&session), expected, "{changes:?}");
    }
}

#[test]
fn an_undo_of_everything_by_one_actor_brings_the_tree_back() {
    for seed in 0..1_000 {
        let mut random = Random(seed);
        let session = keeping();
        (0..12).for_each(|_| change(&session, &mut random));
        let expected = tree(&session);
        let actor = session.acting_as("a");
        (0..=random.below(25)).for_each(|_| change(&actor, &mut random));
        let (undone, left) = undo(&session);
        assert!(all_done(&undone) && left == 0, "seed {seed}: {undone:?}");
        assert_eq!(tree(&session), expected, "seed {seed}");
        assert!(session.check().unwrap().is_clean(), "seed {seed}");
    }
}
