"""The sections of the page about calls: durable edits, their distribution, reading, traces."""

import charts
import targets
from parts import PEERS, Page, cell, spread, table
from samples import Row, digits, shown

COMMANDS = ["all", "view", "create", "str_replace", "insert", "delete", "rename"]


def edits(page: Page) -> str:
    rows = page.rows
    names = {
        "edit/overwrite-before": "overwrite 4 KiB, before",
        "edit/overwrite-after": "overwrite 4 KiB, after",
        "edit/append-before": "append 4 KiB, before",
        "edit/append-after": "append 4 KiB, after",
        "edit/bare-sled-batch": "bare sled, 5 records",
        **{f"edit/{peer}-depth-{depth}": f"{PEERS[peer]}, depth {depth}" for peer in PEERS for depth in (1, 3)},
        "edit/inmost-8-threads": "inmost (sled), 8 threads",
        "edit/inmost-redb-8-threads": "inmost (redb), 8 threads",
        "edit/sqlcipher-8-threads": "SQLCipher, 8 threads",
        "edit/sqlcipher-8-threads-one-connection": "SQLCipher, 8 on 1 connection",
    }
    present = [(name, rows[id]) for id, name in names.items() if id in rows]
    base = rows["edit/overwrite"]
    chart = page.save("edit", charts.dots("A durable one-line edit of a 2 KiB file", present, ("overwrite", base.median)))
    text = """## A durable edit

`str_replace` of one line in a file of 2 KiB, compared with the least that a durable change costs: overwriting 4 KiB of a
preallocated file and `fdatasync`. An append also changes the length of its file, which the file system must make durable too; it
is shown for information. Both are timed before and after everything else; if the two differ, the speed of the disk changed during
the run. With 8 threads, the time of one edit is the total time divided by the number of edits. SQLCipher's 8 threads have a
connection each, or share one connection. The Python SDK does not sync folders, so its edits are less durable."""
    return f"{text}\n\n{chart}\n\n{to_overwrite(present, base)}{page.lacking('edit')}\n\n{turns(page)}\n\n{ring(page)}"


def turns(page: Page) -> str:
    """Returns the same edits in turns, with the rows that the targets compare."""
    text = """The targets compare edits that were made in turns of 100, because the speed of a disk changes within minutes. A sample is the mean
of a turn, so edits that wait for work in the background count in full."""
    medians = "A sample is the median of a turn, the time of most edits:"
    means = table_of_turns(page, "turns/")
    return f"{text}\n\n{means}\n\n{medians}\n\n{table_of_turns(page, 'medians/')}"


def ring(page: Page) -> str:
    """Returns what the feature `ring` changes."""
    text = """### Processor time, and the feature `ring`

The processor time of an edit is measured without system calls, on a file system in memory. The calling thread does most of the
work; other threads write checkpoints. With the feature `ring`, another implementation encrypts the same bytes."""
    rows = page.rows
    times = [
        (f"depth {depth}, {thread}", *(cell(rows[id]) if id in rows else "-" for id in ids))
        for depth in (1, 3)
        for thread, suffix in (("the calling thread", ""), ("other threads", "-others"))
        for ids in [[f"cpu/{name}-depth-{depth}{suffix}" for name in ("inmost", "inmost-ring")]]
    ]
    verdicts = []
    for default, other in zip(
        [*targets.in_turns(), targets.together()], [*targets.in_turns("ring-"), targets.together("ring-")], strict=True
    ):
        found, _, verdict = default.judge(rows)
        ring, spread, ring_verdict = other.judge(rows)
        verdicts.append((default.what, default.wanted(rows), f"{found}, {verdict}", f"{ring}, {ring_verdict}", spread))
    later = "The same targets for both builds. Their rows are of two programs, one after the other:"
    heads = ["what", "target", "default", "`ring`", "spread with `ring`"]
    return f"{text}\n\n{table(['', 'default', '`ring`'], times)}\n\n{later}\n\n{table(heads, verdicts)}"


def table_of_turns(page: Page, group: str) -> str:
    rows = {id.removeprefix(group): row for id, row in page.rows.items() if id.startswith(group)}
    if "overwrite" not in rows:
        return "**NOT MEASURED**"
    names = {"inmost": "inmost (sled)", "inmost-history": "inmost (sled) with a history", "sqlcipher": "SQLCipher"}
    named = {
        "overwrite": "overwrite 4 KiB",
        **{f"{id}-depth-{depth}": f"{name}, depth {depth}" for depth in (1, 3) for id, name in names.items()},
    }
    return to_overwrite([(name, rows[id]) for id, name in named.items() if id in rows], rows["overwrite"])


