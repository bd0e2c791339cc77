#!/usr/bin/env python3
"""Records an agent's change and its undoing as an animated picture: types commands into the real program in tmux.

Usage: recording.py PROGRAM FILE
"""

import os
import sys

from pictures import canvas, drawn, plain
from tmux import Terminal

COLUMNS, ROWS = 112, 60
WHAT = "A terminal: a note is written, an agent changes it, and the change is shown and undone"
CALL = '{"command": "str_replace", "path": "/memories/people/ada.md", "old_str": "tea", "new_str": "coffee"}'
# What is typed.
SESSION = [
    "inmost init",
    "inmost unlock",
    "echo 'Ada prefers tea.' | inmost write people/ada.md",
    f"inmost call --as night-agent '{CALL}' >answer",
    "inmost log",
    "inmost diff people/ada.md",
    "inmost undo --by night-agent --since 12h --yes",
    "inmost grep -i tea",
    "inmost lock",
    "grep -rlaF prefers $INMOST_STORE || echo nothing readable",
]
# A line appears at its time and stays. Who wants no motion sees the end.
STYLE = "<style>.l{opacity:0;animation:a 1ms forwards}@keyframes a{to{opacity:1}}@media(prefers-reduced-motion:reduce){.l{animation:none;opacity:1}}</style>"


def lines_of(screen: str) -> list[str]:
    return screen.rstrip("\n").split("\n")


def record(terminal: Terminal, session: list[str], what: str, file: str) -> None:
    """Types commands, and draws what the terminal showed."""
    terminal.type("cd; umask 077; clear", "Enter")
    terminal.until(lambda screen: screen.strip() == "$", "prompt")
    # The time of each line of the screen, in seconds.
    times, now = [0.0], 0.0
    for command in session:
        now += 1.0
        before = len(lines_of(terminal.screen()))
        terminal.tmux("send-keys", "-l", command)
        terminal.type("Enter")
        screen = terminal.until(
            lambda screen, before=before: len(lines_of(screen)) > before and lines_of(screen)[-1] == "$", "prompt"
        )
        # A long command has several lines.
        typed = 1 + (len(command) + 1) // COLUMNS
        times[before - 1 :] = [now] * typed
        now += 0.03 * len(command) + 0.4
        times += [now] * (len(lines_of(screen)) - len(times))
    state, content = plain(), []
    shown = terminal.screen("-e", "-N").split("\n")[: len(times)]
    for row, (line, time) in enumerate(zip(shown, times, strict=True)):
        line = line.replace(terminal.folder.name, "~")
        content.append(f'<g class="l" style="animation-delay:{time:.1f}s">')
        content += drawn(row, line, state) + ["</g>"]
    with open(file, "w") as out:
        out.write(canvas(what, content, (COLUMNS, len(times)), STYLE))


def main() -> None:
    program, file = os.path.abspath(sys.argv[1]), sys.argv[2]
    path = f"{os.path.dirname(program)}:{os.environ['PATH']}"
    with Terminal(program, COLUMNS, ROWS, PATH=path, PAGER="cat") as terminal:
        record(terminal, SESSION, WHAT, file)


if __name__ == "__main__":
    main()
