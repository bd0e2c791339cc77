"""The targets of the design, each computed from the rows of one run.

Every kind of target has the same two methods: what is wanted, and what was found.
"""

from dataclasses import dataclass

from samples import Row, digits, shown

MIB = 2**20

# By size of the store: opening, one edit and locking to the same with bare sled, as the page of the last commit without a journal in
# front of the engine shows it. A size without a number has no target.
ONE_EDIT_BEFORE_JOURNAL: dict[int, float] = {}


@dataclass
class Found:
    """A value with its spread, and the limit that decides about it."""

    value: float
    low: float
    high: float
    limit: float
    unit: str  # "ns", "bytes", or "x" for a ratio
    sampled: bool = True

    def shown(self, value: float) -> str:
        return digits(value) + "x" if self.unit == "x" else shown(value, self.unit)


@dataclass
class Target:
    """A measurement with an upper or a lower limit."""

    what: str
    bound: str  # "at most" or "at least"
    limit: float
    top: str

    def needs(self) -> list[str]:
        return [self.top]

    def wanted(self, rows: dict[str, Row]) -> str:
        unit = rows[self.top].unit if self.top in rows else "ns"
        return f"{self.bound} {shown(self.limit, unit)}"

    def found(self, rows: dict[str, Row]) -> Found:
        row = rows[self.top]
        return Found(row.median, row.low, row.high, self.limit, row.unit, len(row.samples) > 1)

    def judge(self, rows: dict[str, Row]) -> tuple[str, str, str]:
        """Returns the value, its spread and the verdict, computed only from the samples."""
        lacking = [name for name in self.needs() if name not in rows]
        if lacking:
            return "-", "-", f"**NOT MEASURED**: no {', '.join(lacking)}"
        found = self.found(rows)
        met = found.value <= found.limit if self.bound == "at most" else found.value >= found.limit
        verdict = "met" if met else "**missed**"
        if found.low <= found.limit <= found.high and found.sampled:
            verdict += ", within the spread"
        return found.shown(found.value), f"{found.shown(found.low)} to {found.shown(found.high)}", verdict


@dataclass
class Ratio(Target):
    """A limit of the ratio of two rows."""

    bottom: str = ""

    def needs(self) -> list[str]:
        return [self.top, self.bottom]

    def wanted(self, rows: dict[str, Row]) -> str:
        return f"{self.bound} {self.limit:.3g}x"

    def found(self, rows: dict[str, Row]) -> Found:
        top, bottom = rows[self.top], rows[self.bottom]
        # The widest ratio that the samples allow: a low sample of one row over a high sample of the other.
        low, high = top.low / bottom.high, top.high / bottom.low
        return Found(top.median / bottom.median, low, high, self.limit, "x", len(top.samples) > 1)


@dataclass
class Turns(Ratio):
    """A limit of the ratio of two rows that took turns: each sample is compared with the other row's of the same turn."""

    def found(self, rows: dict[str, Row]) -> Found:
        pairs = zip(rows[self.top].in_order, rows[self.bottom].in_order, strict=True)
        ratios = Row("x", [top / bottom for top, bottom in pairs])
        return Found(ratios.median, ratios.low, ratios.high, self.limit, "x", len(ratios.samples) > 1)


@dataclass
class Tail(Target):
    """A limit of the ratio of a row's 99th percentile to its own median. The spread is that of ten parts of the run."""

    def wanted(self, rows: dict[str, Row]) -> str:
        return f"{self.bound} {self.limit:.3g}x"

    def found(self, rows: dict[str, Row]) -> Found:
        tail = lambda row: row.quantile(0.99) / row.median
        parts = Row("x", [tail(part) for part in rows[self.top].parts(10)])
        return Found(tail(rows[self.top]), parts.low, parts.high, self.limit, "x")


@dataclass
class Room(Target):
    """A limit of a store's size: so many times its live bytes, and a number of bytes."""

    live: str = ""
    plus: float = 0

    def needs(self) -> list[str]:
        return [self.top, self.live]

    def wanted(self, rows: dict[str, Row]) -> str:
        rule = f"{self.bound} {self.limit:g}x live + {shown(self.plus, 'bytes')}"
        return f"{rule} = {shown(self.bytes(rows), 'bytes')}" if self.live in rows else rule

    def found(self, rows: dict[str, Row]) -> Found:
        row = rows[self.top]
        return Found(row.median, row.low, row.high, self.bytes(rows), row.unit, len(row.samples) > 1)

    def bytes(self, rows: dict[str, Row]) -> float:
        return self.limit * rows[self.live].median + self.plus


def targets(rows: dict[str, Row], sizes: list[int]) -> list[Target]:
    """Returns the targets in the order of the page. What only larger runs measure is left out if it was not measured."""
    smallest, others = sizes[0], sizes[1:]
    return [
        *durable(),
        *traces(),
        Ratio("Python SDK to inmost, durable edit, depth 1", "at least", 3, "edit/sdk-depth-1", "edit/inmost-depth-1"),
        Ratio("Python SDK to inmost, view of a 2 KiB file", "at least", 60, "view/sdk", "view/inmost"),
        Ratio("Python SDK to inmost, listing of 100 entries", "at least", 600, "list/sdk", "list/inmost"),
        *(
            Ratio(f"listing of 100 entries, among {size:,} files to among {smallest:,}", "at most", 1.1,
                  f"list/inmost-among-{size}", f"list/inmost-among-{smallest}")
            for size in others
        ),
        Ratio("insert, 10 MiB to 10 KiB", "at most", 1.2, "long/insert-10-mib", "long/insert-10-kib"),
        Ratio("view_range of 100 lines, 10 MiB to 10 KiB", "at most", 1.2, "long/view-range-10-mib", "long/view-range-10-kib"),
        Ratio("throughput of reading 10 MiB to the bare AEAD's", "at least", 1, "long/bare-aead", "long/read"),
        Ratio("the same with a session cache of 64 KiB", "at least", 0.7, "long/bare-aead", "long/read-without-cache"),
        *opening(sizes),
        *memory(rows, sizes),
        *disk(sizes),
        Ratio("import of plain files, to restic's backup of the same", "at most", 1.5, "import/inmost", "import/restic"),
    ]