def to_overwrite(present: list[tuple[str, Row]], base: Row) -> str:
    """Returns a table of rows beside the overwrite."""
    body = [(name, shown(row.median, "ns"), spread(row), digits(row.median / base.median) + "x") for name, row in present]
    return table(["", "median", "spread", "to the overwrite"], body)


def latency(page: Page) -> str:
    names = {
        "overwrite": "overwrite 4 KiB",
        "inmost": PEERS["inmost"],
        "inmost-alone": "inmost (sled), no turns",
        "inmost-redb": PEERS["inmost-redb"],
        "inmost-redb-alone": "inmost (redb), no turns",
        **PEERS,
    }
    text = """## The distribution of durable edits

Single edits at depth 1, each timed on its own. The peers take turns of 100 edits, so that other load on the disk affects all of
them. *No turns* is the same work without pauses: a peer that does some of its work in the background cannot do it while it waits
for its turn."""
    present = [(name, page.rows[f"latency/{id}"]) for id, name in names.items() if f"latency/{id}" in page.rows]
    if not present:
        return f"{text}\n\n**NOT MEASURED**"
    chart = page.save("latency", charts.distributions("A durable one-line edit of a 2 KiB file: all edits", present))
    body, base = [], present[0][1].median
    for name, row in present:
        marks = [row.median, row.quantile(0.9), row.quantile(0.99), row.longest]
        ratios = [row.quantile(0.99) / row.median, row.median / base]
        body.append((name, f"{len(row.samples):,}", *(shown(mark, row.unit) for mark in marks), *(digits(ratio) + "x" for ratio in ratios)))
    heads = ["", "edits", "p50", "p90", "p99", "max", "p99 to p50", f"p50 to {present[0][0]}"]
    return f"{text}\n\n{chart}\n\n{table(heads, body)}{page.lacking('latency')}"


def reading(page: Page) -> str:
    rows = page.rows
    names = {
        **{f"view/{peer}": f"view 2 KiB, {name}" for peer, name in PEERS.items()},
        **{f"list/{peer}": f"list 100 entries, {name}" for peer, name in PEERS.items()},
        **{f"list/inmost-among-{size}": f"list 100 entries, among {size:,} files" for size in page.sizes},
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
        made.append(page.save(section, charts.dots(title, points)))
    body = [(name, shown(row.median, "ns"), spread(row)) for name, _, row in present]
    text = """## Reading, listing, long files

All rows are warm: the same call was repeated before timing. Bare sled stores no text, so it is not shown. Inserts are durable, into the middle of the file."""
    joined = "\n\n".join(made)
    return f"{text}\n\n{joined}\n\n{table(['', 'median', 'spread'], body)}{page.lacking('view', 'list')}"


MIXED = """## A trace of ordinary calls

60 % view, 15 % `str_replace`, 10 % insert, 10 % create, 3 % rename, 2 % delete over files of 0.2 to 8 KB, the same calls for
every peer, with the same final files. The peers in Rust take turns of 50 calls; the Python SDK follows. `all` is the average
call of a turn."""
LONG = """## A trace of one long file

Half views of 100 lines, a quarter `str_replace`, a quarter insert in one file of 4 MiB. Bare sled writes
as much as inmost does for one changed chunk."""


def trace(page: Page, name: str, text: str) -> str:
    rows = page.rows
    present = [peer for peer in PEERS if f"{name}/{peer}/all" in rows]
    if not present:
        return f"{text}\n\n**NOT MEASURED**"
    commands = [command for command in COMMANDS if f"{name}/{present[0]}/{command}" in rows]
    points = [(PEERS[peer], rows[f"{name}/{peer}/all"]) for peer in present]
    chart = page.save(f"trace-{name}", charts.dots("The average call of the trace", points))
    base = rows[f"{name}/{present[0]}/all"]
    body = []
    for peer in present:
        cells = [cell(rows[f"{name}/{peer}/{command}"]) for command in commands]
        ratio = digits(rows[f"{name}/{peer}/all"].median / base.median) + "x"
        body.append((PEERS[peer], ratio, *cells))
    heads = ["", f"to {PEERS[present[0]]}", *commands]
    return f"{text}\n\n{chart}\n\n{table(heads, body)}{page.lacking(name)}"
