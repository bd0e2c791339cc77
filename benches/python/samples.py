"""Reads the samples of a run, and formats numbers."""

import json
import pathlib


class Row:
    """Samples of one measurement, each the time of one call or an average over a few."""

    def __init__(self, unit: str, samples: list[float]):
        self.unit = unit
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

    def also(self, other: "Row") -> "Row":
        return Row(self.unit, self.samples + other.samples)


def read(results: pathlib.Path) -> dict[str, Row]:
    """Returns all rows of a run by name, from our own files and from Criterion's folders."""
    rows = {}
    for file in sorted(results.glob("*.json")):
        if file.name == "machine.json":
            continue
        for row in json.loads(file.read_text()):
            rows[row["id"]] = Row(row["unit"], row["samples"])
    for file in sorted(results.glob("criterion/*/*/new/sample.json")):
        sample = json.loads(file.read_text())
        times = [time / count for time, count in zip(sample["times"], sample["iters"])]
        rows["/".join(file.parts[-4:-2])] = Row("ns", times)
    if "edit/append-before" in rows:
        rows["edit/append"] = rows["edit/append-before"].also(rows["edit/append-after"])
    return rows


def shown(value: float, unit: str) -> str:
    """Formats a number with its unit and three significant digits."""
    steps = [("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)]
    if unit == "bytes":
        steps = [("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)]
    name, size = next((step for step in reversed(steps) if value >= step[1]), steps[0])
    return f"{digits(value / size)} {name}"


def digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
