#!/usr/bin/env python3
"""replay.py OUT CUTS SEED: builds the disk that a power cut may leave, at CUTS random moments of a recorded run, and runs the checker on it.

Three disks are built for each moment. A: every issued write survives, as on a disk without a volatile cache. B: writes after the
last completed flush are lost. C: a random half of the sectors of those writes survives, in random order. What was written before a
failed flush is lost in all three. A third of the moments follow directly after an acknowledgement, the others after a write.

With LAB_ANCHOR=1, each moment follows a write of the anchor.

After one moment in LAB_AGAIN (4; 0 means never), the worker goes on with one of the three disks, which is recorded too, and the
power is cut again at up to three moments of that recording, one of them before the store was open.

Fails if any disk is not ok, or if more than one in 100 opens with a freshness that is unknown. Needs root, FUSE and loop devices.

replay.py acknowledged LOG: prints the acknowledgements in a log.
"""

import collections
import mmap
import multiprocessing
import os
import random
import shutil
import struct
import subprocess
import sys

BLOCK = 1 << 16
SECTOR = 512
LAB = os.path.dirname(os.path.abspath(__file__))
AGAIN = int(os.environ.get("LAB_AGAIN", "4"))
SECONDS_AGAIN = os.environ.get("LAB_AGAIN_SECONDS", "2")
KINDS = os.environ.get("LAB_KINDS", "ABC")
UNKNOWN = "ok, freshness unknown"


def read_log(log):
    """Returns tuples of W, F, X (a failed flush) or A, the offset on the disk, and the start and end of its bytes in the log."""
    events, at = [], 0
    while at < len(log):
        kind, at = chr(log[at]), at + 1
        if kind in "FX":
            events.append((kind, 0, at, at))
            continue
        offset, length = struct.unpack_from("<QQ", log, at)
        at += 16
        events.append((kind, offset, at, at + length))
        at += length
    return events


