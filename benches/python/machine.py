"""Prints the machine and the command of a run as JSON: machine.py WORK COMMAND PEERS_MISSING..."""

import json
import os
import pathlib
import subprocess
import sys
import time


def main() -> None:
    work, command, missing = sys.argv[1], sys.argv[2], sys.argv[3:]
    facts = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "command": command,
        "commit": output_of("git", "rev-parse", "--short=12", "HEAD") + dirty(),
        "processor": of_file("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": f"{int(of_file('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
        "kernel": " ".join((os.uname().sysname, ".".join(os.uname().release.split(".")[:2]), os.uname().machine)),
        "file system": output_of("findmnt", "-no", "FSTYPE", "-T", work),
        "rustc": output_of("rustc", "--version"),
        "python": sys.version.split()[0],
        "restic": output_of("restic", "version").removeprefix("restic ").split(" compiled")[0],
        "busy before": f"{busy(2):.0%} of the processor",
        "missing": missing,
    }
    print(json.dumps(facts, indent=1))


def output_of(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return " ".join(done.stdout.split())
    except (OSError, subprocess.CalledProcessError):
        return "not known"


def busy(seconds: float) -> float:
    """Returns the share of processor time that is in use. The load average would still include the build before the run."""

    def ticks() -> tuple[int, int]:
        times = [int(field) for field in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(times), times[3] + times[4]

    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    return 1 - (idle_after - idle_before) / (all_after - all_before)


def dirty() -> str:
    """Reports uncommitted changes, except to the page itself, which a run changes."""
    changed = output_of("git", "status", "--porcelain", "--", "..", ":!../docs/BENCHMARKS.md", ":!../docs/benchmarks")
    return " and changes that are not committed" if changed else ""


def of_file(path: str, field: str) -> str:
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(field):
            return line.split(":", 1)[1].strip()
    return "not known"


if __name__ == "__main__":
    main()
