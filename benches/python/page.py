"""Writes the page and its charts from the results of a run: page.py RESULTS PAGE CHARTS_FOLDER

Every number and every verdict is computed here from the samples. The page names in bold what was not measured. If a row is
missing without a reason, the script fails after it has written the page.
"""

import json
import os
import pathlib
import sys

import charts
from samples import Row, digits, read, shown
from targets import targets

PEERS = {
    "inmost": "inmost (sled)",
    "inmost-redb": "inmost (redb)",
    "folder": "folder + fsync",
    "sqlcipher": "SQLCipher",
    "sdk": "Python SDK",
    "bare-sled": "bare sled",
}
DRIFT = 1.3  # ratio of the two append rows above which the page warns
BUSY = 15  # percent of processor time used by other processes above which the page warns
COMMANDS = ["all", "view", "create", "str_replace", "insert", "delete", "rename"]


def main() -> None:
    results, page, folder = (pathlib.Path(arg) for arg in sys.argv[1:4])
    rows, machine = read(results), json.loads((results / "machine.json").read_text())
    sizes = sorted(int(name[7:].split("/")[0]) for name in rows if name.startswith("unlock-") and name.endswith("/rest"))
    folder.mkdir(parents=True, exist_ok=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        head(rows, machine),
        verdicts(rows, sizes),
        edits(rows, machine, folder, page),
        reading(rows, sizes, machine, folder, page),
        trace(rows, machine, folder, page, "mixed", MIXED),
        trace(rows, machine, folder, page, "long", LONG),
        unlocking(rows, sizes, folder, page),
        room(rows, sizes, machine),
    ]
    page.write_text("\n\n".join(part for part in parts if part) + "\n")
    print(f"wrote {page} and {len(list(folder.glob('*.svg')))} charts")
    if not sizes:
        sys.exit("no unlock was measured")
    unexplained = [name for name in absent(rows) if name not in machine["missing"]]
    if unexplained:
        sys.exit(f"peers without results and without a reason: {', '.join(unexplained)}")


def head(rows: dict[str, Row], machine: dict) -> str:
    facts = [(name, value) for name, value in machine.items() if name not in ("missing", "command")]
    warning = ""
    if float(machine["busy before"].split("%")[0]) > BUSY:
        warning = "\n\n**The machine was busy before this run began. Its absolute times and the ratios between rows are not reliable.**"
    before, after = rows["edit/append-before"].median, rows["edit/append-after"].median
    drift = max(before, after) / min(before, after)
    if drift > DRIFT:
        warning += f"\n\n**The speed of the disk changed during the run: one append took {digits(drift)} times as long as the other. Ratios of durable rows are not reliable.**"
    for name in machine["missing"]:
        warning += f"\n\n**NOT MEASURED: {PEERS.get(name, name)} could not be installed on this machine.**"
    return f"""# Benchmarks

Made by `{machine["command"]}`; do not edit. [benches/README.md](../benches/README.md) describes the method and its biases.
Medians; the spread is the 10th to the 90th percentile of the samples. Ratios compare rows of this one run.{warning}

{table(["", ""], facts)}"""


def verdicts(rows: dict[str, Row], sizes: list[int]) -> str:
    if not sizes:
        return "## Targets\n\n**NOT MEASURED**"
    body = []
    for target in targets(sizes):
        found, spread, verdict = target.judge(rows)
        body.append((target.what, target.wanted(rows), found, spread, verdict))
    text = """## Targets

Medians decide whether a target is met. The spread of a ratio is the widest that the samples allow: a low sample of one row over a
high sample of the other. If the target lies within the spread, another run may have a different result."""
    return f"{text}\n\n{table(['what', 'target', 'found', 'spread', ''], body)}"


def edits(rows: dict[str, Row], machine: dict, folder: pathlib.Path, page: pathlib.Path) -> str:
    names = {
        "edit/append-before": "append 4 KiB, before",
        "edit/append-after": "append 4 KiB, after",
        "edit/bare-sled-batch": "bare sled, 5 records",
        **{f"edit/{peer}-depth-{depth}": f"{PEERS[peer]}, depth {depth}" for peer in PEERS for depth in (1, 3)},
        "edit/inmost-8-threads": "inmost (sled), 8 threads",
        "edit/inmost-redb-8-threads": "inmost (redb), 8 threads",
    }
    present = [(name, rows[id]) for id, name in names.items() if id in rows]
    base = rows["edit/append"]
    body = [(name, shown(row.median, "ns"), spread(row), digits(row.median / base.median) + "x") for name, row in present]
    chart = save(folder, page, "edit", charts.dots("A durable one-line edit of a 2 KiB file", present))
    text = """## A durable edit

`str_replace` of one line in a file of 2 KiB, compared with appending 4 KiB to a file and `fdatasync`. The append is timed before
and after everything else; if the two differ, the speed of the disk changed during the run. With 8 threads, the time of one edit
is the total time divided by the number of edits. The Python SDK does not sync folders, so its edits are less durable."""
    return f"{text}\n\n{chart}\n\n{table(['', 'median', 'spread', 'to the append'], body)}{lacking(rows, machine, 'edit')}"


