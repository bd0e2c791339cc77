#!/usr/bin/env python3
"""Measures the time from the start of a command to its first output, through the key daemon, on a store of 5,000 files.

Usage: first_answer.py PROGRAM [FILES [RUNS]]

It imports FILES invented texts into a store in a temporary folder, unlocks it, and prints the median and the worst of RUNS runs
(20 by default) of each command, with the load average of the machine. The figures depend on the machine, so this is no test.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from latency import filled

COMMANDS = (["ls"], ["status"], ["grep", "winter"], ["grep", "zanzibar"])


def first_answer(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """The times to the first byte and to the end, in milliseconds."""
    start = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if not process.stdout.read(1):
            raise SystemExit(f"{command} printed nothing")
        first = (time.monotonic() - start) * 1000
        process.stdout.read()
        process.wait(120)
        if process.returncode != 0:
            raise SystemExit(f"{command} failed with {process.returncode}")
    return first, (time.monotonic() - start) * 1000


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    files = int(sys.argv[2]) if len(sys.argv) > 2 else 5_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with tempfile.TemporaryDirectory() as folder:
        environment, run = filled(program, folder, files)
        run("unlock")
        try:
            print(f"{files + 1} files, through the key daemon, {runs} runs, load average {os.getloadavg()[0]:.1f}:")
            for command in COMMANDS:
                times = [first_answer([program, *command], environment) for _ in range(runs)]
                first, end = ([time[index] for time in times] for index in (0, 1))
                print(
                    f"  {' '.join(command):14} first output {statistics.median(first):7.1f} ms, at most {max(first):7.1f}"
                    f"; end {statistics.median(end):7.1f} ms, at most {max(end):7.1f}"
                )
            print(f"load average {os.getloadavg()[0]:.1f}")
        finally:
            subprocess.run([program, "lock"], env=environment, stdout=subprocess.DEVNULL, timeout=60)


if __name__ == "__main__":
    main()
