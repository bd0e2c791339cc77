"""Medians and spreads as SVG, readable on light and on dark pages, without any library.

It draws dots instead of bars, because the scale is logarithmic and has no zero where a bar could start.
"""

import math
from html import escape

from samples import Row, shown

WIDTH, LEFT, RIGHT, TOP, LINE = 860, 230, 120, 74, 26

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.note, .tick { fill: #57606a; font-size: 12px }
.grid { stroke: #d0d7de }
.peer { fill: #6e7781; stroke: #6e7781 }
.ours { fill: #0969da; stroke: #0969da }
.limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note, .tick { fill: #9198a1 }
  .grid { stroke: #3d444d }
  .peer { fill: #9198a1; stroke: #9198a1 }
  .ours { fill: #4493f8; stroke: #4493f8 }
  .limit { stroke: #f85149 }
}
"""


def dots(title: str, rows: list[tuple[str, Row]], limit: tuple[str, float] | None = None) -> str:
    """Draws one line per row: a dot at the median, a stroke from the 10th to the 90th percentile."""
    unit = rows[0][1].unit
    values = [row.low for _, row in rows] + [row.high for _, row in rows] + ([limit[1]] if limit else [])
    first = 10 ** math.floor(math.log10(max(min(values), 1)) - 0.01)
    last = 10 ** math.ceil(math.log10(max(values)) + 0.01)
    plot = WIDTH - LEFT - RIGHT

    def x(value: float) -> float:
        share = math.log(max(value, first) / first) / math.log(last / first)
        return LEFT + plot * share

    bottom = TOP + len(rows) * LINE
    height = bottom + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
        '<text class="note" x="8" y="41">the dot is the median, the stroke the 10th to the 90th percentile; logarithmic scale</text>',
    ]
    tick = first
    while tick <= last * 1.01:
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        label = escape(shown(tick, unit).replace(".00", "").replace(".0", ""))
        parts.append(f'<text class="tick" text-anchor="middle" x="{x(tick):.1f}" y="{bottom + 18}">{label}</text>')
        tick *= 10
    for index, (name, row) in enumerate(rows):
        y = TOP + index * LINE + LINE / 2
        kind = "ours" if name.startswith("inmost") else "peer"
        value = escape(shown(row.median, unit))
        parts += [
            f'<text text-anchor="end" x="{LEFT - 12}" y="{y + 4.5}">{escape(name)}</text>',
            f'<line class="{kind}" stroke-width="2" x1="{x(row.low):.1f}" x2="{x(row.high):.1f}" y1="{y}" y2="{y}"/>',
            f'<circle class="{kind}" r="5" cx="{x(row.median):.1f}" cy="{y}"/>',
            f'<text x="{x(row.high) + 12:.1f}" y="{y + 4.5}">{value}</text>',
        ]
    if limit:
        name, value = limit
        parts.append(f'<line class="limit" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        parts.append(f'<text class="note" text-anchor="middle" x="{x(value):.1f}" y="{TOP - 9}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
