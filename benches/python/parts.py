"""What the sections of the page share: the results, the names of the peers, and tables."""

import os
import pathlib

from samples import Row, shown

PEERS = {
    "inmost": "inmost (sled)",
    "inmost-redb": "inmost (redb)",
    "folder": "folder + fsync",
    "sqlcipher": "SQLCipher",
    "sdk": "Python SDK",
    "bare-sled": "bare sled",
}


class Page:
    """The results of a run, and where its page and charts are written."""

    def __init__(self, rows: dict[str, Row], machine: dict, path: pathlib.Path, charts: pathlib.Path):
        self.rows = rows
        self.machine = machine
        self.path = path
        self.charts = charts
        self.sizes = sorted(int(name[7:].split("/")[0]) for name in rows if name.startswith("unlock-") and name.endswith("/rest"))

    def save(self, name: str, svg: str) -> str:
        """Writes a chart, and returns the line that shows it."""
        path = self.charts / f"{name}.svg"
        path.write_text(svg)
        return f"![{name}]({pathlib.Path(os.path.relpath(path, self.path.parent)).as_posix()})"

    def lacking(self, *groups: str) -> str:
        """Lists the peers without a row in a section. Bare sled is left out, because it stores no text."""
        text = ""
        for peer, name in PEERS.items():
            if peer != "bare-sled" and not all(any(id.startswith(f"{group}/{peer}") for id in self.rows) for group in groups):
                text += f"\n\n**NOT MEASURED: {name}; {self.reason(peer)}.**"
        return text

    def reason(self, name: str) -> str:
        """Returns why something was not measured."""
        missing = name in self.machine["missing"]
        return "it could not be installed on this machine" if missing else "its measurement failed"


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
