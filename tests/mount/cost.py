#!/usr/bin/env python3
"""What a mount costs beside gocryptfs and a plain folder, in one run: docs/MOUNT.md has figures.

Arguments: the program `inmost`, built with --release, the number of rounds, and of files. Needs /dev/fuse, gocryptfs and rg; leaves nothing
mounted. Prints the minimum of the rounds, and ratios."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

program, rounds, FILES = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
place = tempfile.mkdtemp(prefix="inmost-cost.")
environment = dict(os.environ, INMOST_STORE=os.path.join(place, "s.inmost"), INMOST_PASSPHRASE="correct horse battery staple")
LISTED, READ, SYNCED = 1_000, 500, 100


def run(*command, **options):
    done = subprocess.run(command, env=environment, capture_output=True, timeout=600, **options)
    assert done.returncode == 0, (command, done.stderr)


def at(*names):
    return os.path.join(place, *names)


def write(path, text):
    with open(path, "wb") as file:
        file.write(text)


def read_short(folder):
    for number in range(READ):
        with open(f"{folder}/many/{number % 50}/{number}.md", "rb") as file:
            assert len(file.read()) == 2_048


def list_long(folder):
    assert sum(entry.stat().st_size for entry in os.scandir(folder + "/list")) > 0


def search(folder):
    run("rg", "-c", "--sort", "none", "needle", folder + "/many")


def copy(folder):
    run("cp", "-r", at("source"), folder + "/copy")


def write_synced(folder):
    for number in range(SYNCED):
        file = os.open(f"{folder}/synced-{number}.md", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(file, b"x" * 1_024)
        os.fsync(file)
        os.close(file)


WORK = {
    "read 2 KiB": (read_short, READ),
    "list 1,000 with attributes": (list_long, 1),
    f"rg over {FILES:,} files": (search, 1),
    f"cp -r of {FILES:,} files into it": (copy, 1),
    "write and fsync 1 KiB": (write_synced, SYNCED),
}

text = (b"a line of a memory that is long enough\n" * 60)[:2_041] + b"needle\n"
for number in range(FILES):
    os.makedirs(at(f"source/{number % 50}"), exist_ok=True)
    write(at(f"source/{number % 50}/{number}.md"), text)
kinds = {"inmost": at("inmost"), "gocryptfs": at("gocryptfs"), "plain": at("plain")}
run(program, "init", "--kdf-memory-mib", "19", "--kdf-passes", "2")
run(program, "unlock")
run(program, "mount", "--background", kinds["inmost"])
for name in ["cipher", "gocryptfs", "plain"]:
    os.mkdir(at(name))
write(at("password"), b"correct horse battery staple\n")
run("gocryptfs", "-q", "-init", "-scryptn", "10", "-passfile", at("password"), at("cipher"))
run("gocryptfs", "-q", "-passfile", at("password"), at("cipher"), kinds["gocryptfs"])
try:
    for folder in kinds.values():
        shutil.copytree(at("source"), folder + "/many")
        os.mkdir(folder + "/list")
        for number in range(LISTED):
            write(f"{folder}/list/{number}.md", b"x\n")
    times = {}
    for _ in range(rounds):
        for work, (call, count) in WORK.items():
            for kind, folder in kinds.items():
                shutil.rmtree(folder + "/copy", ignore_errors=True)
                since = time.perf_counter()
                call(folder)
                taken = (time.perf_counter() - since) / count
                times[work, kind] = min(times.get((work, kind), taken), taken)
    print("| work | inmost, ms | gocryptfs, ms | plain, ms | to gocryptfs | to plain |\n|---|---|---|---|---|---|")
    for work in WORK:
        own, other, plain = (times[work, kind] * 1_000 for kind in kinds)
        print(f"| {work} | {own:.3f} | {other:.3f} | {plain:.3f} | {own / other:.2f} | {own / plain:.1f} |")
finally:
    subprocess.run([program, "unmount", kinds["inmost"]], env=environment, check=False)
    subprocess.run(["fusermount3", "-u", kinds["gocryptfs"]], check=False)
    subprocess.run([program, "lock"], env=environment, check=False)
    shutil.rmtree(place, ignore_errors=True)
