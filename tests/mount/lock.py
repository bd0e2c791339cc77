#!/usr/bin/env python3
"""What a lock leaves to programs that have files of a mount open or mapped, and what keeps the key daemon awake.

Argument: the program `inmost`. Needs /dev/fuse; leaves nothing mounted."""
import errno
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time

program = os.path.abspath(sys.argv[1])
place = tempfile.mkdtemp(prefix="inmost-lock.")
folder = os.path.join(place, "m")
environment = dict(os.environ, INMOST_STORE=os.path.join(place, "s.inmost"), INMOST_PASSPHRASE="correct horse battery staple")
LATEST = 10


def inmost(*arguments, text=None):
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, input=text, timeout=120)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def at(name):
    return os.path.join(folder, name)


def read(name):
    with open(at(name), encoding="utf-8") as file:
        return file.read()


def is_refused(access):
    try:
        access()
        return False
    except OSError as error:
        assert error.errno == errno.ENOKEY, error
        return True


def milliseconds(since):
    return round((time.monotonic() - since) * 1000)


def wait(what, holds):
    """Milliseconds until something holds."""
    since = time.monotonic()
    while not holds():
        assert time.monotonic() - since < LATEST, what
        time.sleep(0.002)
    return milliseconds(since)


def close(file):
    """Closes a file of a store that is locked, which says so."""
    try:
        os.close(file)
    except OSError as error:
        assert error.errno in (errno.ENOKEY, errno.ESTALE), error


ended = [0, 0]


def has_ended():
    """Whether the process that reads mapped memory has ended."""
    ended[:] = os.waitpid(reader, os.WNOHANG)
    return ended[0] != 0


inmost("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
inmost("unlock")
inmost("mount", "--background", "--screen", "refuse", folder)
with open(at("a.md"), "w", encoding="utf-8") as file:
    file.write("a" * 8_192)

# Another user sees nothing, although the folders above let everybody pass.
if os.geteuid() == 0:
    os.chmod(place, 0o755)
    other = os.fork()
    if other == 0:
        os.setgid(65_534)
        os.setuid(65_534)
        refused = 0
        for access in [lambda: os.listdir(folder), lambda: os.stat(at("a.md")), lambda: read("a.md"), lambda: os.stat(folder)]:
            try:
                access()
            except PermissionError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == 4

# Another client changes the file: who has it open or mapped sees the new text.
opened = os.open(at("a.md"), os.O_RDONLY)
mapped = mmap.mmap(opened, 8_192, prot=mmap.PROT_READ)
assert mapped[:1] == b"a" and os.pread(opened, 1, 0) == b"a"
inmost("write", "a.md", text="b" * 8_192)
newer = wait("a change of others in mapped memory", lambda: mapped[:1] == b"b")
assert os.pread(opened, 1, 0) == b"b" and read("a.md")[0] == "b"
inmost("write", "new.md", text="new\n")
wait("a new file of others", lambda: "new.md" in os.listdir(folder))
mapped.close()

# A lock: no reader gets anything more.
reader = os.fork()
if reader == 0:
    mapped = mmap.mmap(opened, 8_192, prot=mmap.PROT_READ)
    while mapped[4_096:4_097] == b"b":
        time.sleep(0.002)
    os._exit(1)
assert read("a.md")[0] == "b"
inmost("lock")
locked = time.monotonic()
gone = {
    "stat": lambda: is_refused(lambda: os.stat(at("a.md"))),
    "list": lambda: is_refused(lambda: os.listdir(folder)),
    "open": lambda: is_refused(lambda: read("a.md")),
    "read of an open file": lambda: is_refused(lambda: os.pread(opened, 1, 0)),
    "mapped memory": has_ended,
}
late = {}
while gone:
    assert time.monotonic() - locked < LATEST, gone.keys()
    for access in [access for access, is_gone in gone.items() if is_gone()]:
        late[access] = milliseconds(locked)
        del gone[access]
    time.sleep(0.002)
assert os.WTERMSIG(ended[1]) == signal.SIGBUS and max(late.values()) < 1_000, (ended, late)
for _ in range(200):
    assert all(map(is_refused, [lambda: os.stat(at("a.md")), lambda: os.listdir(folder), lambda: read("a.md"), lambda: os.pread(opened, 1, 0)]))
    time.sleep(0.002)
close(opened)

# Programs that watch the folder do not keep the store unlocked; what is written is saved before it locks.
inmost("unlock", "--idle", "4s")
wait("an unlock", lambda: os.path.exists(at("a.md")))
writer = os.open(at("late.md"), os.O_WRONLY | os.O_CREAT)
os.write(writer, b"not closed\n")
# A text that cannot be saved is tried once, and not for as long as there is time.
refused = os.open(at("pay.md"), os.O_WRONLY | os.O_CREAT)
os.write(refused, b"4111 1111 1111 1111\n")
since = time.monotonic()
while not is_refused(lambda: (os.listdir(folder), os.stat(at("a.md")), os.path.exists(at("none")), os.statvfs(folder))):
    assert time.monotonic() - since < 60, "looking at the folder keeps the store unlocked"
    time.sleep(0.05)
idle = time.monotonic() - since
close(writer)
close(refused)
inmost("unlock")
assert inmost("cat", "late.md") == "not closed\n"
wait("an unlock", lambda: os.path.exists(at("a.md")))
inmost("unmount", folder)
inmost("lock")
print(f"A change of others was in mapped memory after {newer} ms. After a lock, until nothing is readable, ms: {late}.")
print(f"With an idle time of 4 s the store locked after {idle:.1f} s while a program looked at the folder.")
