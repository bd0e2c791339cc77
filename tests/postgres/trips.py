"""Counts the round trips of the program's commands: trips.py PROGRAM. Run by with_server.py. Prints a table.

A vault has FILES files of one line in FOLDERS folders. Each command is a process of its own, so it also opens and unlocks the vault. A
proxy counts what the server is asked after the login. The bounds are for this vault: work on everything goes in pages.
"""

import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from program import VAULT, Program
from protocol import Ask, Message, Proxy, packed

FILES, FOLDERS = 1_000, 20
# Each command, its round trips at most, and what it reads from standard input. `{folder}` is a new name on the disk, and
# `{secret}` and `{other}` hold passphrases.
COMMANDS: list[tuple[str, int, str | None]] = [
    ("status", 14, None),
    ("ls folder-3", 9, None),
    ("ls", 12, None),
    ("cat folder-3/note-3.md", 10, None),
    ("write folder-3/new.md", 11, "new\n"),
    ("mv folder-3/new.md folder-4/new.md", 12, None),
    ("rm folder-4/new.md", 16, None),
    ("grep nowhere", 20, None),
    ("stats", 13, None),
    ("log", 11, None),
    ("show 128", 13, None),
    ("diff 128", 13, None),
    ("history", 13, None),
    ("slot add --new-passphrase-file {other} --kdf-memory-mib 19 --kdf-passes 2", 12, None),
    ("slot remove 1 --yes", 12, None),
    ("passwd --new-passphrase-file {secret} --kdf-memory-mib 19 --kdf-passes 2", 12, None),
    ("slot list", 6, None),
    ("check", 70, None),
    ("export {folder} --yes", 30, None),
    ("backup {folder}", 32, None),
    ("import {source}", 55, None),
    ("edit folder-7/note-7.md", 12, None),
    ("undo folder-5/note-5.md --since 1h --yes", 16, None),
    ("restore 128", 20, None),
    ("call --keep-going", 16, '{"command": "view", "path": "/memories"}\n{"command": "delete", "path": "/memories/folder-8/note-8.md"}\n'),
    ("forget folder-6/note-6.md --yes", 16, None),
    ("compact", 140, None),
    ("purge --yes", 140, None),
    ("rotate --yes", 140, None),
    ("migrate --to {folder}", 60, None),
    ("accept-rollback --yes", 12, None),
]


class Counter:
    """A proxy that counts the groups of messages that the server replies to."""

    def __init__(self, url: str):
        parts = urlsplit(url)
        self.count = 0
        proxy = Proxy(parts.port, self.answer)
        self.url = url.replace(f":{parts.port}/", f":{proxy.port}/")

    def answer(self, group: list[Message], ask: Ask) -> bytes:
        self.count += 1
        return packed(ask(group))


def main() -> None:
    counter = Counter(os.environ["INMOST_TEST_POSTGRES"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "source"
        for number in range(FILES):
            file = source / f"folder-{number % FOLDERS}" / f"note-{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"note {number}\n")
        program = Program(sys.argv[1], folder)
        store = ["--store", f"{counter.url}?vault={VAULT}"]
        program.run("init", *store, "--kdf-memory-mib", "19", "--kdf-passes", "2")
        program.run("import", str(source), *store)
        other = folder / "other"
        other.write_text("staple battery horse correct")
        other.chmod(0o600)
        late = []
        print("| command | round trips | at most |\n|---|---|---|")
        for place, (command, bound, given) in enumerate(COMMANDS):
            before = counter.count
            words = command.format(folder=folder / f"new-{place}", source=source, secret=program.secret, other=other).split()
            program.run(*words, *store, given=given, exit_code=1 if words[0] == "grep" else 0,
                        EDITOR="sed -i s/note/word/", VISUAL="")
            made = counter.count - before
            print(f"| `{command.partition(' -')[0]}` | {made} | {bound} |", flush=True)
            if made > bound:
                late.append(command)
        program.run("destroy", "--yes", *store, unlocked=True)
        if late:
            sys.exit(f"more round trips than allowed: {late}")


main()
