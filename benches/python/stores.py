"""The sections of the page about stores: unlocking and opening, import, memory, disk."""

import charts
from parts import PEERS, Page, cell, table
from samples import digits


def unlocking(page: Page) -> str:
    rows, sizes = page.rows, page.sizes
    if not sizes:
        return "## Unlocking\n\n**NOT MEASURED**"
    names = {"kdf": "key derivation", "engine": "engine open", "rest": "the rest", "whole": "unlock as a whole"}
    body = [(f"{size:,}", *(cell(rows[f"unlock-{size}/{part}"]) for part in names)) for size in sizes]
    points = [(f"inmost: {names[part]}, {size:,} files", rows[f"unlock-{size}/{part}"]) for size in sizes for part in ("engine", "rest")]
    chart = page.save("unlock", charts.dots("Unlock without key derivation", points, ("target of the rest", 0.6e6)))
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


def opening(page: Page) -> str:
    rows = page.rows
    text = """## A short use of a store

A store that was locked is opened with its raw key, so without key derivation, for one read or for one edit. The files are in the
page cache. *One edit* includes locking, and is compared with bare sled: opening a copy of the same files, one durable batch of
five records, closing. The bytes are those of opening, one read and locking, as in the section on disk and memory, and those of
opening and closing bare sled on the same files. When sled opens, it overwrites what is left of its last segment of 2 MiB."""
    columns = {
        "unlock": "open and unlock",
        "first-read": "first read",
        "one-read": "both",
        "one-edit": "open, one edit, lock",
        "bare-batch": "bare sled",
        "handed": "handed to write",
        "bare-handed": "bare sled, handed to write",
        "written": "counted by the kernel",
    }
    body = []
    for size in page.sizes:
        if f"open-{size}/one-read" not in rows:
            continue
        cells = [cell(rows[f"open-{size}/{column}"]) if f"open-{size}/{column}" in rows else "-" for column in columns]
        one, bare = rows[f"open-{size}/one-edit"], rows.get(f"open-{size}/bare-batch")
        body.append((f"{size:,}", *cells, digits(one.median / bare.median) + "x" if bare else "-"))
    if not body:
        return f"{text}\n\n**NOT MEASURED**"
    text += f"\n\n{table(['files', *columns.values(), 'one edit to bare sled'], body)}"
    body = [(f"{size:,}", cell(rows[f"stall-{size}/longest-read"])) for size in page.sizes if f"stall-{size}/longest-read" in rows]
    text += "\n\nThe longest read of a file while another thread writes to all files in turn, per round of writes. The cache is limited to 64 KiB, so that reads reach the engine:"
    return f"{text}\n\n{table(['files', 'longest read'], body)}"


def importing(page: Page) -> str:
    names = {
        "inmost": "`inmost import` into a new store",
        "restic": "`restic backup` into a new repository",
        "restic-whole": "the same with key derivation",
        "restic-key": "`restic cat masterkey`",
    }
    text = """## Import of plain files

5,000 different files of 2 KiB (200 in a smoke run) in folders of 100, from the start of the program to its end, in turns. Key
derivation is excluded from both: inmost unlocks with a recovery key, and the time of `restic cat masterkey` is subtracted from that
of restic."""
    if "import/inmost" not in page.rows:
        return f"{text}\n\n**NOT MEASURED**"
    body = [(name, cell(page.rows[f"import/{id}"])) for id, name in names.items() if f"import/{id}" in page.rows]
    text += f"\n\n{table(['', 'time'], body)}"
    if "import/restic" not in page.rows:
        text += f"\n\n**NOT MEASURED: restic; {page.reason('restic')}.**"
    return text


def memory(page: Page) -> str:
    rows = page.rows
    body = [
        (f"a store of {size:,} files", *(cell(rows[f"resident-{size}/{part}"]) for part in ("opened", "read")))
        for size in page.sizes
        if f"resident-{size}/read" in rows
    ]
    for id in rows:
        if id.startswith("vaults-") and id.endswith("/read"):
            count = int(id.split("/")[0].removeprefix("vaults-"))
            body.append((f"{count:,} stores of 100 files together", cell(rows[f"vaults-{count}/opened"]), cell(rows[id])))
    text = "Resident memory that sessions add to their process. The cache of decoded nodes is limited to 16 MiB. sled's page cache is set to 16 MiB, which sled exceeds:"
    return f"{text}\n\n{table(['', 'unlocked', 'every file read'], body)}"


def disk(page: Page) -> str:
    rows = page.rows
    stores = {"new": "new", "trace": "after the mixed trace", **{str(size): f"{size:,} files" for size in page.sizes}}
    parts = ["engine", "journal", "ballast", "rest"]
    body = []
    for name, what in stores.items():
        if f"stored-{name}/live" not in rows:
            continue
        live = rows[f"stored-{name}/live"]
        for when, verb in (("used", "as used"), ("rewritten", "rewritten")):
            whole = rows[f"stored-{name}/{when}"]
            ratio = f"{digits(whole.median / live.median)}x"
            cells = [cell(rows[f"stored-{name}/{when}-{part}"]) for part in parts]
            body.append((f"{what}, {verb}", cell(rows[f"stored-{name}/text"]), cell(live), cell(whole), ratio, *cells))
    text = """Size of locked stores on the disk, as used and after a rewrite. Live bytes are keys and padded records. sled's log grows by segments
of 2 MiB, which dominates in small stores after use. The ballast is reserved for a full disk:"""
    return f"{text}\n\n{table(['store', 'text', 'live', 'whole', 'whole to live', *parts], body)}"


def room(page: Page) -> str:
    rows = page.rows
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
    written = table(["", "handed to write", "counted by the kernel"], body) + page.lacking("written")
    return "\n\n".join([text, written, memory(page), disk(page)])
