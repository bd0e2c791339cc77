"""The targets of the design, each computed from the rows of one run."""

from dataclasses import dataclass

from samples import Row, digits, shown


@dataclass
class Target:
    """A measurement with an upper or a lower limit."""

    what: str
    bound: str  # "at most" or "at least"
    limit: float
    top: str  # the numerator of the ratio
    bottom: str | None = None  # the denominator; None if the limit has the unit of the row

    def wanted(self, rows: dict[str, Row]) -> str:
        if self.bottom is None:
            unit = rows[self.top].unit if self.top in rows else "ns"
            return f"{self.bound} {shown(self.limit, unit)}"
        return f"{self.bound} {self.limit:g}x"

    def judge(self, rows: dict[str, Row]) -> tuple[str, str, str]:
        """Returns the value, its spread and the verdict, computed only from the samples."""
        names = [name for name in (self.top, self.bottom) if name is not None]
        lacking = [name for name in names if name not in rows]
        if lacking:
            return "-", "-", f"**NOT MEASURED**: no {', '.join(lacking)}"
        top = rows[self.top]
        if self.bottom is None:
            found, low, high = top.median, top.low, top.high
            text = lambda value: shown(value, top.unit)
        else:
            bottom = rows[self.bottom]
            found = top.median / bottom.median
            # The widest ratio that the samples allow: a low sample of one row over a high sample of the
            # other.
            low, high = top.low / bottom.high, top.high / bottom.low
            text = lambda value: digits(value) + "x"
        met = found <= self.limit if self.bound == "at most" else found >= self.limit
        verdict = "met" if met else "**missed**"
        if low <= self.limit <= high and len(top.samples) > 1:
            verdict += ", within the spread"
        return text(found), f"{text(low)} to {text(high)}", verdict


def targets(sizes: list[int]) -> list[Target]:
    """Returns the targets in the order of the page."""
    smallest, others = sizes[0], sizes[1:]
    return [
        Target("durable one-line edit, depth 1, to append + fdatasync", "at most", 1.6, "edit/inmost-depth-1", "edit/append"),
        Target("durable one-line edit, depth 3, to append + fdatasync", "at most", 2.0, "edit/inmost-depth-3", "edit/append"),
        Target("one thread to 8 threads together, a durable edit", "at least", 4, "edit/inmost-depth-1", "edit/inmost-8-threads"),
        Target("SDK to inmost, durable edit, depth 1", "at least", 1.8, "edit/sdk-depth-1", "edit/inmost-depth-1"),
        Target("SDK to inmost, view of a 2 KiB file", "at least", 20, "view/sdk", "view/inmost"),
        Target("SDK to inmost, listing of 100 entries", "at least", 50, "list/sdk", "list/inmost"),
        *(
            Target(f"listing of 100 entries, among {size:,} files to among {smallest:,}", "at most", 1.5,
                   f"list/inmost-among-{size}", f"list/inmost-among-{smallest}")
            for size in others
        ),
        Target("insert, 10 MiB to 10 KiB", "at most", 2, "long/insert-10-mib", "long/insert-10-kib"),
        Target("view_range of 100 lines, 10 MiB to 10 KiB", "at most", 2, "long/view-range-10-mib", "long/view-range-10-kib"),
        Target("throughput of reading 10 MiB to the bare AEAD's", "at least", 0.6, "long/bare-aead", "long/read"),
        Target("the same with a session cache of 64 KiB", "at least", 0.6, "long/bare-aead", "long/read-without-cache"),
        *(
            Target(f"unlock without KDF and engine, {size:,} files", "at most", 1e6, f"unlock-{size}/rest")
            for size in sizes
        ),
        # 16 MiB of decoded nodes and 32 MiB of sled's pages at most, and as much again: each is an allocator's estimate.
        *(
            Target(f"memory of a session that has read {size:,} files", "at most", 96 * 2**20, f"resident-{size}/read")
            for size in sizes
        ),
        *(
            Target(f"disk to live bytes after a rewrite, {what}", "at most", 2.5, f"stored-{name}/rewritten", f"stored-{name}/live")
            for name, what in [("trace", "the store of the trace"), *((size, f"{size:,} files") for size in sizes)]
        ),
    ]
