#!/usr/bin/env python3
"""Kills the mount, and sometimes the key daemon too, in the middle of writes: whatever was synced is in the store, and whole.

Arguments: the program `inmost`, the number of kills, a seed. Needs /dev/fuse; leaves nothing mounted."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

program, kills, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
place = tempfile.mkdtemp(prefix="inmost-kills.")
folder = os.path.join(place, "m")
environment = dict(os.environ, INMOST_STORE=os.path.join(place, "s.inmost"), INMOST_PASSPHRASE="correct horse battery staple")
synced = {}
begun = {}


def inmost(*arguments):
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def process(word):
    """The process of this test whose arguments have a word."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = open(f"/proc/{number}/cmdline", "rb").read().split(b"\0")
            mine = environment["INMOST_STORE"].encode() in arguments or word == "keyd"
        except OSError:
            continue
        if word.encode() in arguments and mine and os.readlink(f"/proc/{number}/exe") == os.path.realpath(program):
            yield int(number)


def write(name, stop):
    """Writes versions of a file, by a rename or in place, and notes each that was synced."""
    while not stop.is_set():
        number = begun[name] = begun.get(name, 0) + 1
        text = f"{name} {number} " + "x" * (number * 37 % 5_000) + "\n"
        path = os.path.join(folder, name)
        try:
            by_rename = number % 2
            with open(f"{path}.tmp.1.{number}" if by_rename else path, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if by_rename:
                os.rename(f"{path}.tmp.1.{number}", path)
        except OSError:
            return
        synced[name] = number


inmost("init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
total = 0
for kill in range(kills):
    inmost("unlock")
    daemon = int(inmost("status", "--json").split('"process":')[1].split(",")[0].split("}")[0]) if kill % 3 == 2 else None
    inmost("mount", "--background", folder)
    stop = threading.Event()
    writers = [threading.Thread(target=write, args=(f"w{number}.md", stop)) for number in range(3)]
    for writer in writers:
        writer.start()
    time.sleep(0.05 + chance.random() * 0.3)
    for number in list(process("mount")):
        os.kill(number, signal.SIGKILL)
    if daemon:
        os.kill(daemon, signal.SIGKILL)
    stop.set()
    for writer in writers:
        writer.join()
    if kill % 100 == 99:
        print(f"{kill + 1} of {kills} kills", flush=True)
    inmost("unlock")
    for name, number in synced.items():
        text = inmost("cat", name)
        found = int(text.split()[1])
        whole = f"{name} {found} " + "x" * (found * 37 % 5_000) + "\n"
        assert text == whole and found >= number, f"kill {kill}: {name} has {found} of {number}, {len(text)} bytes"
        total += 1
inmost("mount", "--background", folder)
inmost("unmount", folder)
inmost("lock")
print(f"{kills} kills, {total} looks at files: everything that was synced was there, and whole.")
