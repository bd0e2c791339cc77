//! Programs that people and agents use, on a mount.

use std::fs;
use std::process::Command;

use crate::mounted::mounted;

/// Runs a script in the mount, if the program is installed.
fn run(mount: &crate::mounted::Mounted, program: &str, script: &str) {
    if Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .unwrap()
        .stdout
        .is_empty()
    {
        println!("{program} is not installed");
        return;
    }
    let output =
        Command::new("sh").args(["-ec", script]).current_dir(mount.at("")).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program}: {messages}");
}

#[test]
fn programs_find_a_folder_like_any_other() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "tea\n").unwrap();
    for (program, script, text) in [
        ("sh", "echo more >> a.md; test \"$(cat a.md)\" = \"tea\nmore\"; echo tea > a.md", "tea\n"),
        ("sed", "sed -i s/tea/coffee/ a.md", "coffee\n"),
        (
            "cp",
            "cp -a a.md b.md; cmp a.md b.md; test b.md -nt x || test ! b.md -ot a.md",
            "coffee\n",
        ),
        ("mv", "mv a.md c.md; mv c.md a.md; mkdir d; mv a.md d; mv d/a.md .; rmdir d", "coffee\n"),
        ("grep", "grep -rq coffee .", "coffee\n"),
        ("find", "test $(find . -type f | wc -l) = 2", "coffee\n"),
        (
            "python3",
            "python3 -c \"import os; open('t','w').write('py\\n'); os.replace('t','a.md')\"",
            "py\n",
        ),
        ("perl", "perl -i -pe s/py/perl/ a.md", "perl\n"),
        ("vim", "HOME=/nonexistent vim -es -c '%s/perl/vim/' -c wq a.md", "vim\n"),
        (
            "emacs",
            "HOME=/nonexistent emacs -Q --batch a.md --eval '(progn (erase-buffer) (insert \"emacs\\n\") (save-buffer))'",
            "emacs\n",
        ),
        ("sh", "echo vim > a.md", "vim\n"),
        ("flock", "flock a.lock true", "vim\n"),
        ("rsync", "mkdir r; rsync -a --exclude=/r ./ r/; cmp a.md r/a.md; rm -r r", "vim\n"),
        ("tar", "tar cf - *.md | (mkdir t; cd t; tar xf -); cmp a.md t/a.md; rm -r t", "vim\n"),
        ("rg", "rg -q vim", "vim\n"),
        (
            "git",
            "git init -q .; git add -A; git -c user.name=x -c user.email=x commit -qm one; git status --porcelain | cmp - /dev/null; \
             echo x > n; git add n; git -c user.name=x -c user.email=x commit -qm two; git checkout -q HEAD~1 -- .; git gc -q; git fsck",
            "vim\n",
        ),
    ] {
        let before = mount.stored("a.md").unwrap();
        run(&mount, program, script);
        let now = mount.stored("a.md").unwrap();
        // Where a program is missing, nothing has changed.
        assert!(now == text || now == before, "{program}: {now:?}");
        fs::write(mount.at("a.md"), text).unwrap();
    }
    assert!(!mount.session.files().exists("/memories/.git").unwrap());
    let names: Vec<String> =
        mount.session.files().list("/memories").unwrap().into_iter().map(|it| it.name).collect();
    assert!(
        names.iter().all(|name| ["a.md", "b.md", "n", "4913"].contains(&name.as_str())),
        "{names:?}"
    );
}

#[test]
fn a_program_may_write_a_file_anew_after_it_has_written_it_by_a_mapping() {
    let Some(mount) = mounted() else { return };
    fs::write(mount.at("a.md"), "tea\n").unwrap();
    let script = r#"python3 -c "
import mmap
with open('a.md', 'r+b') as file, mmap.mmap(file.fileno(), 0) as text:
    text[:3] = b'TEA'
with open('a.md', 'w') as file:
    file.write('last\n')
""#;
    run(&mount, "python3", script);
    let log = mount.log("a.md");
    assert!(log.iter().skip(1).all(|change| change == "modified mount:python3"), "{log:?}");
    assert_eq!(mount.stored("a.md").unwrap(), if log.len() == 1 { "tea\n" } else { "last\n" });
}
