//! The behaviour of an [`UnlockedStore`], run on a session and on a client of the key daemon.
//!
//! Each function takes an empty store. A new method of the trait gets a function here.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inmost::{
    EntryKind, FileError, FileVersion, Files, LineRange, MemoryTool, NewFile, Page, Precondition,
    SearchMatch, SearchQuery, ToolOptions, UnlockedStore, WalkEntry, WriteOutcome,
};

/// A function of the suite.
pub(crate) type Case = fn(&dyn UnlockedStore);

/// The whole suite, by name.
pub(crate) const SUITE: [(&str, Case); 14] = [
    ("files_are_written_read_and_appended_to", files_are_written_read_and_appended_to),
    ("many_files_are_written_by_one_call", many_files_are_written_by_one_call),
    ("metadata_tells_files_from_folders", metadata_tells_files_from_folders),
    ("lines_are_read_alone", lines_are_read_alone),
    ("listings_come_in_pages", listings_come_in_pages),
    ("walks_come_in_pages_and_stop_at_a_depth", walks_come_in_pages_and_stop_at_a_depth),
    ("pages_go_on_while_entries_change", pages_go_on_while_entries_change),
    ("searches_find_lines_and_places", searches_find_lines_and_places),
    ("a_search_goes_on_inside_a_file", a_search_goes_on_inside_a_file),
    ("files_are_moved_and_removed", files_are_moved_and_removed),
    (
        "changes_are_made_only_if_their_conditions_hold",
        changes_are_made_only_if_their_conditions_hold,
    ),
    ("a_file_takes_the_place_of_another", a_file_takes_the_place_of_another),
    ("errors_say_what_is_wrong", errors_say_what_is_wrong),
    ("tool_calls_change_files_and_report_mistakes", tool_calls_change_files_and_report_mistakes),
];

fn files_are_written_read_and_appended_to(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    let text = "caf\u{e9}\r\n\"quoted\\\0";
    files.write("/memories/a/b", text).unwrap();
    assert_eq!(files.read("/memories/a/b").unwrap().as_str(), text);
    files.write("/memories/a/b", "").unwrap();
    assert_eq!(files.read("/memories/a/b").unwrap().as_str(), "");
    files.append("/memories/a/b", "one").unwrap();
    files.append("/memories/a/b", "\ntwo").unwrap();
    files.append("/memories/new", "first").unwrap();
    assert_eq!(files.read("/memories//a/b/").unwrap().as_str(), "one\ntwo");
    assert_eq!(files.read("/memories/new").unwrap().as_str(), "first");
    let long = "0123456789abcdef".repeat(100_000);
    files.write("/memories/long", &long).unwrap();
    assert_eq!(files.read("/memories/long").unwrap().as_str(), long);
}

fn many_files_are_written_by_one_call(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    let day = |number: u64| UNIX_EPOCH + Duration::from_secs(number * 86_400);
    let long = "0123456789abcdef".repeat(600_000);
    let odd = "caf\u{e9}\r\n\"quoted\\\0";
    files.write("/memories/a/kept", "before").unwrap();
    files.write("/memories/a/changed", "before").unwrap();
    let new = [
        NewFile::new("/memories/a/odd", odd).created(day(1)).modified(day(2)),
        NewFile::new("/memories/a/changed", "after"),
        NewFile::new("/memories/a/kept", "after").keep_existing(),
        NewFile::new("/memories/a", "a folder"),
        NewFile::new("/memories/a/odd/below", ""),
        NewFile::new("/memories/../etc", ""),
        NewFile::new("/memories/long", &long).modified(day(3)),
        NewFile::new("/memories/empty", "").modified(UNIX_EPOCH - Duration::from_secs(1)),
        NewFile::new("/memories/a/odd", odd),
    ];
    let results = files.write_many(&new).unwrap();
    assert!(
        matches!(
            &results[..],
            [
                Ok(WriteOutcome::Written),
                Ok(WriteOutcome::Written),
                Err(FileError::AlreadyExists),
                Err(FileError::AlreadyExists),
                Err(FileError::NotAFolder(file)),
                Err(FileError::InvalidPath(_)),
                Ok(WriteOutcome::Written),
                Ok(WriteOutcome::Written),
                Ok(WriteOutcome::Unchanged),
            ] if file.as_str() == "/memories/a/odd"
        ),
        "{results:?}"
    );
    for (path, text) in [
        ("/memories/a/odd", odd),
        ("/memories/a/changed", "after"),
        ("/memories/a/kept", "before"),
        ("/memories/long", &long),
        ("/memories/empty", ""),
    ] {
        assert!(files.read(path).unwrap().as_str() == text, "{path}");
    }
    for (path, times) in [
        ("/memories/a/odd", (day(1), day(2))),
        ("/memories/long", (day(3), day(3))),
        ("/memories/empty", (day(0), day(0))),
    ] {
        let kind = files.metadata(path).unwrap().kind;
        let EntryKind::File { created, modified, .. } = kind else { panic!("a file") };
        assert_eq!((created, modified), times, "{path}");
    }
    assert!(files.write_many(&[]).unwrap().is_empty());
}

