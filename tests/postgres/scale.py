"""Measures many vaults in one database: scale.py SCHEMA PROGRAM [VAULTS [SECONDS]]. Prints Markdown.

PROGRAM is the example `postgres_scale`. Two servers run: one with 1,000 vaults, one with VAULTS, by default 100,000. They are used in
turns, so that other load of the machine affects both. The default needs 2 GB of disk and a quarter of an hour.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from cluster import DATABASE, PASSWORD, ROLE, Failure, Place, Server, on_signals, prepare

FEW, TURNS = 1_000, 5


class Vaults:
    """A server with vaults."""

    def __init__(self, place: Place, name: str, schema: Path, program: str, vaults: int):
        self.server = Server(place, "15", name).init().start()
        prepare(self.server, schema.read_text())
        self.program, self.vaults = program, vaults
        self.rows: list[dict] = []

    def run(self, *arguments: object) -> dict:
        url = f"postgres://{ROLE}@127.0.0.1:{self.server.port}/{DATABASE}"
        command = [self.program, url, str(arguments[0]), str(self.vaults), *map(str, arguments[1:])]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, env={**os.environ, "PGPASSWORD": PASSWORD}, check=True, text=True, timeout=7_200,
        )
        return json.loads(done.stdout)

    def number(self, query: str) -> int:
        return int(self.server.sql(query, DATABASE))

    def bytes(self) -> int:
        """Bytes of the records with their indexes, of all partitions."""
        return self.number("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'record%'")


def main() -> None:
    schema, program = Path(sys.argv[1]), sys.argv[2]
    vaults = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    on_signals()
    place = Place()
    both: list[Vaults] = []
    try:
        both.append(Vaults(place, "few", schema, program, min(FEW, vaults // 2)))
        both.append(Vaults(place, "many", schema, program, vaults))
        measure(*both, seconds)
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        for each in both:
            each.server.stop()
        place.remove()


def measure(few: Vaults, many: Vaults, seconds: int) -> None:
    few.run("make", 16)
    made = many.run("make", 16)["seconds"]
    size = many.bytes()
    print(f"{many.vaults:,} vaults with a file of 1 KiB were made in {made:.0f} s by 16 threads. One takes {size / many.vaults / 1024:.1f} KiB.\n")
    for _ in range(TURNS):
        for each in (few, many):
            each.rows.append(each.run("visit", 4, seconds))

    def middle(rows: list[dict], what: str, share: str) -> float:
        return median(row[what][share] for row in rows) / 1000

    print("| vaults | visits a second | open and read, p50 | p99 | edit, p50 | p99 |\n|---|---|---|---|---|---|")
    for each in (few, many):
        rate = median(row["open"]["count"] / row["seconds"] for row in each.rows)
        times = [f"{middle(each.rows, what, share):.1f} ms" for what in ("open", "edit") for share in ("p50_us", "p99_us")]
        print(f"| {each.vaults:,} | {rate:.0f} | {' | '.join(times)} |")
    for what in ("open", "edit"):
        ratios = [b[what]["p50_us"] / a[what]["p50_us"] for a, b in zip(few.rows, many.rows, strict=True)]
        print(f"\nMany to few, {what}: {median(ratios):.2f}x, from {min(ratios):.2f}x to {max(ratios):.2f}x.")
    print("\n| connections | commits a second | p50 | p99 | round trips a commit |\n|---|---|---|---|---|")
    for threads in (1, 16, 64):
        row = many.run("edit", threads, seconds)
        edit = row["edit"]
        print(
            f"| {threads} | {edit['count'] / row['seconds']:.0f} | {edit['p50_us'] / 1000:.1f} ms "
            f"| {edit['p99_us'] / 1000:.1f} ms | {row['trips'] / edit['count']:.2f} |"
        )
    # Files are overwritten again and again, while autovacuum works as the tables ask for: it looks once a minute.
    print("\n| overwritten for | changes | records on disk | live | disk to live |\n|---|---|---|---|---|")
    changes = sum(row["edit"]["count"] for row in many.rows)
    for turn in range(1, 4):
        changes += many.run("visit", 8, seconds * 6)["edit"]["count"]
        live = many.number("SELECT sum(octet_length(value) + octet_length(address) + 32) FROM inmost.record")
        size = many.bytes()
        print(f"| {turn * seconds * 6} s | {changes:,} | {size / 2**20:.1f} MiB | {live / 2**20:.1f} MiB | {size / live:.2f} |", flush=True)


main()
