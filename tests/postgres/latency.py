"""Compares calls on a vault with what they cannot be faster than: latency.py SCHEMA PROGRAM [SECONDS]. Prints Markdown.

PROGRAM is the example `postgres_scale`. Everything is measured in turns on one server, and changes once more on a server whose commits
wait for a standby:

- a view, and a question for four settings through the same client;
- an edit of 1 KiB at depth 1, and the bare statement of such a commit, sent by pgbench;
- that edit, and an append of 4 KiB to a file with fdatasync;
- edits of four hosts on one vault, and of one host.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from cluster import DATABASE, PASSWORD, ROLE, SUPERUSER, Failure, Place, Server, on_signals, prepare

TURNS = 5
# What an edit replaces: the root by compare-and-set, and a folder and a file.
LENGTHS = (553, 1065, 2089)
VAULT = "'\\xffffffffffffffffffffffffffffffff'::bytea"


def address(number: int) -> str:
    return f"decode(repeat('{number:02x}', 32), 'hex')"


def value(number: int) -> str:
    return f"substr(decode(repeat(md5(random()::text), {LENGTHS[number] // 16 + 1}), 'hex'), 1, {LENGTHS[number]})"


PREPARE = ";".join(f"INSERT INTO inmost.record VALUES ({VAULT}, 1, {address(it)}, 0, {value(it)})" for it in range(3))
BARE = (f"SELECT inmost.replace_root({VAULT}, 1, {address(0)}, (SELECT value FROM inmost.record WHERE vault = {VAULT} AND generation = 1 "
        f"AND address = {address(0)}), {value(0)}, 1, ARRAY[{address(1)}, {address(2)}], ARRAY[{value(1)}, {value(2)}], '{{}}', NULL);")


class Bench:
    def __init__(self, server: Server, program: str, folder: Path, seconds: int):
        self.server, self.program, self.folder, self.seconds = server, program, folder, seconds
        self.url = f"postgres://{ROLE}@127.0.0.1:{server.port}/{DATABASE}"
        server.sql(PREPARE, DATABASE)
        self.run("make", 8, 2)

    def run(self, what: str, vaults: int, threads: int) -> dict:
        seconds = [] if what == "make" else [str(self.seconds)]
        done = subprocess.run([self.program, self.url, what, str(vaults), str(threads), *seconds], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env={**os.environ, "PGPASSWORD": PASSWORD}, check=True, text=True)
        return json.loads(done.stdout)

    def edit(self) -> float:
        return self.run("edit", 1, 1)["edit"]["p50_us"]

    def view(self) -> float:
        return self.run("view", 1, 1)["open"]["p50_us"]

    def ask(self) -> float:
        return self.run("ask", 1, 1)["open"]["p50_us"]

    def statement(self, text: str) -> float:
        """The median of a statement, in microseconds, with the extended protocol as the program uses it."""
        script = self.folder / "script.sql"
        script.write_text(text)
        log = self.folder / "pgbench"
        for old in self.folder.glob("pgbench.*"):
            old.unlink()
        subprocess.run([self.server.bin / "pgbench", "-n", "-M", "prepared", "-c", "1", "-T", str(self.seconds), "-l", f"--log-prefix={log}",
                        "-f", script, "-h", "127.0.0.1", "-p", str(self.server.port), "-U", SUPERUSER, DATABASE],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        lines = [line for file in self.folder.glob("pgbench.*") for line in file.read_text().splitlines()]
        return median(int(re.split(" +", line)[2]) for line in lines)

    def append(self) -> float:
        times = []
        with (self.server.place.path / "append").open("wb", buffering=0) as file:
            end = time.monotonic() + self.seconds
            while time.monotonic() < end:
                begin = time.monotonic()
                file.write(bytes(4096))
                os.fdatasync(file.fileno())
                times.append((time.monotonic() - begin) * 1e6)
        return median(times)

    def row(self, name: str, target: float, one, other) -> str:
        pairs = [(one(), other()) for _ in range(TURNS)]
        ratios = [a / b for a, b in pairs]
        a, b = (median(part) for part in zip(*pairs, strict=True))
        found = median(ratios)
        verdict = "met" if found <= target else "missed"
        return (f"| {name} | {a:,.0f} us | {b:,.0f} us | {found:.2f}x | {min(ratios):.2f} to {max(ratios):.2f} | {target:.1f}x "
                f"| {verdict} |")


def main() -> None:
    schema, program = Path(sys.argv[1]), sys.argv[2]
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    on_signals()
    place, servers = Place(), []
    try:
        with tempfile.TemporaryDirectory() as folder:
            servers.append(Server(place, "15", "a").init().start())
            prepare(servers[0], schema.read_text())
            bench = Bench(servers[0], program, Path(folder), seconds)
            print("| what | it | the other | ratio | from turn to turn | target | |\n|---|---|---|---|---|---|---|")
            print(bench.row("view to four settings", 3, bench.view, bench.ask), flush=True)
            print(bench.row("edit to the bare statement", 1.3, bench.edit, lambda: bench.statement(BARE)), flush=True)
            print(bench.row("edit to append and fdatasync", 3, bench.edit, bench.append), flush=True)
            shared = [bench.run("share", 1, 4) for _ in range(TURNS)]
            alone = [bench.run("edit", 1, 1) for _ in range(TURNS)]
            p99, p50 = (median(run["edit"][what] for run in runs) for runs, what in ((shared, "p99_us"), (alone, "p99_us")))
            tries = median(run["trips"] / run["edit"]["count"] for run in shared)
            print(f"| four hosts on a vault to one host, p99 | {p99:,.0f} us | {p50:,.0f} us | {p99 / p50:.1f}x | | 20.0x "
                  f"| {'met' if p99 <= 20 * p50 else 'missed'}; {tries:.2f} round trips a change |", flush=True)
            servers.append(Server(place, "15", "b").follow(servers[0]).start())
            servers[0].sql("ALTER SYSTEM SET synchronous_standby_names = 'b'")
            servers[0].sql("SELECT pg_reload_conf()")
            print(bench.row("edit to append and fdatasync, with a standby", 6, bench.edit, bench.append), flush=True)
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        for server in servers:
            server.stop()
        place.remove()


main()