fn metadata_tells_files_from_folders(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    files.write("/memories/a/.hidden", "one\ntwo\n").unwrap();
    let file = files.metadata("/memories/a/.hidden").unwrap();
    assert_eq!(file.bytes, 8);
    let EntryKind::File { lines, created, modified, .. } = file.kind else { panic!("a file") };
    assert_eq!(lines, 2);
    assert!(created <= modified);
    for (path, bytes) in [("/memories/a", 8), ("/memories", 8)] {
        let folder = files.metadata(path).unwrap();
        assert_eq!((folder.is_folder(), folder.bytes), (true, bytes), "{path}");
    }
    assert!(files.exists("/memories/a").unwrap());
    assert!(!files.exists("/memories/b").unwrap());
    assert!(matches!(files.exists("/etc"), Err(FileError::InvalidPath(_))));
}

fn lines_are_read_alone(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    files.write("/memories/a", "1\n2\r\n3").unwrap();
    files.write("/memories/empty", "").unwrap();
    let read = |first, last| files.read_lines("/memories/a", LineRange::new(first, last)).unwrap();
    assert_eq!(read(0, 1).as_str(), "1\n");
    assert_eq!(read(2, 2).as_str(), "2\r\n");
    assert_eq!(read(2, u64::MAX).as_str(), "2\r\n3");
    let last = files.read_lines("/memories/a", LineRange::from(3)).unwrap();
    assert_eq!(last.as_str(), "3");
    let empty = files.read_lines("/memories/empty", LineRange::from(1)).unwrap();
    assert_eq!(empty.as_str(), "");
    let beyond = files.read_lines("/memories/a", LineRange::from(4));
    assert!(matches!(beyond, Err(FileError::NoSuchLine(3))));
}

fn listings_come_in_pages(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    for path in ["/memories/b", "/memories/a/x", "/memories/.c", "/memories/d e"] {
        files.write(path, "text").unwrap();
    }
    let whole: Vec<_> = files.list("/memories").unwrap();
    let names: Vec<_> = whole.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, [".c", "a", "b", "d e"]);
    assert!(whole[1].metadata.is_folder());
    let paged = collect(|after| store.list("/memories", after, 1));
    assert!(paged == whole, "page by page it is the same");
}

