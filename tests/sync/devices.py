"""Stores of two devices, through the program."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

PASSPHRASE = "correct horse battery staple"


class Device:
    def __init__(self, program, name, **variables):
        self.program, self.name = program, name
        self.home = tempfile.mkdtemp(prefix=f"inmost-{name}.")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.home,
            "XDG_RUNTIME_DIR": self.home,
            "INMOST_STORE": os.path.join(self.home, "notes.inmost"),
            "INMOST_PASSPHRASE": PASSPHRASE,
            **variables,
        }
        self.run("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")

    def run(self, *arguments, text="", fails=None):
        """What it prints. If `fails` is given, it must fail and say so."""
        done = subprocess.run([self.program, *arguments], env=self.environment, capture_output=True, text=True, input=text, timeout=120)
        shown = (self.name, arguments, done.returncode, done.stdout, done.stderr)
        if fails is None:
            assert done.returncode == 0, shown
            return done.stdout
        assert done.returncode not in (0, 101) and fails in done.stderr, (fails, shown)
        return done.stderr

    def sync(self, *arguments, **how):
        return self.run("sync", *arguments, **how)

    def write(self, path, text):
        self.run("write", f"/memories/{path}", text=text)

    def tree(self):
        """The texts by their paths below `/memories/`."""
        with tempfile.TemporaryDirectory() as folder:
            to = pathlib.Path(folder, "out")
            self.run("export", "--yes", str(to))
            return {str(path.relative_to(to)): path.read_text() for path in to.rglob("*") if path.is_file()}


def meet(laptop, desk, place, elsewhere=None):
    """Both join a circle, edit one list offline, and have the same files afterwards. `elsewhere` is the place as the desk sees it."""
    laptop.write("list.md", "milk\nbread\n")
    laptop.sync("init", "--name", "laptop", place)
    desk.sync("join", "--name", "desk", elsewhere or place, text=laptop.sync("invite"))
    edit_both(laptop, desk)


def edit_both(laptop, desk):
    laptop.write("list.md", "milk\nrye bread\n")
    desk.write("list.md", "milk\nbread\neggs\n")
    desk.write("canary/desk.md", "a secret of the desk\n")
    for device in (laptop, desk, laptop):
        device.sync()
    assert laptop.tree() == desk.tree() and len(laptop.tree()) == 2, (laptop.tree(), desk.tree())
    assert laptop.tree()["list.md"] == "milk\nrye bread\neggs\n", laptop.tree()
    laptop.sync()
    for device in (desk, laptop):
        done = json.loads(device.sync("--json"))
        assert done == dict(sent=0, received=0, changed=0, waiting=0, copies=[], held=[], unforgotten=0, kept=[]), done


def rounds(laptop, desk):
    """The key daemon of the laptop sends and reads by itself."""
    laptop.run("unlock", "--sync=1s")
    laptop.write("daemon.md", "sent by the daemon\n")
    until = time.monotonic() + 60
    while "daemon.md" not in desk.tree():
        assert time.monotonic() < until, laptop.run("status")
        desk.sync()
    desk.write("desk.md", "read by the daemon\n")
    desk.sync()
    while laptop.tree() != desk.tree():
        assert time.monotonic() < until, laptop.run("status")
    laptop.run("lock")
