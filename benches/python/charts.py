"""Medians, spreads and distributions as SVG, readable on light and on dark pages, without any library.

It draws dots instead of bars, because the scale is logarithmic and has no zero where a bar could start.
"""

import math
from html import escape

from samples import Row, shown

WIDTH, LEFT, RIGHT, TOP, LINE = 860, 230, 120, 74, 26
TALL_LINE = 42  # a row of a distribution
COLUMN = 6  # width of one step of a distribution

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.note, .tick { fill: #57606a; font-size: 12px }
.grid { stroke: #d0d7de }
.peer { fill: #6e7781; stroke: #6e7781 }
.ours { fill: #0969da; stroke: #0969da }
.area { fill-opacity: 0.3; stroke: none }
.open { fill: #ffffff; stroke-width: 1.5 }
.limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note, .tick { fill: #9198a1 }
  .grid { stroke: #3d444d }
  .peer { fill: #9198a1; stroke: #9198a1 }
  .ours { fill: #4493f8; stroke: #4493f8 }
  .area { stroke: none }
  .open { fill: #0d1117 }
  .limit { stroke: #f85149 }
}
"""


class Scale:
    """A logarithmic scale from the power of ten below the lowest value to the one above the highest."""

    def __init__(self, values: list[float]):
        self.first = 10 ** math.floor(math.log10(max(min(values), 1)) - 0.01)
        self.last = 10 ** math.ceil(math.log10(max(values)) + 0.01)

    def x(self, value: float) -> float:
        share = math.log(max(value, self.first) / self.first) / math.log(self.last / self.first)
        return LEFT + (WIDTH - LEFT - RIGHT) * share


def dots(title: str, rows: list[tuple[str, Row]], limit: tuple[str, float] | None = None) -> str:
    """Draws one line per row: a dot at the median, a stroke from the 10th to the 90th percentile."""
    unit = rows[0][1].unit
    scale = Scale([row.low for _, row in rows] + [row.high for _, row in rows] + ([limit[1]] if limit else []))
    x, bottom = scale.x, TOP + len(rows) * LINE
    note = "the dot is the median, the stroke the 10th to the 90th percentile; logarithmic scale"
    parts = frame(title, note, scale, unit, bottom)
    for index, (name, row) in enumerate(rows):
        y = TOP + index * LINE + LINE / 2
        parts += [
            label(name, y),
            f'<line class="{kind(name)}" stroke-width="2" x1="{x(row.low):.1f}" x2="{x(row.high):.1f}" y1="{y}" y2="{y}"/>',
            f'<circle class="{kind(name)}" r="5" cx="{x(row.median):.1f}" cy="{y}"/>',
            f'<text x="{x(row.high) + 12:.1f}" y="{y + 4.5}">{escape(shown(row.median, unit))}</text>',
        ]
    if limit:
        name, value = limit
        parts.append(f'<line class="limit" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        parts.append(f'<text class="note" text-anchor="middle" x="{x(value):.1f}" y="{TOP - 9}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def distributions(title: str, rows: list[tuple[str, Row]]) -> str:
    """Draws one line per row: an area that shows how many samples lie where, and marks at p50, p90, p99 and the maximum."""
    unit = rows[0][1].unit
    scale = Scale([value for _, row in rows for value in (row.samples[0], row.longest)])
    x, bottom = scale.x, TOP + len(rows) * TALL_LINE
    note = "the area shows how many took how long (logarithmic, so that single ones show); the dots are p50, p90 and p99, the ring is the maximum"
    parts = frame(title, note, scale, unit, bottom)
    for index, (name, row) in enumerate(rows):
        y = TOP + index * TALL_LINE + TALL_LINE - 8
        parts += [label(name, y), area(row, scale, kind(name), y, TALL_LINE - 14)]
        for share, radius in ((0.5, 5), (0.9, 3.5), (0.99, 3.5)):
            parts.append(f'<circle class="{kind(name)}" r="{radius}" cx="{x(row.quantile(share)):.1f}" cy="{y}"/>')
        parts.append(f'<circle class="{kind(name)} open" r="3.5" cx="{x(row.longest):.1f}" cy="{y}"/>')
        parts.append(f'<text x="{x(row.longest) + 12:.1f}" y="{y + 4.5}">p99 {escape(shown(row.quantile(0.99), unit))}</text>')
    return "\n".join([*parts, "</svg>", ""])


def area(row: Row, scale: Scale, style: str, y: float, height: float) -> str:
    """Returns the area of a histogram with steps of equal width. Its height is the logarithm of the number of samples."""
    counts: dict[int, int] = {}
    for sample in row.samples:
        step = int((scale.x(sample) - LEFT) / COLUMN)
        counts[step] = counts.get(step, 0) + 1
    most = math.log(1 + max(counts.values()))
    corners = []
    for step in range(min(counts), max(counts) + 1):
        top = y - height * math.log(1 + counts.get(step, 0)) / most
        left = LEFT + step * COLUMN
        corners += [f"{left},{top:.1f}", f"{left + COLUMN},{top:.1f}"]
    left, right = LEFT + min(counts) * COLUMN, LEFT + (max(counts) + 1) * COLUMN
    return f'<polygon class="{style} area" points="{left},{y} {" ".join(corners)} {right},{y}"/>'


def frame(title: str, note: str, scale: Scale, unit: str, bottom: float) -> list[str]:
    """Returns the beginning of a chart: title, note, and the grid with its labels."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
        f'<text class="note" x="8" y="41">{escape(note)}</text>',
    ]
    tick = scale.first
    while tick <= scale.last * 1.01:
        x = scale.x(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        text = escape(shown(tick, unit).replace(".00", "").replace(".0", ""))
        parts.append(f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{bottom + 18}">{text}</text>')
        tick *= 10
    return parts


def label(name: str, y: float) -> str:
    return f'<text text-anchor="end" x="{LEFT - 12}" y="{y + 4.5}">{escape(name)}</text>'


def kind(name: str) -> str:
    return "ours" if name.startswith("inmost") else "peer"
