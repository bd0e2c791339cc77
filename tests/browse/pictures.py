#!/usr/bin/env python3
"""Draws the pictures of the browser in docs/browse from the real program in tmux, on a store with invented memories.

Usage: pictures.py PROGRAM FOLDER
"""

import html
import os
import re
import sys
import unicodedata

from tmux import Terminal

COLUMNS, ROWS = 100, 30
CELL, LINE, MARGIN = 8.4, 18, 12
BACKGROUND, TEXT, DIM = "#1d2021", "#d8d4c5", "#8f8a7d"
COLOURS = ["#1d2021", "#e2665a", "#9fb35a", "#e0b04a", "#7fa6d6", "#c188b0", "#7dbba6", "#d8d4c5"]

FILES = {
    "/memories/README.md": "What the agents remember about the house and the garden.\n",
    "/memories/garden/plan.md": "# The garden\n\nThree beds, south of the house. The soil is loam, limed in autumn, and dry by June.\n\n## Bed 1\n\n- beans, from April\n- peas, sown in March\n\n## Bed 2\n\n- onions\n- carrots between them, against the fly\n",
    "/memories/garden/seeds.md": "beans: 40\npeas: 60\nonions: 120\n",
    "/memories/garden/water.md": "Beans want water in the evening, twice a week.\nThe barrel holds 300 litres.\n",
    "/memories/people/ada.md": "Ada prefers tea.\nBirthday: 10 December.\nAllergic to broad beans.\n",
    "/memories/people/grace.md": "Grace comes on Thursdays and brings her own gloves.\n",
    "/memories/projects/roof.md": "The roof over the shed leaks near the chimney.\nThe roofer comes in May.\n",
    "/memories/projects/shelf.md": "Oak, 180 by 30 cm, four brackets.\n",
    "/memories/todo.md": "- order bean poles\n- sharpen the spade\n",
}
PLAN = FILES["/memories/garden/plan.md"]


def plain() -> dict:
    return {"fg": None, "bold": False, "dim": False, "under": False, "reverse": False}


def runs(line: str, state: dict):
    """The pieces of a line of `capture-pane -e`: text, foreground, background, bold, underlined. The styles at the end of a
    line are those at the start of the next one."""
    for code, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
        if not text:
            numbers = [int(number or 0) for number in code.split(";")]
            while numbers:
                number = numbers.pop(0)
                if number == 0:
                    state.update(plain())
                elif number in (1, 2, 4, 7):
                    state[{1: "bold", 2: "dim", 4: "under", 7: "reverse"}[number]] = True
                elif number in (22, 24, 27):
                    for name in {22: ("bold", "dim"), 24: ("under",), 27: ("reverse",)}[number]:
                        state[name] = False
                elif 30 <= number <= 37:
                    state["fg"] = COLOURS[number - 30]
                elif number == 38 and numbers[:1] == [5]:
                    state["fg"] = COLOURS[numbers[1] % 8]
                    del numbers[:2]
                elif number == 39:
                    state["fg"] = None
            continue
        colour = state["fg"] or (DIM if state["dim"] else TEXT)
        ground = None
        if state["reverse"]:
            colour, ground = BACKGROUND, colour
        yield text, colour, ground, state["bold"], state["under"]


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def canvas(what: str, content: list[str], size: tuple[int, int] = (COLUMNS, ROWS), style: str = "") -> str:
    width, height = size[0] * CELL + 2 * MARGIN, size[1] * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(what)}">',
        style,
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{BACKGROUND}"/>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">',
    ]
    return "\n".join([part for part in parts if part] + content + ["</g>", "</svg>", ""])


def drawn(row: int, line: str, state: dict) -> list[str]:
    """The elements of a line of the screen."""
    parts, at = [], 0
    for text, colour, ground, bold, under in runs(line, state):
        x, y, length = MARGIN + at * CELL, MARGIN + row * LINE, columns(text) * CELL
        at += columns(text)
        if ground:
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{length:.1f}" height="{LINE}" fill="{ground}"/>')
        if text.strip():
            style = (' font-weight="bold"' if bold else "") + (' text-decoration="underline"' if under else "")
            parts.append(
                f'<text x="{x:.1f}" y="{y + 13}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs" fill="{colour}"{style}>{html.escape(text)}</text>'
            )
    return parts


def svg(screen: str, what: str) -> str:
    state = plain()
    lines = enumerate(screen.split("\n")[:ROWS])
    return canvas(what, [part for row, line in lines for part in drawn(row, line, state)])


def main() -> None:
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    with Terminal(program, COLUMNS, ROWS) as terminal:
        terminal.make_store(FILES)
        night = [PLAN.replace("Three beds", "Four beds").replace("- onions\n", "- leeks\n- onions\n"), None]
        night[1] = night[0].replace("dry by June", "dry by May") + "\n## Bed 4\n\n- pumpkins, if the compost is ready\n"
        for text in night:
            terminal.run("write", "--as", "night-agent", "/memories/garden/plan.md", text=text)
        terminal.run("unlock")
        terminal.browse("--as", "ada")

        def draw(name: str, what: str) -> None:
            with open(f"{folder}/{name}.svg", "w") as file:
                file.write(svg(terminal.screen("-e", "-N"), what))

        terminal.type("Down", "Right", "Right")
        terminal.shows("plan.md", "dry by May")
        terminal.type("/", "bean")
        terminal.shows("5 hits")
        terminal.type("Down", "Down")
        terminal.shows("litres")
        draw("search", "A search for the word bean: hits on the left, the text of the selected file on the right")
        terminal.type("Escape")
        terminal.shows("dry by May", "? help")
        terminal.type("v")
        terminal.shows("night-agent", "created")
        terminal.type("Enter")
        terminal.shows("+## Bed 4")
        draw("versions", "What the night-agent changed in the plan, as differences, beside the tree")


if __name__ == "__main__":
    main()