def durable() -> list[Target]:
    return [
        *in_turns(),
        Tail("p99 of durable edits to their median, in turns with the peers", "at most", 10, "latency/inmost"),
        Tail("p99 of durable edits to their median, without turns", "at most", 10, "latency/inmost-alone"),
        together(),
        Ratio("SQLCipher with 8 threads to inmost with 8 threads", "at least", 3, "edit/sqlcipher-8-threads", "edit/inmost-8-threads"),
        processor("inmost"),
        processor("inmost-ring", "; with the feature `ring`"),
    ]


def in_turns(build: str = "") -> list[Target]:
    edit, reference = "durable one-line edit", "overwriting 4 KiB of a preallocated file + fdatasync"
    ours, theirs = f"{build}turns/inmost", f"{build}turns/sqlcipher"
    return [
        Turns(f"{edit}, depth 1, to {reference}", "at most", 1.4, f"{ours}-depth-1", f"{build}turns/overwrite"),
        Turns(f"{edit}, depth 3, to the same", "at most", 1.5, f"{ours}-depth-3", f"{build}turns/overwrite"),
        Turns(f"{edit}, depth 1, to SQLCipher", "at most", 1.1, f"{ours}-depth-1", f"{theirs}-depth-1"),
        Turns(f"{edit}, depth 3, to SQLCipher", "at most", 1.1, f"{ours}-depth-3", f"{theirs}-depth-3"),
        *[
            Turns(
                f"{sample} {edit} with a history, depth {depth}, to without",
                "at most",
                1.25,
                f"{build}{group}/inmost-history-depth-{depth}",
                f"{build}{group}/inmost-depth-{depth}",
            )
            for sample, group in (("median", "medians"), ("mean", "turns"))
            for depth in (1, 3)
        ],
    ]


def together(build: str = "") -> Target:
    one, eight = f"{build}edit/inmost-depth-1", f"{build}edit/inmost-8-threads"
    return Ratio("one thread to 8 threads together, a durable edit", "at least", 5, one, eight)


def processor(name: str, build: str = "") -> Target:
    what = f"processor time of a durable one-line edit, depth 1, without system calls{build}"
    return Target(what, "at most", 12e3, f"cpu/{name}-depth-1")


def traces() -> list[Target]:
    # Those of the long file are what was found before the targets were set: it should not become slower.
    limits = [("mixed", "sqlcipher", 1.3), ("mixed", "folder", 3), ("mixed", "sdk", 25), ("long", "sqlcipher", 69), ("long", "folder", 6.8)]
    names = {"mixed": "mixed trace", "long": "long-file trace", "sqlcipher": "SQLCipher", "folder": "folder + fsync", "sdk": "Python SDK"}
    return [
        Ratio(f"{names[trace]}, {names[peer]} to inmost", "at least", limit, f"{trace}/{peer}/all", f"{trace}/inmost/all")
        for trace, peer, limit in limits
    ]


def opening(sizes: list[int]) -> list[Target]:
    before = ONE_EDIT_BEFORE_JOURNAL
    return [
        *(Target(f"unlock without KDF and engine, {size:,} files", "at most", 0.6e6, f"unlock-{size}/rest") for size in sizes),
        # The floor: what sled overwrites when it opens.
        Ratio("bytes written to open a cleanly closed store for one read, 100 files, to opening bare sled", "at most", 1.05,
              "open-100/handed", "open-100/bare-handed"),
        *(
            Ratio(f"open, one edit, lock, without KDF, to bare sled, {size:,} files (1.5 times {digits(before[size])}x, as without a journal)",
                  "at most", 1.5 * before[size], f"open-{size}/one-edit", f"open-{size}/bare-batch")
            for size in sizes
            if size in before
        ),
        *(
            Target(f"longest read during writes, {size:,} files", "at most", 50e6, f"stall-{size}/longest-read")
            for size in sizes
            if size >= 100_000
        ),
    ]


def memory(rows: dict[str, Row], sizes: list[int]) -> list[Target]:
    made = [Target(f"memory of a session that has read {size:,} files", "at most", 96 * MIB, f"resident-{size}/read") for size in sizes]
    if "vaults-1000/read" in rows:
        what = "memory of 1,000 unlocked vaults that have read 100 files each, with `MALLOC_MMAP_THRESHOLD_=262144`"
        made.append(Target(what, "at most", 512 * MIB, "vaults-1000/read"))
    return made


def disk(sizes: list[int]) -> list[Target]:
    stores = [("trace", "the store of the mixed trace"), *((str(size), f"{size:,} files") for size in sizes)]
    return [
        Target("disk, a new store", "at most", 7 * MIB, "stored-new/used"),
        Target("disk, 100 files", "at most", 7 * MIB, "stored-100/used"),
        Room("disk, after the mixed trace", "at most", 3, "stored-trace/used", "stored-trace/live", 8 * MIB),
        *(
            Room(f"disk after a rewrite, {what}", "at most", 1.6, f"stored-{name}/rewritten", f"stored-{name}/live", 8 * MIB)
            for name, what in stores
        ),
    ]
