"""A store for a client, and the servers that are started for it."""

import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SESSION = json.loads((HERE / "session.json").read_text())
LOCKED = ("Error: Memory is locked. The user can unlock it with `inmost unlock`.", True)
UNAVAILABLE = ("Error: Memory is unavailable.", True)
PASSPHRASE = "correct horse"
# A server gets only the environment variables that it needs.
ENVIRONMENT = {"PATH": os.environ["PATH"]}


class Store:
    """A new store in a folder, with files for the right passphrase and for a wrong one."""

    def __init__(self, program: str, folder: str):
        self.program = program
        self.folder = Path(folder)
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700)
        self.environment = ENVIRONMENT | {"XDG_RUNTIME_DIR": str(runtime)}
        self.right = self._file("right", PASSPHRASE)
        self.wrong = self._file("wrong", "battery staple")
        cheap = ["--kdf-memory-mib", "19", "--kdf-passes", "2"]
        self._run("init", "--passphrase-file", self.right, *cheap)

    def block(self, *options: str) -> dict:
        """Returns the output of `inmost mcp --print-config` for a generic client."""
        return json.loads(self._run("mcp", *options, "--print-config", "generic"))

    def server(self, *options: str) -> dict:
        return self.block(*options)["mcpServers"]["inmost"]

    def unlock(self) -> None:
        """Starts a key daemon for the store."""
        self._run("unlock", *self.unlocked())

    def lock(self) -> None:
        self._run("lock")

    def unlocked(self) -> list[str]:
        return ["--passphrase-file", self.right]

    def _file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def _run(self, command: str, *options: str) -> str:
        args = [self.program, command, "--store", str(self.folder / "store"), *options]
        return subprocess.run(args, env=self.environment, check=True, capture_output=True, text=True).stdout


def check(what: str, told: object, expected: object) -> None:
    if told != expected:
        raise SystemExit(f"{what}\n  expected: {expected!r}\n  got:      {told!r}")


def check_tool(name: str, schema: dict) -> None:
    check("the tool", name, "memory")
    commands = schema["properties"]["command"]["enum"]
    check("its commands", commands, ["view", "create", "str_replace", "insert", "delete", "rename"])
    check("its required fields", schema["required"], ["command"])
