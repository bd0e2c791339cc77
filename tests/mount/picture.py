#!/usr/bin/env python3
"""Records as an animated picture how the memory of Claude Code is adopted, changed by Claude Code, and put right: types commands into
the real programs in tmux. A scripted model makes the calls.

Usage: picture.py CLIENTS PROGRAM FILE, where CLIENTS is the folder with the programs of the clients. Needs /dev/fuse.
"""

import json
import os
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "mcp"), str(TESTS / "browse")]

import scripted_model
from coding_clients import ClaudeCode
from recording import COLUMNS, ROWS, record
from tmux import Terminal

WHAT = "A terminal: the memory of Claude Code is adopted, Claude Code changes it, the change is shown and undone, and the store is locked"
MEMORY = {"MEMORY.md": "- [People](people.md): what they like\n", "people.md": "Ada prefers tea.\nGrace comes on Thursdays.\n"}
SESSION = [
    "cat memory/people.md",
    "inmost adopt claude-code --name claude --delete-plain",
    "claude -p 'Remember that Ada prefers coffee now.'",
    "cat memory/people.md",
    "inmost log",
    "inmost undo --by mount:claude --since 1h --yes",
    "cat memory/people.md",
    "inmost lock",
    "cat memory/people.md",
    "grep -rlaF Thursdays $INMOST_STORE || echo nothing readable",
]


def main() -> None:
    clients, program, file = map(os.path.abspath, sys.argv[1:])
    scripted_model.DONE = "I have noted that Ada prefers coffee."
    calls = []
    model = scripted_model.ScriptedModel(calls)
    path = f"{os.path.dirname(program)}:{clients}:{os.environ['PATH']}"
    environment = ClaudeCode.settings | {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    with Terminal(program, COLUMNS, ROWS, PATH=path, PAGER="cat", **environment) as terminal:
        home = Path(terminal.folder.name)
        note = {"file_path": str(home / "memory" / "people.md")}
        calls += [("Read", note), ("Edit", note | {"old_string": "tea", "new_string": "coffee"})]
        settings = home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"autoMemoryDirectory": "~/memory", "permissions": {"allow": ["Read", "Edit"]}}))
        (home / "memory").mkdir()
        for name, text in MEMORY.items():
            (home / "memory" / name).write_text(text)
        terminal.make_store({})
        terminal.run("unlock")
        record(terminal, SESSION, WHAT, file)
        terminal.run("unmount", str(home / "memory"))
    model.close()


main()
