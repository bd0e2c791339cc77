#!/usr/bin/env python3
"""Kills `inmost adopt` and `inmost adopt --undo` before each of their changes to files, and each message to the key daemon: no text is
lost, and the same command ends the work.

Argument: the program `inmost`. Needs /dev/fuse and strace; leaves nothing mounted."""
import collections
import os
import subprocess
import sys
import tempfile
import time

program = os.path.abspath(sys.argv[1])
place = tempfile.mkdtemp(prefix="inmost-interrupt.")
environment = dict(os.environ, INMOST_STORE=os.path.join(place, "s.inmost"), INMOST_PASSPHRASE="correct horse battery staple")
# In the main thread: what it changes, what it asks the key daemon, and the process of the mount that it starts.
CALLS = "mkdir,rmdir,rename,renameat2,linkat,unlink,unlinkat,fsync,fdatasync,fchmod,write,sendto,sendmsg,clone,clone3,vfork,umount2"
TEXTS = {"a.md": "tea\n", "b/c.md": "coffee\n", "b/d/e.md": "cake " * 5_000 + "\n"}


def inmost(*arguments, before=()):
    return subprocess.run([*before, program, *arguments], env=environment, capture_output=True, text=True, timeout=120)


def succeeds(*arguments):
    done = inmost(*arguments)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def calls_of(*arguments):
    """The calls that a run makes, each with its number among those of its name."""
    trace = os.path.join(place, "trace")
    done = inmost(*arguments, before=["strace", "-o", trace, "-e", f"trace={CALLS}"])
    assert done.returncode == 0, (arguments, done.stderr)
    counts = collections.Counter()
    with open(trace, encoding="utf-8", errors="replace") as lines:
        names = [line.split("(")[0] for line in lines if "(" in line.split(" ")[0]]
    for name in names:
        counts[name] += 1
        yield name, counts[name]


def kill(call, *arguments):
    """Runs the program and kills it before a call."""
    name, number = call
    done = inmost(*arguments, before=["strace", "-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={number}"])
    assert done.returncode in (-9, 137), (call, done.returncode, done.stderr)


def texts_of(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def check_all(folder, call):
    """Checks that a person finds every text after a kill: in the folder, in the plain one beside it, or in the memory."""
    parent, name = os.path.split(folder)
    beside = [os.path.join(parent, other) for other in os.listdir(parent)]
    plain = [texts_of(other) for other in beside if os.path.isdir(other)]
    for path, text in TEXTS.items():
        assert any(texts.get(path) == text for texts in plain) or inmost("cat", f"/memories/{name}/{path}").stdout == text, (call, path)


def make(name):
    folder = os.path.join(place, name, name)
    for path, text in TEXTS.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    return folder


succeeds("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
succeeds("unlock", "--idle", "1h")
calls = list(calls_of("adopt", "--delete-plain", make("in")))
for number, call in enumerate(calls):
    folder = make(f"in-{number}")
    kill(call, "adopt", "--delete-plain", folder)
    check_all(folder, call)
    if not os.path.ismount(folder):
        succeeds("adopt", folder)
    assert texts_of(folder) == TEXTS, call
    succeeds("unmount", folder)
print(f"adopt: killed before each of {len(calls)} calls, and all texts were there")
calls = list(calls_of("adopt", "--undo", os.path.join(place, "in", "in")))
for number, call in enumerate(calls):
    folder = make(f"out-{number}")
    succeeds("adopt", "--delete-plain", folder)
    kill(call, "adopt", "--undo", folder)
    check_all(folder, call)
    if os.path.exists(folder + ".adopted"):
        # The folder that it was making has the second in its name.
        time.sleep(1)
        succeeds("adopt", "--undo", folder)
    assert not os.path.ismount(folder) and texts_of(folder) == TEXTS, call
print(f"adopt --undo: killed before each of {len(calls)} calls, and all texts were there")
succeeds("lock")
