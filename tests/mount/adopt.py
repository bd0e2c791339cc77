#!/usr/bin/env python3
"""Adopts plain folders and takes them out again: nothing is deleted that is not in the memory, and the place of each is remembered.

Argument: the program `inmost`. Needs /dev/fuse; leaves nothing mounted."""
import errno
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

program = os.path.abspath(sys.argv[1])
place = tempfile.mkdtemp(prefix="inmost-adopt.")
environment = dict(os.environ, INMOST_STORE=os.path.join(place, "s.inmost"), INMOST_PASSPHRASE="correct horse battery staple")


def inmost(*arguments, code=0, store=None):
    changed = dict(environment, INMOST_STORE=store) if store else environment
    done = subprocess.run([program, *arguments], env=changed, capture_output=True, text=True, timeout=120)
    assert (done.returncode == 0) == (code == 0), (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def at(*names):
    return os.path.join(place, *names)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def plain(folder):
    """The plain folders that are left of one."""
    prefix = os.path.basename(folder) + ".plain-"
    return sorted(at(os.path.dirname(folder), name) for name in os.listdir(os.path.dirname(folder)) if name.startswith(prefix))


inmost("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
inmost("unlock")

# Only what is in the memory is deleted.
app = at("a", "app")
write(app + "/x/note.md", "tea\n")
write(app + "/.git/HEAD", "ref: refs/heads/main\n")
os.makedirs(app + "/.git/refs/tags")
write(app + "/keep.lock", "1\n")
said = inmost("adopt", "--delete-plain", app)
assert ".git" in said and "keep.lock" in said, said
assert read(app + "/x/note.md") == "tea\n"
(left,) = plain(app)
assert sorted(os.listdir(left)) == [".git", "keep.lock"] and os.path.isdir(left + "/.git/refs/tags"), os.listdir(left)

# Another folder of the same name is not merged with it.
other = at("b", "app")
write(other + "/note.md", "other\n")
assert "--name" in inmost("adopt", other, code=1)
inmost("adopt", "--name", "other", other)
assert os.stat(other + ".adopted").st_mode & 0o777 == 0o600
inmost("unmount", other)
# Again, and out, without the name.
inmost("adopt", other)
assert read(other + "/note.md") == "other\n"
assert "adopted into" in inmost("adopt", "--undo", "--name", "app", other, code=1)
# A folder of the user is not touched.
write(other + ".undo/mine.md", "mine\n")
inmost("adopt", "--undo", other)
assert read(other + "/note.md") == "other\n" and read(other + ".undo/mine.md") == "mine\n"
assert not os.path.exists(other + ".adopted")

# Nothing would last in it.
write(at("c.lock", "note.md"), "x\n")
assert "would not last" in inmost("adopt", at("c.lock"), code=1)
assert read(at("c.lock", "note.md")) == "x\n"

# A program that writes meanwhile, through a parent that is a link, is noticed.
write(at("d", "notes", "note.md"), "x\n")
os.symlink(at("d"), at("link"))
with open(at("d", "notes", "note.md"), encoding="utf-8"):
    assert "open" in inmost("adopt", at("link", "notes"), code=1)
assert read(at("d", "notes", "note.md")) == "x\n"

# So is one that writes and closes while the files are taken in: no new text is left behind.
busy = at("e", "busy")
for number in range(300):
    write(f"{busy}/{number}.md", "x" * 2_000)
stop = threading.Event()
newest = [0]


def change():
    """Writes until the folder is not the plain one any more."""
    while not stop.is_set():
        try:
            with open(f"{busy}/0.md", "r+", encoding="utf-8") as file:
                text = f"{newest[0] + 1}\n".ljust(2_000, "y")
                file.write(text)
            newest[0] += 1
        except OSError:
            return


writer = threading.Thread(target=change)
writer.start()
done = subprocess.run([program, "adopt", busy], env=environment, capture_output=True, text=True, timeout=120)
stop.set()
writer.join()
# It may have been found open, or changed, or adopted. In each case the newest text is where the folder is.
assert read(f"{busy}/0.md").startswith(f"{newest[0]}\n"), (newest, read(f"{busy}/0.md")[:20], done.stderr)

if done.returncode == 0:
    inmost("unmount", busy)
# The one file of Gemini CLI becomes a link into a mount, and is a file again afterwards. What fails leaves it as it was.
environment["GEMINI_CLI_HOME"] = at("g")
gemini = at("g", ".gemini")
write(gemini + "/settings.json", "{}\n")
with open(gemini + "/GEMINI.md", "wb") as file:
    file.write(b"caf\xe9\n")
assert "UTF-8" in inmost("adopt", "gemini", code=1)
assert not os.path.islink(gemini + "/GEMINI.md") and os.path.exists(gemini + "/GEMINI.md")
write(gemini + "/GEMINI.md", "- likes tea\n")
assert "would" in inmost("adopt", "gemini", "--dry-run") and not os.path.islink(gemini + "/GEMINI.md")
inmost("adopt", "--delete-plain", "gemini")
assert os.readlink(gemini + "/GEMINI.md") == "inmost/GEMINI.md" and read(gemini + "/GEMINI.md") == "- likes tea\n"
write(gemini + "/GEMINI.md", "- likes tea\n- and cake\n")
assert inmost("cat", "/memories/gemini/GEMINI.md") == "- likes tea\n- and cake\n"
inmost("unmount", gemini + "/inmost")
assert not os.path.exists(gemini + "/GEMINI.md") and os.path.islink(gemini + "/GEMINI.md")
inmost("adopt", "gemini")
inmost("adopt", "--undo", "gemini")
assert read(gemini + "/GEMINI.md") == "- likes tea\n- and cake\n" and not os.path.islink(gemini + "/GEMINI.md")
assert sorted(os.listdir(gemini)) == ["GEMINI.md", "settings.json"], os.listdir(gemini)
write(gemini + "/projects.json", '{"projects": {"' + os.path.realpath(at("a")) + '": "a-1"}}\n')
write(gemini + "/tmp/a-1/memory/MEMORY.md", "- private\n")
inmost("adopt", "--name", "a-1", "gemini", at("a"))
assert inmost("cat", "/memories/a-1/MEMORY.md") == "- private\n"
inmost("unmount", gemini + "/tmp/a-1/memory")
assert "does not know" in inmost("adopt", "gemini", at("b"), code=1)

inmost("unmount", app)
inmost("lock")

# A unit of systemd mounts a locked store; the folder is never plain, and works after an unlock. It screens as it was told.
unit = inmost("mount", "--unit", "--screen", "refuse", "--subtree", "/memories/app", at("50% & $HOME"))
with open(at("inmost-app.service"), "w", encoding="utf-8") as file:
    file.write(unit)
if shutil.which("systemd-analyze"):
    verify = ["systemd-analyze", "--user", "verify", "--man=no", at("inmost-app.service")]
    checked = subprocess.run(verify, env=dict(os.environ, XDG_RUNTIME_DIR=place), capture_output=True, text=True)
    assert checked.returncode == 0 and not checked.stderr, checked.stderr
(line,) = [line.removeprefix("ExecStart=") for line in unit.splitlines() if line.startswith("ExecStart=")]
mount = subprocess.Popen(shlex.split(line.replace("%%", "%").replace("$$", "$")), env=environment, stderr=subprocess.DEVNULL)
folder = at("50% & $HOME")


def listed():
    try:
        return os.listdir(folder)
    except OSError as error:
        return error.errno


def until(wanted):
    end = time.monotonic() + 60
    while listed() != wanted:
        assert time.monotonic() < end and mount.poll() is None, (listed(), mount.poll())
        time.sleep(0.05)


until(errno.ENOKEY)
inmost("unlock")
until(["x"])
write(folder + "/cash.md", "cash\n")
assert inmost("cat", "/memories/app/cash.md") == "cash\n"
card = os.open(folder + "/pay.md", os.O_WRONLY | os.O_CREAT)
os.write(card, b"4111 1111 1111 1111\n")
try:
    os.fsync(card)
    sys.exit("A number of a card was saved.")
except OSError as error:
    assert error.errno == errno.EACCES, error
os.ftruncate(card, 0)
os.close(card)
inmost("unmount", folder)
assert mount.wait(60) == 0
inmost("lock")
print("Folders were adopted and taken out; what was not in the memory is still there.")
