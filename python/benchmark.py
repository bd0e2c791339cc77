"""Compares the package with the folder backend of the SDK, both in this process and in turns.

    pip install './python[anthropic]'
    python python/benchmark.py [FOLDER]

FOLDER must be on a disk, because durable edits are measured. Both tools get the same calls: a view of a file of 2 KiB, and an
edit that replaces one line of it. `tool_runner` passes the input of a call as a dict; an application can also pass a command
that the SDK has parsed. An edit of ours is on disk when it returns; the SDK's tool syncs the file and
not its folder. Build with the default profile, `release`, on an idle machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from anthropic.tools import BetaLocalFilesystemMemoryTool
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand as View

import inmost
from inmost.anthropic import MemoryTool

TURNS, CALLS = 30, 50
PATH = "/memories/notes.md"
TEXT = "".join(f"Line {number:02}: what there is to remember of it\n" for number in range(45))[:2047] + "\n"
MARKS = ["Line 20: what", "Line 20: whom"]

Tool = MemoryTool | BetaLocalFilesystemMemoryTool


def view(tool: Tool, _number: int) -> None:
    tool.call({"command": "view", "path": PATH})


def parsed_view(tool: Tool, _number: int) -> None:
    tool.view(View(command="view", path=PATH))


def edit(tool: Tool, number: int) -> None:
    old, new = MARKS[number % 2], MARKS[1 - number % 2]
    tool.call({"command": "str_replace", "path": PATH, "old_str": old, "new_str": new})


def measure(work: Callable[[Tool, int], None], tools: list[Tool]) -> list[float]:
    """The median time of a call of each tool, in microseconds."""
    times: list[list[float]] = [[] for _ in tools]
    for turn in range(TURNS):
        for tool, spent in zip(tools, times, strict=True):
            start = time.perf_counter()
            for number in range(CALLS):
                work(tool, number)
            if turn:  # the first turn warms up
                spent.append((time.perf_counter() - start) / CALLS * 1e6)
    return [median(spent) for spent in times]


def main() -> None:
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        with inmost.Store.create(Path(folder) / "store", raw_key=os.urandom(32)) as store:
            tools: list[Tool] = [MemoryTool(store), BetaLocalFilesystemMemoryTool(folder)]
            for tool in tools:
                tool.call({"command": "create", "path": PATH, "file_text": TEXT})
            print("| call | inmost | SDK's folder | ratio |\n|---|---|---|---|")
            for name, work in (
                ("view of 2 KiB", view),
                ("view of 2 KiB, a parsed command", parsed_view),
                ("durable edit", edit),
            ):
                ours, theirs = measure(work, tools)
                print(f"| {name} | {ours:.1f} us | {theirs:.0f} us | {theirs / ours:.1f} |")


main()
