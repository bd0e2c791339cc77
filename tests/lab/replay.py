#!/usr/bin/env python3
"""replay.py OUT CUTS SEED: builds the disk that a power cut may leave, at CUTS random moments of a recorded run, and runs the checker on it.

Three disks are built for each moment. A: every issued write survives, as on a disk without a volatile cache. B: writes after the
last completed flush are lost. C: a random half of those writes survives, in random order. A third of the moments follow directly
after an acknowledgement. Fails if any disk is not ok. Needs root and loop devices.
"""

import collections
import mmap
import multiprocessing
import os
import random
import struct
import subprocess
import sys

BLOCK = 1 << 16
KINDS = os.environ.get("LAB_KINDS", "ABC")


def read_log(log):
    """Returns tuples of W, F or A, the offset on the disk, and the start and end of its bytes in the log."""
    events, at = [], 0
    while at < len(log):
        kind, at = chr(log[at]), at + 1
        if kind == "F":
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
    mounted = subprocess.run(["mount", "-o", "loop", out + "/cut.img", out + "/cut"], capture_output=True, text=True)
    if mounted.returncode:
        return "mount-failed", mounted.stderr
    try:
        command = ["timeout", "-s", "KILL", "120", checker, "check", out + "/cut/home/store", out + "/acknowledged"]
        run = subprocess.run(command, capture_output=True, text=True)
    finally:
        subprocess.run(["umount", out + "/cut"], check=True)
    for line in run.stdout.splitlines():
        if line.startswith("RESULT "):
            word, _, rest = line[7:].partition(" ")
            return word, rest
    return "died", f"{run.returncode} {run.stderr[-300:]}"


def replay(job):
    """Returns the outcomes by kind, the number of moments inside calls, and the unflushed writes at each moment. Uses its own folder."""
    out, log_path, base_path, moments, seed = job
    os.makedirs(out + "/cut", exist_ok=True)
    chance = random.Random(seed)
    with open(log_path, "rb") as file:
        log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with open(base_path, "rb") as file:
        issued = bytearray(file.read())
    flushed, blocks, events = bytearray(issued), blocks_in_use(issued), read_log(log)
    at_issued = at_flushed = 0
    acknowledged, inside, pending = "", 0, []
    outcomes = {kind: collections.Counter() for kind in KINDS}

    def apply(disk, event):
        disk[event[1] : event[1] + event[3] - event[2]] = log[event[2] : event[3]]

    for number, moment in enumerate(moments):
        for event in events[at_issued:moment]:
            if event[0] == "W":
                apply(issued, event)
                blocks.update(blocks_of(event))
            elif event[0] == "A":
                acknowledged += log[event[2] : event[3]].decode()
        at_issued = moment
        last = moment - 1
        while last >= 0 and events[last][0] != "F":
            last -= 1
        for event in events[at_flushed : last + 1]:
            if event[0] == "W":
                apply(flushed, event)
        at_flushed = max(at_flushed, last + 1)
        lost = [event for event in events[last + 1 : moment] if event[0] == "W"]
        pending.append(len(lost))
        under_way = set()
        for line in acknowledged.splitlines():
            (under_way.add if line.startswith("B ") else under_way.discard)(line[2:])
        inside += bool(under_way)
        for kind in KINDS:
            disk = issued if kind == "A" else flushed
            if kind == "C":
                disk = bytearray(flushed)
                survivors = [event for event in lost if chance.random() < 0.5]
                chance.shuffle(survivors)
                for event in survivors:
                    apply(disk, event)
            write_image(out + "/cut.img", disk, blocks)
            word, rest = check(out, acknowledged)
            if word == "ok" and rest:
                word = "ok, no store yet"
            outcomes[kind][word] += 1
            if not word.startswith("ok"):
                print(f"{kind} at {moment}: {word} {rest[:400]}", flush=True)
                os.rename(out + "/cut.img", f"{out}/bad-{kind}-{moment}.img")
        print(f"{moment}: {number + 1} of {len(moments)}", flush=True)
    return outcomes, inside, pending


def main():
    out, cuts, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    jobs = int(os.environ.get("LAB_JOBS", os.cpu_count() or 1))
    with open(out + "/log.bin", "rb") as file:
        log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    events = read_log(log)
    acks = [at for at, event in enumerate(events) if event[0] == "A" and log[event[2] : event[2] + 2] == b"A "]
    written = sum(event[3] - event[2] for event in events if event[0] == "W")
    counts = collections.Counter(event[0] for event in events)
    print(f"{counts['W']} writes ({written >> 20} MiB), {counts['F']} flushes, {len(acks)} acknowledgements", flush=True)

    chance = random.Random(seed)
    moments = sorted(
        chance.choice(acks) + 1 if number % 3 == 0 else chance.randrange(acks[0], len(events) + 1)
        for number in range(cuts)
    )
    # Only to continue a stopped run.
    moments = moments[int(os.environ.get("LAB_SKIP", "0")) :]
    share = -(-len(moments) // jobs)
    with multiprocessing.Pool(jobs) as pool:
        results = pool.map(
            replay,
            [
                (f"{out}/{job}", out + "/log.bin", out + "/base.img", moments[job * share : (job + 1) * share], seed + job)
                for job in range(jobs)
            ],
            chunksize=1,
        )
    outcomes = {kind: sum((result[0][kind] for result in results), collections.Counter()) for kind in KINDS}
    inside = sum(result[1] for result in results)
    pending = sorted(count for result in results for count in result[2])
    print(f"{len(moments)} moments, {inside} of them inside calls, {pending[len(pending) // 2]} unflushed writes in the median, {pending[-1]} at most")
    for kind, counter in outcomes.items():
        print(f"{kind}: " + ", ".join(f"{count} {word}" for word, count in sorted(counter.items())))
    bad = sum(count for counter in outcomes.values() for word, count in counter.items() if not word.startswith("ok"))
    print(f"{len(KINDS) * len(moments)} cuts, {bad} bad")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