fn walks_come_in_pages_and_stop_at_a_depth(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    for path in ["/memories/a/b/c", "/memories/a/d", "/memories/e", "/memories/a.b"] {
        files.write(path, "text").unwrap();
    }
    let whole: Vec<_> = files.walk("/memories").map(Result::unwrap).collect();
    let seen: Vec<_> = whole.iter().map(|entry| (entry.path.as_str(), entry.depth)).collect();
    assert_eq!(
        seen,
        [
            ("/memories/a", 0),
            ("/memories/a/b", 1),
            ("/memories/a/b/c", 2),
            ("/memories/a/d", 1),
            ("/memories/a.b", 0),
            ("/memories/e", 0)
        ]
    );
    for most in 1..8 {
        let paged = collect(|after| store.walk("/memories", usize::MAX, after, most));
        assert!(paged == whole, "pages of {most}");
    }
    let names = |depth| -> Vec<String> {
        let walk = files.walk_to("/memories", depth);
        walk.map(|entry| entry.unwrap().name().to_owned()).collect()
    };
    assert_eq!(names(0), ["a", "a.b", "e"]);
    assert_eq!(names(1), ["a", "b", "d", "a.b", "e"]);
    let file: Vec<_> = files.walk("/memories/a/d").map(Result::unwrap).collect();
    assert_eq!((file.len(), file[0].path.as_str(), file[0].depth), (1, "/memories/a/d", 0));
}

fn pages_go_on_while_entries_change(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    for name in ["a", "b", "c", "d"] {
        files.write(&format!("/memories/{name}/x"), "tea").unwrap();
    }
    let page = |after| -> Page<WalkEntry> { store.walk("/memories", 9, after, 3).unwrap() };
    let first = page(None);
    assert_eq!(first.items[2].path.as_str(), "/memories/b");
    // The folder that the next page begins in is removed, and others come and go.
    files.remove("/memories/b").unwrap();
    files.remove("/memories/d").unwrap();
    files.write("/memories/bb", "new").unwrap();
    files.write("/memories/0", "too early").unwrap();
    let rest = page(first.next.as_ref());
    let paths: Vec<_> = rest.items.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/memories/bb", "/memories/c", "/memories/c/x"]);
    let query = SearchQuery::text("tea");
    let found = store.search("/memories", &query, None, 1).unwrap();
    files.remove("/memories/a").unwrap();
    let rest = store.search("/memories", &query, found.next.as_ref(), 9).unwrap();
    assert_eq!(places(&rest.items), [("/memories/c/x", 1)]);
}

fn searches_find_lines_and_places(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    files.write("/memories/a", "Tea\r\ncoffee\nmore tea, tea").unwrap();
    files.write("/memories/b/c", "f(x)\n\u{c9}TE\u{301}\n").unwrap();
    let found = |query: SearchQuery| -> Vec<SearchMatch> {
        files.search("/memories", query).map(Result::unwrap).collect()
    };
    let hits = found(SearchQuery::text("tea"));
    assert_eq!(places(&hits), [("/memories/a", 3)]);
    assert_eq!(
        (hits[0].text.as_str(), &hits[0].ranges[..]),
        ("more tea, tea", &[5..8, 10..13][..])
    );
    let hits = found(SearchQuery::text("tea").ignore_case(true));
    assert_eq!(places(&hits), [("/memories/a", 1), ("/memories/a", 3)]);
    assert_eq!(hits[0].text.as_str(), "Tea");
    let one = found(SearchQuery::text("tea").ignore_case(true).max_matches_per_file(1));
    assert_eq!(places(&one), [("/memories/a", 1)]);
    assert_eq!(places(&found(SearchQuery::text("f(x)"))), [("/memories/b/c", 1)]);
    assert_eq!(
        places(&found(SearchQuery::regex("^co|^f\\("))),
        [("/memories/a", 2), ("/memories/b/c", 1)]
    );
    assert_eq!(found(SearchQuery::regex("$")).len(), 5);
    let below: Vec<_> = files.search("/memories/b", SearchQuery::regex(".")).collect();
    assert_eq!(below.len(), 2);
}

fn a_search_goes_on_inside_a_file(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    files.write("/memories/a", "x\ny\nx\nx\n").unwrap();
    files.write("/memories/b", "x\n").unwrap();
    let query = SearchQuery::text("x");
    let expected = [("/memories/a", 1), ("/memories/a", 3), ("/memories/a", 4), ("/memories/b", 1)];
    for most in 1..6 {
        let paged = collect(|after| store.search("/memories", &query, after, most));
        assert_eq!(places(&paged), expected, "pages of {most}");
    }
    let two = query.clone().max_matches_per_file(2);
    let paged = collect(|after| store.search("/memories", &two, after, 1));
    assert_eq!(places(&paged), [("/memories/a", 1), ("/memories/a", 3), ("/memories/b", 1)]);
}