def reading(rows: dict[str, Row], sizes: list[int], machine: dict, folder: pathlib.Path, page: pathlib.Path) -> str:
    names = {
        **{f"view/{peer}": f"view 2 KiB, {name}" for peer, name in PEERS.items()},
        **{f"list/{peer}": f"list 100 entries, {name}" for peer, name in PEERS.items()},
        **{f"list/inmost-among-{size}": f"list 100 entries, among {size:,} files" for size in sizes},
        "long/insert-10-kib": "insert into 10 KiB",
        "long/insert-10-mib": "insert into 10 MiB",
        "long/view-range-10-kib": "view 100 lines of 10 KiB",
        "long/view-range-10-mib": "view 100 lines of 10 MiB",
        "long/read": "read 10 MiB",
        "long/read-without-cache": "read 10 MiB, cache of 64 KiB",
        "long/bare-aead": "bare AEAD, 10 MiB in 4 KiB",
    }
    present = [(name, id, rows[id]) for id, name in names.items() if id in rows]
    sections = [("view", "A view of a 2 KiB file"), ("list", "A listing of 100 entries")]
    made = []
    for section, title in sections:
        points = [(name.split(", ", 1)[1], row) for name, id, row in present if id.startswith(section + "/")]
        points = [(f"inmost (sled), {name}" if name.startswith("among") else name, row) for name, row in points]
        made.append(save(folder, page, section, charts.dots(title, points)))
    body = [(name, shown(row.median, "ns"), spread(row)) for name, _, row in present]
    text = """## Reading, listing, long files

All rows are warm: the same call was repeated before timing. Bare sled stores no text, so it is not shown. Inserts are durable, into the middle of the file."""
    joined = "\n\n".join(made)
    return f"{text}\n\n{joined}\n\n{table(['', 'median', 'spread'], body)}{lacking(rows, machine, 'view', 'list')}"


MIXED = """## A trace of ordinary calls

60 % view, 15 % `str_replace`, 10 % insert, 10 % create, 3 % rename, 2 % delete over files of 0.2 to 8 KB, the same calls for
every peer, with the same final files. The peers in Rust take turns of 50 calls; the Python SDK follows. `all` is the average
call of a turn."""
LONG = """## A trace of one long file

Half views of 100 lines, a quarter `str_replace`, a quarter insert in one file of 4 MiB. Bare sled writes
as much as inmost does for one changed chunk."""


def trace(rows: dict[str, Row], machine: dict, folder: pathlib.Path, page: pathlib.Path, name: str, text: str) -> str:
    present = [peer for peer in PEERS if f"{name}/{peer}/all" in rows]
    if not present:
        return f"{text}\n\n**NOT MEASURED**"
    commands = [command for command in COMMANDS if f"{name}/{present[0]}/{command}" in rows]
    points = [(PEERS[peer], rows[f"{name}/{peer}/all"]) for peer in present]
    chart = save(folder, page, f"trace-{name}", charts.dots("The average call of the trace", points))
    base = rows[f"{name}/{present[0]}/all"]
    body = []
    for peer in present:
        cells = [cell(rows[f"{name}/{peer}/{command}"]) for command in commands]
        ratio = digits(rows[f"{name}/{peer}/all"].median / base.median) + "x"
        body.append((PEERS[peer], ratio, *cells))
    heads = ["", f"to {PEERS[present[0]]}", *commands]
    return f"{text}\n\n{chart}\n\n{table(heads, body)}{lacking(rows, machine, name)}"


