"""Tests `inmost mcp` with the command line of the official inspector, started with the block of `--print-config`.

The inspector starts a server for each call, so each call reads the previous ones from disk.
"""

import json
import subprocess
import sys
import tempfile

from store import ENVIRONMENT, LOCKED, SESSION, UNAVAILABLE, Store, check, check_tool

# Otherwise it searches for a keychain and prints long messages about its absence.
QUIET = ENVIRONMENT | {"MCP_INSPECTOR_SECRET_STORE": "memory"}


class Inspector:
    def __init__(self, program: str, store: Store, options: list[str]):
        config = store.folder / "config.json"
        config.write_text(json.dumps(store.block(*options)))
        self.command = [program, "--cli", "--config", str(config), "--server", "inmost"]
        self.environment = QUIET | {"HOME": str(store.folder)}

    def run(self, *args: str) -> tuple[dict, str]:
        command = [*self.command, *args]
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if not ended.stdout:
            raise SystemExit(f"{args}: code {ended.returncode}\n{ended.stderr}")
        return json.loads(ended.stdout), ended.stderr

    def call(self, arguments: dict) -> tuple[tuple[str, bool], str]:
        args = ["--method", "tools/call", "--tool-name", "memory"]
        for name, value in arguments.items():
            args += ["--tool-arg", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        result, errors = self.run(*args)
        (block,) = result["content"]
        return (block["text"], result["isError"]), errors


def main() -> None:
    inspector, inmost = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(inmost, folder)
        client = Inspector(inspector, store, store.unlocked())
        listed, _ = client.run("--method", "tools/list", "--strict")
        (tool,) = listed["tools"]
        check_tool(tool["name"], tool["inputSchema"])
        for arguments, text, is_error in SESSION:
            check(str(arguments), client.call(arguments)[0], (text, is_error))
        print(f"inspector: {len(SESSION)} calls returned the expected results")
        for options, expected, reason in [
            ([], LOCKED, "cannot ask for one"),
            (["--passphrase-file", store.wrong], UNAVAILABLE, "The passphrase is wrong"),
        ]:
            told, errors = Inspector(inspector, store, options).call({"command": "view", "path": "/memories"})
            check("a store that does not open", told, expected)
            check(f"the reason: {errors}", errors.count(reason), 1)
        print("inspector: memory is locked without a passphrase, and unavailable with a wrong one")


main()