fn files_are_moved_and_removed(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    files.write("/memories/a/b", "text").unwrap();
    files.rename("/memories/a", "/memories/c/d").unwrap();
    assert_eq!(files.read("/memories/c/d/b").unwrap().as_str(), "text");
    files.write("/memories/e", "other").unwrap();
    assert!(matches!(files.rename("/memories/e", "/memories/c"), Err(FileError::AlreadyExists)));
    assert!(matches!(files.rename("/memories/c", "/memories/c/x"), Err(FileError::IntoItself)));
    assert!(matches!(files.rename("/memories/x", "/memories/y"), Err(FileError::NotFound)));
    files.remove("/memories/c").unwrap();
    assert!(matches!(files.remove("/memories/c"), Err(FileError::NotFound)));
    assert!(matches!(files.remove("/memories"), Err(FileError::Root)));
    assert_eq!(files.walk("/memories").count(), 1);
}

fn errors_say_what_is_wrong(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    files.write("/memories/file", "text").unwrap();
    files.write("/memories/folder/x", "text").unwrap();
    assert!(matches!(files.read("/memories/folder"), Err(FileError::IsAFolder(path))
        if path.as_str() == "/memories/folder"));
    assert!(matches!(files.list("/memories/file"), Err(FileError::NotAFolder(path))
        if path.as_str() == "/memories/file"));
    assert!(matches!(files.write("/memories/folder", ""), Err(FileError::AlreadyExists)));
    assert!(matches!(files.write("/memories/file/x", ""), Err(FileError::NotAFolder(_))));
    assert!(matches!(files.read("/memories/none"), Err(FileError::NotFound)));
    assert!(matches!(files.list("/memories/none"), Err(FileError::NotFound)));
    for path in ["/etc/passwd", "/memories/../etc", "memories", "", "/memories/a\0b"] {
        let InvalidAs(reason) = InvalidAs::of(files.read(path).err()).unwrap();
        assert!(!reason.is_empty(), "{path:?}");
        assert!(matches!(files.walk(path).next(), Some(Err(FileError::InvalidPath(_)))));
    }
    let query = SearchQuery::regex("(");
    let Some(Err(FileError::InvalidPattern(reason))) = files.search("/memories", query).next()
    else {
        panic!("an invalid pattern");
    };
    assert!(reason.contains("unclosed group"), "{reason}");
    let mut walk = files.walk("/memories/none");
    assert!(matches!(walk.next(), Some(Err(FileError::NotFound))));
    assert!(walk.next().is_none(), "it ends after an error");
}

struct InvalidAs(String);

impl InvalidAs {
    fn of(error: Option<FileError>) -> Option<Self> {
        match error? {
            FileError::InvalidPath(reason) => Some(Self(reason)),
            _ => None,
        }
    }
}

fn tool_calls_change_files_and_report_mistakes(store: &dyn UnlockedStore) {
    let files = Files::new(store);
    let call = inmost::ToolCommand::Create { path: "/memories/a".into(), file_text: "1\n".into() };
    let options = ToolOptions::new();
    assert!(!store.run_command(&call, &options).unwrap().is_error());
    assert_eq!(files.read("/memories/a").unwrap().as_str(), "1\n");
    let again = store.run_command(&call, &options).unwrap();
    assert_eq!(again.content(), "Error: File /memories/a already exists");
    let read_only = store.run_command(&call, &options.clone().read_only(true)).unwrap();
    assert_eq!(read_only.content(), "Error: Memory is read-only.");
    let inside = options.subtree("/memories/project").unwrap();
    assert!(!store.run_command(&call, &inside).unwrap().is_error());
    assert_eq!(files.read("/memories/project/a").unwrap().as_str(), "1\n");
}

