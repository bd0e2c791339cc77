#!/usr/bin/env python3
"""Adopts the memories of real coding clients, lets the clients read and write them through the mount, looks for texts of the memory
in everything that the clients leave elsewhere, and takes the memories out again. docs/MOUNT.md names these places.

Arguments: the folder with the programs of the clients, and the program `inmost`. Needs /dev/fuse; leaves nothing mounted."""

import os
import sys
import tempfile
import time
import zlib
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mcp"))

from coding_clients import ClaudeCode, Client, Codex, GeminiCli
from scripted_model import DONE, ScriptedModel
from store import Store, check

# Invented words, each in one place of the memory: in a file that no conversation reads, in what the client takes in at its start, in
# a file that the model reads, and in what the model writes by the client's tools and by a shell.
UNREAD, START, READ, WRITTEN, SHELL = WORDS = [f"zq{word}{os.getpid()}" for word in ["unread", "start", "read", "written", "shell"]]
FACT, OTHER, ITEM = f"A fact: {READ}.\n", f"Another: {WRITTEN}.\n", f"- {SHELL}\n"
BEFORE = {"read.md": FACT, "log.md": "- tea\n", "unread.md": f"Something: {UNREAD}.\n"}
NAME = "adopted"
ROOT = f"/memories/{NAME}"


