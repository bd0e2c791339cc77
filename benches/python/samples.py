"""Reads the samples of a run, and formats numbers."""

import json
import pathlib


class Row:
    """Samples of one measurement, each the time of one call or an average over a few."""

    def __init__(self, unit: str, samples: list[float]):
        self.unit = unit
        self.in_order = samples
        self.samples = sorted(samples)

    def quantile(self, share: float) -> float:
        place = share * (len(self.samples) - 1)
        below = int(place)
        above = min(below + 1, len(self.samples) - 1)
        return self.samples[below] + (place - below) * (self.samples[above] - self.samples[below])

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def low(self) -> float:
        return self.quantile(0.1)

    @property
    def high(self) -> float:
        return self.quantile(0.9)

    @property
    def longest(self) -> float:
        return self.samples[-1]

    def also(self, other: "Row") -> "Row":
        return Row(self.unit, self.in_order + other.in_order)

    def parts(self, count: int) -> list["Row"]:
        """Divides the samples into consecutive parts of the run."""
        size = max(1, len(self.in_order) // count)
        return [Row(self.unit, self.in_order[at : at + size]) for at in range(0, size * count, size) if self.in_order[at : at + size]]


def read(results: pathlib.Path) -> dict[str, Row]:
    """Returns all rows of a run by name, from our own files and from Criterion's folders."""
    rows = {}
    for file in sorted(results.glob("*.json")):
        if file.name == "machine.json":
            continue
        for row in json.loads(file.read_text()):
            rows[row["id"]] = Row(row["unit"], row["samples"])
    for prefix in ("", "ring-"):
        for file in sorted(results.glob(f"{prefix}criterion/*/*/new/sample.json")):
            sample = json.loads(file.read_text())
            times = [time / count for time, count in zip(sample["times"], sample["iters"])]
            rows[prefix + "/".join(file.parts[-4:-2])] = Row("ns", times)
    for reference in ("edit/overwrite", "edit/append"):
        if f"{reference}-before" in rows:
            rows[reference] = rows[f"{reference}-before"].also(rows[f"{reference}-after"])
    return rows


def shown(value: float, unit: str) -> str:
    """Formats a number with its unit and three significant digits."""
    steps = [("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)]
    if unit == "bytes":
        if value == 0:
            return "0"
        steps = [("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)]
    name, size = next((step for step in reversed(steps) if value >= step[1]), steps[0])
    return f"{digits(value / size)} {name}"


def digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