/// Calls of the tool; their results must be the same bytes on every kind of store.
pub(crate) fn transcript(tool: &MemoryTool) -> Vec<String> {
    [
        r#"{"command": "view", "path": "/memories"}"#,
        r#"{"command": "create", "path": "/memories/a/b.md", "file_text": "one\ntwo \u00e9\n"}"#,
        r#"{"command": "create", "path": "/memories/a/b.md", "file_text": ""}"#,
        r#"{"command": "view", "path": "/memories/a/b.md"}"#,
        r#"{"command": "view", "path": "/memories/a/b.md", "view_range": [2, -1]}"#,
        r#"{"command": "view", "path": "/memories/a/b.md", "view_range": [9, 9]}"#,
        r#"{"command": "view", "path": "/memories/a/b.md", "view_range": "all"}"#,
        r#"{"command": "str_replace", "path": "/memories/a/b.md", "old_str": "two", "new_str": "2"}"#,
        r#"{"command": "str_replace", "path": "/memories/a/b.md", "old_str": "o"}"#,
        r#"{"command": "str_replace", "path": "/memories/a/b.md", "old_str": "none"}"#,
        r#"{"command": "insert", "path": "/memories/a/b.md", "insert_line": 1, "insert_text": "new"}"#,
        r#"{"command": "insert", "path": "/memories/a/b.md", "insert_line": -1, "insert_text": "x"}"#,
        r#"{"command": "rename", "old_path": "/memories/a", "new_path": "/memories/c"}"#,
        r#"{"command": "view", "path": "/memories"}"#,
        r#"{"command": "view", "path": "/etc"}"#,
        r#"{"command": "delete", "path": "/memories/c"}"#,
        r#"{"command": "delete", "path": "/memories"}"#,
        r#"{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories"}}"#,
        r#"{"command": "fly"}"#,
        "not JSON",
    ]
    .iter()
    .map(|call| tool.run_json(call).into_result().unwrap().to_json())
    .collect()
}

/// Every item of a long result, page by page.
fn collect<T>(
    mut page: impl FnMut(Option<&inmost::PageCursor>) -> Result<Page<T>, FileError>,
) -> Vec<T> {
    let (mut items, mut next) = (Vec::new(), None);
    loop {
        let page = page(next.as_ref()).unwrap();
        items.extend(page.items);
        match page.next {
            Some(cursor) => next = Some(cursor),
            None => return items,
        }
    }
}

fn places(found: &[SearchMatch]) -> Vec<(&str, u64)> {
    found.iter().map(|found| (found.path.as_str(), found.line)).collect()
}

fn changes_are_made_only_if_their_conditions_hold(store: &dyn UnlockedStore) {
    const PATH: &str = "/memories/count.md";
    let files = Files::new(store);
    let one: FileVersion = files.write_if(PATH, "one", &Precondition::Absent).unwrap();
    assert_eq!(files.version(PATH).unwrap(), Some(one));
    let (absent, other) = (Precondition::Absent, Precondition::Version(one.version + 1));
    for condition in &[absent, other, Precondition::Sha256([7; 32])] {
        let refused = [
            files.write_if(PATH, "two", condition).map(drop),
            files.remove_if(PATH, condition),
            files.rename_if(PATH, "/memories/other.md", condition).map(drop),
        ];
        for refused in refused {
            match refused {
                Err(FileError::Changed(Some(now))) => assert_eq!(*now, one, "{condition:?}"),
                other => panic!("{condition:?}: {other:?}"),
            }
        }
    }
    assert_eq!(files.read(PATH).unwrap().as_str(), "one");
    let missing = files.write_if("/memories/none", "x", &other);
    assert!(matches!(missing, Err(FileError::Changed(None))));
    let moved = files.rename_if(PATH, "/memories/b", &Precondition::Version(one.version)).unwrap();
    assert!(moved > one.version);
    let now = files.version("/memories/b").unwrap().unwrap();
    assert_eq!((now.version, now.sha256), (moved, one.sha256));
    files.remove_if("/memories/b", &Precondition::Sha256(one.sha256)).unwrap();
    assert_eq!(files.version("/memories/b").unwrap(), None);
}