def blocks_of(event):
    return range(event[1] // BLOCK, (event[1] + event[3] - event[2] - 1) // BLOCK + 1)


def blocks_in_use(disk):
    """Returns the blocks that are not zero; the others stay holes."""
    zero = bytes(BLOCK)
    return {at // BLOCK for at in range(0, len(disk), BLOCK) if disk[at : at + BLOCK] != zero[: len(disk) - at]}


def write_image(path, disk, blocks):
    if os.path.exists(path):
        os.remove(path)
    view = memoryview(disk)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.ftruncate(fd, len(disk))
    for block in blocks:
        os.pwrite(fd, view[block * BLOCK : (block + 1) * BLOCK], block * BLOCK)
    os.close(fd)


def check(out, acknowledged):
    """Returns the result word and the rest of the checker's line."""
    checker = os.environ["LAB_BIN"] + "/lab-worker"
    with open(out + "/acknowledged", "w", encoding="ascii") as file:
        file.write(acknowledged)
    mount = ["mount", "-o", "loop", out + "/cut.img", out + "/cut"]
    if subprocess.run(mount, capture_output=True).returncode:
        # The superblock of ext4 has two sectors, so a cut can tear it. A backup of it is elsewhere.
        subprocess.run(["e2fsck", "-fy", out + "/cut.img"], capture_output=True)
        mounted = subprocess.run(mount, capture_output=True, text=True)
        if mounted.returncode:
            return "mount-failed", mounted.stderr
    try:
        command = ["timeout", "-s", "KILL", "120", checker, "check", out + "/cut/home/store", out + "/acknowledged"]
        run = subprocess.run(command, capture_output=True, text=True)
    finally:
        subprocess.run(["umount", out + "/cut"], check=True)
    for line in run.stdout.splitlines():
        if line.startswith("RESULT "):
            if line == "RESULT " + UNKNOWN:
                return UNKNOWN, ""
            word, _, rest = line[7:].partition(" ")
            return word, rest
    return "died", f"{run.returncode} {run.stderr[-300:]}"


class Recording:
    """The disk of a recorded run, as it was at any moment of it. Moments only grow."""

    def __init__(self, folder, acknowledged=""):
        with open(folder + "/log.bin", "rb") as file:
            self.log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        with open(folder + "/base.img", "rb") as file:
            self.issued = bytearray(file.read())
        self.flushed, self.blocks = bytearray(self.issued), blocks_in_use(self.issued)
        self.events, self.at = read_log(self.log), 0
        self.acknowledged, self.dirty = acknowledged, []

    def advance(self, moment):
        for event in self.events[self.at : moment]:
            if event[0] == "W":
                self.issued[event[1] : event[1] + event[3] - event[2]] = self.log[event[2] : event[3]]
                self.blocks.update(blocks_of(event))
                self.dirty.append(event)
            elif event[0] == "A":
                self.acknowledged += self.log[event[2] : event[3]].decode()
            else:
                for _, offset, start, end in self.dirty:
                    if event[0] == "F":
                        self.flushed[offset : offset + end - start] = self.log[start:end]
                for _, offset, start, end in self.dirty:
                    if event[0] == "X":
                        self.issued[offset : offset + end - start] = self.flushed[offset : offset + end - start]
                self.dirty = []
        self.at = moment

    def cut(self, kind, chance, path):
        """Writes the disk that a cut of this kind leaves."""
        disk = self.issued if kind == "A" else self.flushed
        if kind == "C":
            disk = bytearray(self.flushed)
            survivors = [
                (offset + at, start + at, min(start + at + SECTOR, end))
                for _, offset, start, end in self.dirty
                for at in range(0, end - start, SECTOR)
                if chance.random() < 0.5
            ]
            chance.shuffle(survivors)
            for offset, start, end in survivors:
                disk[offset : offset + end - start] = self.log[start:end]
        write_image(path, disk, self.blocks)

    def find(self, text):
        """Returns the number of the first event that acknowledges exactly this."""
        return next((at for at, event in enumerate(self.events) if event[0] == "A" and self.log[event[2] : event[3]] == text), None)


class Outcomes:
    """Counts the results, and keeps every disk that is wrong."""

    def __init__(self, out, seed):
        self.out, self.chance = out, random.Random(seed)
        self.counts = collections.defaultdict(collections.Counter)

    def note(self, kind, where, word, rest, acknowledged):
        if word == "ok" and rest:
            word = "ok, no store yet"
        self.counts[kind][word] += 1
        if not word.startswith("ok"):
            print(f"{kind} at {where}: {word} {rest[:400]}", flush=True)
            if os.path.exists(self.out + "/cut.img"):
                os.rename(self.out + "/cut.img", f"{self.out}/bad-{kind}-{where}.img")
            with open(f"{self.out}/bad-{kind}-{where}.ack", "w", encoding="ascii") as file:
                file.write(acknowledged)

    def cut(self, recording, kind, where, suffix=""):
        recording.cut(kind, self.chance, self.out + "/cut.img")
        word, rest = check(self.out, recording.acknowledged)
        self.note(kind + suffix, where, word, rest, recording.acknowledged)

    def cut_again(self, recording, where, cuts):
        """Goes on after a cut, and cuts again."""
        folder = self.out + "/again"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        kind = self.chance.choice(KINDS)
        recording.cut(kind, self.chance, folder + "/base.img")
        with open(folder + "/acknowledged", "w", encoding="ascii") as file:
            file.write(recording.acknowledged)
        environment = {name: value for name, value in os.environ.items() if name != "LAB_FAIL"}
        command = [LAB + "/record.sh", folder, SECONDS_AGAIN, folder + "/base.img", folder + "/acknowledged"]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode:
            shutil.copyfile(folder + "/base.img", self.out + "/cut.img")
            self.note(kind + " again", where, "not-recorded", run.stderr[-400:], recording.acknowledged)
            return
        second = Recording(folder, recording.acknowledged)
        is_open, end = second.find(b"R\n"), len(second.events)
        moments = [self.chance.randrange(1, (is_open or end) + 1)]
        moments += [self.chance.randrange(is_open or 1, end + 1) for _ in range(cuts - 1)]
        for moment in sorted(moments):
            second.advance(moment)
            phase = " while opening" if is_open is None or moment <= is_open else " after opening"
            for kind in KINDS:
                self.cut(second, kind, f"{where}-{moment}", phase)


def replay(job):
    """Returns the outcomes by kind, the number of moments inside calls, and the unflushed writes at each moment. Uses its own folder."""
    out, moments, first, cuts_again, seed = job
    os.makedirs(out + "/cut", exist_ok=True)
    outcomes, recording = Outcomes(out, seed), Recording(os.path.dirname(out))
    inside, pending = 0, []
    for number, moment in enumerate(moments):
        recording.advance(moment)
        pending.append(len(recording.dirty))
        under_way = set()
        for line in recording.acknowledged.splitlines():
            (under_way.add if line.startswith("B ") else under_way.discard)(line[2:])
        inside += bool(under_way)
        for kind in KINDS:
            outcomes.cut(recording, kind, moment)
        if AGAIN and (first + number) % AGAIN == 0:
            outcomes.cut_again(recording, moment, cuts_again)
        print(f"{moment}: {number + 1} of {len(moments)}", flush=True)
    return dict(outcomes.counts), inside, pending


def main():
    if sys.argv[1] == "acknowledged":
        with open(sys.argv[2], "rb") as file:
            log = file.read()
        sys.stdout.write("".join(log[start:end].decode() for kind, _, start, end in read_log(log) if kind == "A"))
        return
    out, cuts, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    jobs = int(os.environ.get("LAB_JOBS", os.cpu_count() or 1))
    with open(out + "/log.bin", "rb") as file:
        log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    events = read_log(log)
    acks = [at for at, event in enumerate(events) if event[0] == "A" and log[event[2] : event[2] + 2] == b"A "]
    written = sum(event[3] - event[2] for event in events if event[0] == "W")
    counts = collections.Counter(event[0] for event in events)
    print(f"{counts['W']} writes ({written >> 20} MiB), {counts['F']} flushes, {counts['X']} failed, {len(acks)} acknowledgements", flush=True)

    chance = random.Random(seed)
    writes = [at for at, event in enumerate(events) if event[0] == "W" and at > acks[0]]
    if os.environ.get("LAB_ANCHOR"):
        with open(out + "/anchor", encoding="ascii") as file:
            anchor = int(file.read())
        # Up to the flush after it, a write of the anchor may be lost while a later one survives.
        hits = [at for at in writes if events[at][1] <= anchor < events[at][1] + events[at][3] - events[at][2]]
        print(f"{len(hits)} writes of the anchor", flush=True)
        writes = acks = hits
    moments = sorted(chance.choice(writes if number % 3 else acks) + 1 for number in range(cuts))
    # Only to continue a stopped run.
    moments = moments[int(os.environ.get("LAB_SKIP", "0")) :]
    share = -(-len(moments) // jobs)
    with multiprocessing.Pool(jobs) as pool:
        results = pool.map(
            replay,
            [
                (f"{out}/{job}", moments[job * share : (job + 1) * share], job * share, min(3, len(moments)), seed + job)
                for job in range(jobs)
            ],
            chunksize=1,
        )
    outcomes = collections.defaultdict(collections.Counter)
    for counts, _, _ in results:
        for kind, counter in counts.items():
            outcomes[kind] += counter
    inside = sum(result[1] for result in results)
    pending = sorted(count for result in results for count in result[2])
    print(f"{len(moments)} moments, {inside} of them inside calls, {pending[len(pending) // 2]} unflushed writes in the median, {pending[-1]} at most")
    for kind, counter in sorted(outcomes.items()):
        print(f"{kind}: " + ", ".join(f"{count} {word}" for word, count in sorted(counter.items())))
    bad = sum(count for counter in outcomes.values() for word, count in counter.items() if not word.startswith("ok"))
    total = sum(counter.total() for counter in outcomes.values())
    unknown = sum(counter[UNKNOWN] for counter in outcomes.values())
    print(f"{total} cuts, {bad} bad, {unknown} of unknown freshness")
    sys.exit(bad > 0 or unknown * 100 > total)


if __name__ == "__main__":
    main()