def unlocking(rows: dict[str, Row], sizes: list[int], folder: pathlib.Path, page: pathlib.Path) -> str:
    if not sizes:
        return "## Unlocking\n\n**NOT MEASURED**"
    names = {"kdf": "key derivation", "engine": "engine open", "rest": "the rest", "whole": "unlock as a whole"}
    body = [
        (f"{size:,}", *(cell(rows[f"unlock-{size}/{part}"]) for part in names))
        for size in sizes
    ]
    points = [(f"inmost: {names[part]}, {size:,} files", rows[f"unlock-{size}/{part}"]) for size in sizes for part in ("engine", "rest")]
    chart = save(folder, page, "unlock", charts.dots("Unlock without key derivation", points, ("target of the rest", 1e6)))
    start = ""
    if "start/answer" in rows:
        answer, version = rows["start/answer"], rows["start/version"]
        start = f"""

Time from the start of the program to its first line of output: `inmost call` on a store with the cheapest key derivation
{cell(answer)}; `inmost --version` {cell(version)}."""
    text = """## Unlocking

The default cost of key derivation, and stores with files of 1 KB in folders of 100. *The rest* is inmost's own work:
finding the store, reading its header, the root and the anchors, and syncing the anchors."""
    return f"{text}\n\n{chart}\n\n{table(['files', *names.values()], body)}{start}"


def room(rows: dict[str, Row], sizes: list[int], machine: dict) -> str:
    names = {"append": "append 4 KiB", **PEERS}
    body = [
        (name, cell(rows[f"handed/{id}"]), cell(rows[f"written/{id}"]))
        for id, name in names.items()
        if f"written/{id}" in rows
    ]
    text = """## Disk and memory

Bytes that the process writes to files for one durable one-line edit of a 2 KiB file at depth 3: the bytes passed to `write`, and
the dirty pages that the kernel counts. If the kernel caches a file in large folios, one dirty byte counts as a whole folio.
Neither number includes the journal of the file system."""
    text += f"\n\n{table(['', 'handed to write', 'counted by the kernel'], body)}{lacking(rows, machine, 'written')}"
    body = [
        (f"{size:,}", *(cell(rows[f"resident-{size}/{part}"]) for part in ("opened", "read")))
        for size in sizes
        if f"resident-{size}/read" in rows
    ]
    text += "\n\nResident memory that a session adds to its process. The cache of decoded nodes is limited to 16 MiB. sled's page cache is set to 16 MiB, which sled exceeds:"
    text += f"\n\n{table(['files', 'unlocked', 'every file read'], body)}"
    stores = {"trace": "after the trace", **{str(size): f"{size:,} files" for size in sizes}}
    parts = ("text", "live", "used", "rewritten")
    body = []
    for name, what in stores.items():
        if f"stored-{name}/live" in rows:
            found = [rows[f"stored-{name}/{part}"] for part in parts]
            body.append((what, *(f"{cell(row)} ({digits(row.median / found[1].median)}x)" for row in found)))
    text += "\n\nSize of stores on the disk, and as multiples of the live bytes, which are keys and padded records. sled's log grows by segments of 2 MiB, which dominates in small stores after use. The ballast for a full disk is not counted"
    text += f", {cell(rows['stored-trace/ballast'])} in every store:" if "stored-trace/ballast" in rows else ":"
    text += f"\n\n{table(['store', 'text', 'live', 'as used', 'rewritten'], body)}"
    return text


def absent(rows: dict[str, Row]) -> list[str]:
    return [peer for peer in PEERS if f"mixed/{peer}/all" not in rows]


def lacking(rows: dict[str, Row], machine: dict, *groups: str) -> str:
    """Lists the peers without a row in a section. Bare sled is left out, because it stores no text."""
    text = ""
    for peer, name in PEERS.items():
        if peer != "bare-sled" and not all(any(id.startswith(f"{group}/{peer}") for id in rows) for group in groups):
            why = "it could not be installed on this machine" if peer in machine["missing"] else "its measurement failed"
            text += f"\n\n**NOT MEASURED: {name}; {why}.**"
    return text


def cell(row: Row) -> str:
    if len(row.samples) == 1:
        return shown(row.median, row.unit)
    return f"{shown(row.median, row.unit)} ({spread(row)})"


def spread(row: Row) -> str:
    return f"{shown(row.low, row.unit)} to {shown(row.high, row.unit)}"


def table(heads: list[str], body: list[tuple]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in body]
    return "\n".join(lines)


def save(folder: pathlib.Path, page: pathlib.Path, name: str, svg: str) -> str:
    path = folder / f"{name}.svg"
    path.write_text(svg)
    return f"![{name}]({pathlib.Path(os.path.relpath(path, page.parent)).as_posix()})"


if __name__ == "__main__":
    main()