/// The text, the number, the version and the times of a file.
fn facts(files: &Files<'_>, path: &str) -> (String, u64, u64, SystemTime, SystemTime) {
    let (text, metadata) = files.read_with_metadata(path).unwrap();
    assert_eq!(files.metadata(path).unwrap(), metadata);
    let EntryKind::File { number, version, created, modified, .. } = metadata.kind else {
        panic!("a folder")
    };
    (text.as_str().to_owned(), number, version, created, modified)
}

fn a_file_takes_the_place_of_another(store: &dyn UnlockedStore) {
    const OLD: &str = "/memories/a/draft";
    const NEW: &str = "/memories/plan.md";
    let files = Files::new(store);
    let day = |number: u64| UNIX_EPOCH + Duration::from_secs(number * 86_400);
    let long = "0123456789abcdef".repeat(100_000);
    let at = |version: u64| Precondition::Version(version);
    for text in ["", "short", &long] {
        let plan = NewFile::new(NEW, "plan").created(day(1)).modified(day(2));
        let plan = files.write_file_if(&plan, &Precondition::Absent).unwrap();
        let (_, number, version, created, modified) = facts(&files, NEW);
        assert_eq!((version, created, modified), (plan.version, day(1), day(2)));
        let draft = files.write_if(OLD, text, &Precondition::Absent).unwrap();
        files.set_modified_if(OLD, day(3), &at(draft.version)).unwrap();
        assert_eq!(facts(&files, OLD).2, draft.version, "a time is no change");
        for (moved, replaced, now) in [
            (at(1), at(plan.version), draft),
            (at(draft.version), at(1), plan),
            (at(draft.version), Precondition::Absent, plan),
            (Precondition::Sha256([7; 32]), at(plan.version), draft),
        ] {
            match files.replace_if(OLD, NEW, &moved, &replaced) {
                Err(FileError::Changed(Some(state))) => assert_eq!(*state, now),
                other => panic!("{moved:?}, {replaced:?}: {other:?}"),
            }
        }
        let (moved, replaced) = (Precondition::Sha256(draft.sha256), at(plan.version));
        let now = files.replace_if(OLD, NEW, &moved, &replaced).unwrap();
        assert_eq!(files.version(NEW).unwrap(), Some(now));
        assert!(now.version > draft.version && now.sha256 == draft.sha256);
        let expected = (text.to_owned(), number, now.version, day(1), day(3));
        assert_eq!(facts(&files, NEW), expected);
        assert!(!files.exists("/memories/a").unwrap());
        files.remove(NEW).unwrap();
    }
    // Without a file at the new path it is a rename, which keeps the number of the file.
    let draft = files.write_if(OLD, "x", &Precondition::Absent).unwrap();
    let number = facts(&files, OLD).1;
    let late = files.set_modified_if(OLD, day(3), &at(draft.version + 1));
    assert!(matches!(late, Err(FileError::Changed(Some(_)))));
    let now = files.replace_if(OLD, NEW, &at(draft.version), &Precondition::Absent).unwrap();
    assert_eq!((facts(&files, NEW).1, facts(&files, NEW).2), (number, now.version));
    let missing = files.replace_if(OLD, NEW, &at(draft.version), &at(now.version));
    assert!(matches!(missing, Err(FileError::NotFound)));
    let itself = files.replace_if(NEW, NEW, &at(now.version), &at(now.version));
    assert!(matches!(itself, Err(FileError::AlreadyExists)));
    files.write("/memories/folder/below", "").unwrap();
    let folder = files.replace_if(NEW, "/memories/folder", &at(now.version), &Precondition::Absent);
    assert!(matches!(folder, Err(FileError::Changed(None))));
    let folder = files.set_modified_if("/memories/folder", day(1), &at(1));
    assert!(matches!(folder, Err(FileError::IsAFolder(_))));
}
