#!/usr/bin/env python3
"""Reads, writes, truncates and maps a file of a mount beside a copy in memory, after the idea of fsx; then long and many files,
nano, a program that watches, and the calls that docs/MOUNT.md does not offer.

Arguments: the program `inmost`, the number of operations, a seed. Needs /dev/fuse; leaves nothing mounted."""
import ctypes
import errno
import fcntl
import mmap
import os
import pty
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

program, operations, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
place = tempfile.mkdtemp(prefix="inmost-files.")
folder = os.path.join(place, "m")
environment = dict(os.environ, INMOST_STORE=os.path.join(place, "s.inmost"), INMOST_PASSPHRASE="correct horse battery staple")
libc = ctypes.CDLL(None, use_errno=True)
LONGEST = 200_000
IN_CLOSE_WRITE, IN_MOVED_TO, IN_CREATE = 0x8, 0x80, 0x100


def inmost(*arguments):
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def at(name):
    return os.path.join(folder, name)


def exercise():
    """Operations on one file, each checked against the copy."""
    chance = random.Random(seed)
    model = bytearray()
    path = at("fsx.md")
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    begun, shown = time.monotonic(), time.monotonic()
    for step in range(operations):
        kind = chance.choice(["read", "read", "write", "write", "append", "truncate", "map", "map write", "sync", "open", "store"])
        offset = chance.randrange(LONGEST)
        length = chance.choice([1, 100, 4_096, 30_000])
        data = bytes(chance.choice(b"abcdefgh\n") for _ in range(8)) * (length // 8 + 1)
        data = data[: min(length, LONGEST - offset)]
        if kind == "read":
            assert os.pread(file, length, offset) == model[offset : offset + length], (step, kind, offset, length)
        elif kind == "write":
            os.pwrite(file, data, offset)
            model.extend(b"\0" * (offset - len(model)))
            model[offset : offset + len(data)] = data
        elif kind == "append" and len(model) + len(data) <= LONGEST:
            with open(path, "ab", buffering=0) as other:
                other.write(data)
            model += data
        elif kind == "truncate":
            if chance.random() < 0.5:
                os.ftruncate(file, offset)
            else:
                os.truncate(path, offset)
            del model[offset:]
            model.extend(b"\0" * (offset - len(model)))
        elif kind == "map" and model:
            with mmap.mmap(file, len(model), prot=mmap.PROT_READ) as mapped:
                assert mapped[:] == model, (step, kind)
        elif kind == "map write" and model:
            from_ = offset % len(model)
            part = data[: len(model) - from_]
            with mmap.mmap(file, len(model)) as mapped:
                mapped[from_ : from_ + len(part)] = part
                mapped.flush()
            model[from_ : from_ + len(part)] = part
        elif kind == "sync":
            os.fsync(file)
        elif kind == "open":
            os.close(file)
            file = os.open(path, os.O_RDWR)
        elif kind == "store" and step % 10 == 0:
            os.fsync(file)
            assert inmost("cat", "fsx.md") == model, (step, kind)
        assert os.fstat(file).st_size == len(model), (step, kind)
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(f"{step} of {operations} operations, {step / (shown - begun):.0f} a second", flush=True)
    os.close(file)
    assert inmost("cat", "fsx.md") == model


def long_and_many():
    text = b"0123456789abcde\n" * (1 << 20)
    with open(at("long.md"), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    with open(at("long.md"), "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[:] == text
    try:
        with open(at("long.md"), "ab", buffering=0) as file:
            file.write(b"x")
        sys.exit("a file is longer than the store allows")
    except OSError as error:
        assert error.errno == errno.EFBIG, error
    assert os.stat(at("long.md")).st_size == len(text)
    os.remove(at("long.md"))
    os.mkdir(at("many"))
    count = 10_000 if operations > 10_000 else 500
    for number in range(count):
        with open(at(f"many/{number}.md"), "w", encoding="utf-8") as file:
            file.write(f"number {number}\n")
    assert len(os.listdir(at("many"))) == count
    total = sum(entry.stat().st_size for entry in os.scandir(at("many")))
    found = subprocess.run(["find", at("many"), "-type", "f", "-name", "*7.md"], capture_output=True, text=True, check=True)
    assert total == sum(len(f"number {number}\n") for number in range(count)) and found.stdout.count("\n") == count // 10
    if shutil.which("rg"):
        found = subprocess.run(["rg", "-c", "number 1", at("many")], capture_output=True, text=True, check=True)
        assert found.stdout.count("\n") == sum(str(number).startswith("1") for number in range(count))
    shutil.rmtree(at("many"))
    assert b"many" not in inmost("ls")


def nano():
    with open(at("nano.md"), "w", encoding="utf-8") as file:
        file.write("one\n")
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm"
        os.execlp("nano", "nano", "--ignorercfiles", at("nano.md"))

    def until(word):
        seen = b""
        while word not in seen:
            seen += os.read(terminal, 65_536)

    until(b"nano")
    os.write(terminal, b"two \x0f")
    until(b"Write")
    os.write(terminal, b"\r")
    until(b"Wrote")
    os.write(terminal, b"\x18")
    os.waitpid(process, 0)
    assert inmost("cat", "nano.md") == b"two one\n"


def watch():
    """Programs that watch the folder are told of what is done through the mount, and of nothing that others do to the store."""
    watcher = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(watcher, folder.encode(), IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO) >= 0

    def events():
        try:
            return os.read(watcher, 65_536)
        except BlockingIOError:
            return b""

    with open(at("seen.md"), "w", encoding="utf-8") as file:
        file.write("one\n")
    os.rename(at("seen.md"), at("renamed.md"))
    seen = events()
    assert b"seen.md" in seen and b"renamed.md" in seen, seen
    inmost("mv", "/memories/renamed.md", "/memories/theirs.md")
    end = time.monotonic() + 10
    while "theirs.md" not in os.listdir(folder):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert events() == b""
    os.close(watcher)


def not_offered():
    """Each call, and the only errors that it may have."""
    with open(at("a.md"), "w", encoding="utf-8") as file:
        file.write("text\n")
    with open(at("b.md"), "w", encoding="utf-8") as file:
        file.write("other\n")
    file, other = os.open(at("a.md"), os.O_RDWR), os.open(at("b.md"), os.O_RDONLY)

    def raw(number, *arguments):
        if libc.syscall(number, *arguments) == -1:
            raise OSError(ctypes.get_errno(), number)

    names = [at("a.md").encode(), at("b.md").encode()]
    calls = {
        "link": lambda: os.link(at("a.md"), at("c.md")),
        "symlink": lambda: os.symlink("a.md", at("c.md")),
        "mkfifo": lambda: os.mkfifo(at("c.md")),
        "socket": lambda: socket.socket(socket.AF_UNIX).bind(at("c.md")),
        "setxattr": lambda: os.setxattr(at("a.md"), "user.x", b"y"),
        "getxattr": lambda: os.getxattr(at("a.md"), "user.x"),
        "rename and exchange": lambda: raw(316, -100, names[0], -100, names[1], 2),
        "rename and whiteout": lambda: raw(316, -100, names[0], -100, names[1], 4),
        "fallocate": lambda: raw(285, file, 0, 0, 100_000),
        "punch a hole": lambda: raw(285, file, 3, 0, 2),
        "O_TMPFILE": lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR),
        "flags of ext4": lambda: fcntl.ioctl(file, 0x8008_6601, b"\0" * 8),
        "reflink": lambda: fcntl.ioctl(file, 0x4004_9409, other),
    }
    allowed = {errno.EPERM, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.ENODATA}
    for name, call in calls.items():
        try:
            call()
            sys.exit(f"{name} works: correct docs/MOUNT.md")
        except OSError as error:
            assert error.errno in allowed, (name, error)
            print(f"{name}: {errno.errorcode[error.errno]}")
    # These succeed and change nothing.
    os.chmod(at("a.md"), 0o777)
    os.chown(at("a.md"), os.getuid(), os.getgid())
    os.utime(at("a.md"), (1, 2))
    status = os.stat(at("a.md"))
    assert (status.st_mode & 0o777, status.st_atime, status.st_mtime) == (0o600, 2, 2)
    # And these work.
    fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_EX)
    assert os.copy_file_range(other, file, 6) == 6
    assert os.lseek(file, 0, os.SEEK_DATA) == 0 and os.lseek(file, 0, os.SEEK_HOLE) == 6
    os.close(file)
    os.close(other)
    assert inmost("cat", "a.md") == b"other\n"
    assert not os.path.exists(at("c.md"))


inmost("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
inmost("unlock")
inmost("mount", "--background", folder)
exercise()
long_and_many()
if shutil.which("nano"):
    nano()
watch()
not_offered()
inmost("unmount", folder)
inmost("check")
inmost("lock")
print(f"{operations} operations on a file, long and many files, and the calls that are not offered: all as they should be.")
