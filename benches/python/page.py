"""Writes the page and its charts from the results of a run: page.py RESULTS PAGE CHARTS_FOLDER

Every number and every verdict is computed here from the samples. The page names in bold what was not measured. If a row is
missing without a reason, the script fails after it has written the page.
"""

import json
import pathlib
import sys

import calls
import stores
from parts import PEERS, Page, table
from samples import digits, read
from targets import targets

DRIFT = 1.3  # ratio of the two rows of a reference above which the page warns
BUSY = 15  # percent of processor time used by other processes above which the page warns


def main() -> None:
    results, path, folder = (pathlib.Path(arg) for arg in sys.argv[1:4])
    page = Page(read(results), json.loads((results / "machine.json").read_text()), path, folder)
    folder.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    sections = [
        head(page),
        verdicts(page),
        calls.edits(page),
        calls.latency(page),
        calls.reading(page),
        calls.trace(page, "mixed", calls.MIXED),
        calls.trace(page, "long", calls.LONG),
        stores.unlocking(page),
        stores.opening(page),
        stores.importing(page),
        stores.room(page),
    ]
    path.write_text("\n\n".join(sections) + "\n")
    print(f"wrote {path} and {len(list(folder.glob('*.svg')))} charts")
    if not page.sizes:
        sys.exit("no unlock was measured")
    unexplained = absent(page)
    if unexplained:
        sys.exit(f"not measured, and without a reason: {', '.join(unexplained)}")


def head(page: Page) -> str:
    rows, machine = page.rows, page.machine
    facts = [(name, value) for name, value in machine.items() if name not in ("missing", "command")]
    warning = ""
    if float(machine["busy before"].split("%")[0]) > BUSY:
        warning = "\n\n**The machine was busy before this run began. Its absolute times and the ratios between rows are not reliable.**"
    for reference in ("overwrite", "append"):
        before, after = rows[f"edit/{reference}-before"].median, rows[f"edit/{reference}-after"].median
        drift = max(before, after) / min(before, after)
        if drift > DRIFT:
            warning += f"\n\n**The speed of the disk changed during the run: one {reference} took {digits(drift)} times as long as the other. Ratios of durable rows are not reliable.**"
    for name in machine["missing"]:
        warning += f"\n\n**NOT MEASURED: {PEERS.get(name, name)} could not be installed on this machine.**"
    return f"""# Benchmarks

Made by `{machine["command"]}`; do not edit. [benches/README.md](../benches/README.md) describes the method and its biases.
Medians; the spread is the 10th to the 90th percentile of the samples. Ratios compare rows of this one run.{warning}

{table(["", ""], facts)}"""


def verdicts(page: Page) -> str:
    if not page.sizes:
        return "## Targets\n\n**NOT MEASURED**"
    body = []
    for target in targets(page.rows, page.sizes):
        found, spread, verdict = target.judge(page.rows)
        body.append((target.what, target.wanted(page.rows), found, spread, verdict))
    text = """## Targets

Medians decide whether a target is met. The spread of a ratio is the widest that the samples allow: a low sample of one row over a
high sample of the other. The first eight rows took turns: their ratio is the median of the ratios turn by turn, and the spread is that
of these ratios. The spread of a p99 is that of ten consecutive parts of the run. If the target lies within the spread, another run
may have a different result."""
    return f"{text}\n\n{table(['what', 'target', 'found', 'spread', ''], body)}"


def absent(page: Page) -> list[str]:
    """Returns the rows that a target needs and that are missing without a reason, and the peers without a trace."""
    needed = [name for target in targets(page.rows, page.sizes) for name in target.needs()]
    needed += [f"mixed/{peer}/all" for peer in PEERS]
    excused = tuple(f"/{name}" for name in page.machine["missing"])
    absent = [name for name in needed if name not in page.rows]
    return sorted({name for name in absent if not any(excuse in name for excuse in excused)})


if __name__ == "__main__":
    main()