class Adopted(Client):
    """A client whose memory is adopted."""

    # The argument of `inmost adopt`.
    argument: list[str]
    # The file that the client takes in at its start.
    start: str
    # The actor of changes by its tools.
    actor: str
    # The places outside the memory that have texts of it after a conversation, as globs below the home folder.
    plain: list[str]
    # Options of a conversation after which no place has any.
    without_transcript: list[str] | None = None

    def memory(self) -> Path:
        """The folder that is adopted."""
        raise NotImplementedError

    def shell(self, command: str) -> tuple[str, dict]:
        """The call that runs a command."""
        raise NotImplementedError

    def calls(self, new: str) -> list[tuple[str, dict | str]]:
        """Reads `read.md`, adds a line to it, and writes a new file."""
        raise NotImplementedError

    def converse(self, calls: list[tuple[str, dict | str]], *options: str) -> ScriptedModel:
        """One conversation in which the model makes these calls."""
        model = ScriptedModel(calls)
        before, self.options = self.options, [*self.options, *options]
        try:
            check("the last message", self.ask(model.url).strip(), DONE)
        finally:
            model.close()
            self.options = before
        check(f"which of these are errors: {model.results}", [is_error for _, is_error in model.results], [False] * len(calls))
        return model

    def use_memory(self, before: dict[str, str], new: str, *options: str) -> dict[str, str]:
        """One conversation that reads and writes the memory. Returns the files of the memory."""
        append = self.shell(f"echo '{ITEM.strip()}' >> {self.memory()}/log.md")
        model = self.converse([*self.calls(new), append], *options)
        check("what the client took in", any(START in request for request in model.requests), True)
        check("what the model read", READ in model.results[0][0], True)
        after = before | {"read.md": before["read.md"] + OTHER, "log.md": before["log.md"] + ITEM, new: OTHER}
        for name, text in after.items():
            check(name, self.inmost("cat", f"{ROOT}/{name}"), text)
        for name, actor in {"read.md": self.actor, new: self.actor, "log.md": "mount:bash"}.items():
            check(f"the actor of {name}", actor in self.inmost("log", f"{ROOT}/{name}"), True)
        return after

    def inmost(self, command: str, *arguments: str) -> str:
        return self.run(self.store.program, command, "--store", str(self.store.folder / "store"), *arguments)

    def left(self, since: float) -> dict[str, list[str]]:
        """The files outside the mount that were changed since then and have texts of the memory."""
        found = {}
        # The store, the home folder and the folder for temporary files are in the first one.
        for root in {tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"}:
            for place, folders, names in os.walk(root):
                folders[:] = [name for name in folders if not os.path.ismount(f"{place}/{name}")]
                for path in (Path(place) / name for name in names):
                    try:
                        if path.is_symlink() or not path.is_file() or path.stat().st_mtime < since:
                            continue
                        words = words_in(path.read_bytes())
                    except OSError:
                        # Files of others come and go.
                        continue
                    if words:
                        found[os.path.relpath(path, self.folder)] = words
        return found


def words_in(content: bytes) -> list[str]:
    """The invented words in a file, also if it is an object of Git."""
    try:
        content += zlib.decompress(content)
    except zlib.error:
        pass
    return [word for word in WORDS if word.encode() in content]


class AdoptedClaudeCode(Adopted, ClaudeCode):
    argument = ["claude-code"]
    start = "MEMORY.md"
    actor = "mount:claude"
    options = ["--allowedTools", "Read,Write,Edit,Bash"]
    # As the interactive program does, this keeps the former texts of files that its tools change.
    settings = ClaudeCode.settings | {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
    plain = [".claude/projects/*/*.jsonl", ".claude/file-history/*"]
    without_transcript = ["--no-session-persistence"]

    def memory(self) -> Path:
        key = "".join(char if char.isascii() and char.isalnum() else "-" for char in str(self.project.resolve()))
        return self.folder / ".claude" / "projects" / key / "memory"

    def shell(self, command: str) -> tuple[str, dict]:
        return "Bash", {"command": command, "description": "A command"}

    def calls(self, new: str) -> list[tuple[str, dict | str]]:
        file = {"file_path": f"{self.memory()}/read.md"}
        return [
            ("Read", file),
            ("Edit", file | {"old_string": FACT, "new_string": FACT + OTHER}),
            ("Write", {"file_path": f"{self.memory()}/{new}", "content": OTHER}),
        ]


class AdoptedCodex(Adopted, Codex):
    argument = ["codex"]
    start = "memory_summary.md"
    actor = "mount:codex"
    options = ["--enable", "memories"]
    plain = [".codex/sessions/*.jsonl", ".codex/*.sqlite", ".codex/*.sqlite-wal"]
    without_transcript = ["--ephemeral"]

    def memory(self) -> Path:
        return self.folder / ".codex" / "memories_v2"

    def shell(self, command: str) -> tuple[str, dict]:
        return "exec_command", {"cmd": command}

    def calls(self, new: str) -> list[tuple[str, dict | str]]:
        change = f"*** Update File: {self.memory()}/read.md\n@@\n {FACT}+{OTHER}"
        add = f"*** Add File: {self.memory()}/{new}\n+{OTHER}"
        patches = [("apply_patch", f"*** Begin Patch\n{hunk}*** End Patch\n") for hunk in [change, add]]
        return [self.shell(f"cat {self.memory()}/read.md"), *patches]


class AdoptedGeminiCli(Adopted, GeminiCli):
    argument = ["gemini", "."]
    start = "MEMORY.md"
    actor = "mount:node"
    plain = [".gemini/tmp/*/chats/*"]

    def memory(self) -> Path:
        return self.folder / ".gemini" / "tmp" / "project" / "memory"

    def shell(self, command: str) -> tuple[str, dict]:
        return "run_shell_command", {"command": command}

    def calls(self, new: str) -> list[tuple[str, dict | str]]:
        file = {"file_path": f"{self.memory()}/read.md"}
        return [
            ("read_file", file),
            ("replace", file | {"instruction": "Add it.", "old_string": FACT, "new_string": FACT + OTHER}),
            ("write_file", {"file_path": f"{self.memory()}/{new}", "content": OTHER}),
        ]


def test(client: Adopted) -> None:
    memory, since = client.memory(), time.time()
    # Gemini CLI makes the identifier of the project at its first start.
    client.converse([client.shell("true")])
    memory.mkdir(parents=True, exist_ok=True)
    files = BEFORE | {client.start: f"v1\n# Index\n\n- [The start](read.md): {START}.\n"}
    for name, text in files.items():
        (memory / name).write_text(text)
    client.store.unlock()
    client.inmost("adopt", "--dry-run", "--name", NAME, *client.argument)
    check("a mount after --dry-run", os.path.ismount(memory), False)
    client.inmost("adopt", "--delete-plain", "--name", NAME, *client.argument)
    check("a mount", os.path.ismount(memory), True)
    if client.without_transcript:
        files = client.use_memory(files, "new-1.md", *client.without_transcript)
        check("what is in plain files", client.left(since), {})
        print(f"{client.name} {' '.join(client.without_transcript)}: no text of the memory is outside the mount")
    files = client.use_memory(files, "new-2.md")
    check_left(client, since)
    client.inmost("adopt", "--undo", *client.argument)
    check("a mount after --undo", os.path.ismount(memory), False)
    for name, text in files.items():
        check(f"{name} after --undo", (memory / name).read_text(), text)


def test_shared(client: AdoptedGeminiCli) -> None:
    """The one file that all projects of Gemini CLI share becomes a link into the mount."""
    client.memory = lambda: client.folder / ".gemini" / "inmost"
    file, since = client.folder / ".gemini" / "GEMINI.md", time.time()
    file.write_text(f"{START}\n{FACT}")
    client.store.unlock()
    client.inmost("adopt", "--delete-plain", "--name", NAME, "gemini")
    path = {"file_path": str(file)}
    change = {"instruction": "Add it.", "old_string": FACT, "new_string": FACT + OTHER}
    append = client.shell(f"echo '{ITEM.strip()}' >> {file}")
    # Its `read_file` refuses links that lead out of the project.
    model = client.converse([client.shell(f"cat {file}"), ("replace", path | change), append])
    check("what the client took in", START in model.requests[0], True)
    check("what the model read", READ in model.results[0][0], True)
    text = f"{START}\n{FACT}{OTHER}{ITEM}"
    check("the file", client.inmost("cat", f"{ROOT}/GEMINI.md"), text)
    check("a link", file.is_symlink(), True)
    check_left(client, since)
    client.inmost("adopt", "--undo", "gemini")
    check("the file after --undo", (file.is_symlink(), file.read_text()), (False, text))


def check_left(client: Adopted, since: float) -> None:
    """Texts of the memory are only in places that docs/MOUNT.md names, and only what was part of a conversation."""
    left = client.left(since)
    unknown = [place for place in left if not any(fnmatch(place, glob) for glob in client.plain)]
    check(f"places that docs/MOUNT.md does not name, of {left}", unknown, [])
    check("places of a text that no conversation has read", [place for place in left if UNREAD in left[place]], [])
    print(f"{client.name}: what was said is in plain files only in {', '.join(client.plain)}: {len(left)}")


def main() -> None:
    binaries, inmost = map(os.path.abspath, sys.argv[1:])
    for kind, program, run in [
        (AdoptedClaudeCode, "claude", test),
        (AdoptedCodex, "codex", test),
        (AdoptedGeminiCli, "gemini", test),
        (AdoptedGeminiCli, "gemini", test_shared),
    ]:
        with tempfile.TemporaryDirectory(prefix="inmost-clients.") as folder:
            client = kind(Path(binaries) / program, Store(inmost, folder))
            temporary = client.store.folder / "temporary"
            temporary.mkdir()
            client.environment["TMPDIR"] = str(temporary)
            try:
                run(client)
            finally:
                if os.path.ismount(client.memory()):
                    client.inmost("unmount", "--force", str(client.memory()))
                client.store.lock()


main()
