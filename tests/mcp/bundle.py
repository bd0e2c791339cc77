"""Tests the bundle for Claude Desktop: installs it as the manifest says, and calls the tool of its server."""

import asyncio
import json
import sys
import tempfile
import zipfile
from pathlib import Path

from mcp import StdioServerParameters

from python_client import call, session_with_handshake
from store import LOCKED, SESSION, Store, check


def server_of(bundle: str, folder: Path, store: Store) -> StdioServerParameters:
    """Unpacks the bundle, and replaces the variables of its manifest as Claude Desktop does."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
        for member in archive.infolist():
            (folder / member.filename).chmod(member.external_attr >> 16 & 0o777 or 0o644)
    manifest = json.loads((folder / "manifest.json").read_text())
    check("the tools of the manifest", [tool["name"] for tool in manifest["tools"]], ["memory"])
    values = {"${__dirname}": str(folder), "${user_config.store}": str(store.folder / "store")}

    def filled(text: str) -> str:
        for variable, value in values.items():
            text = text.replace(variable, value)
        return text

    config = manifest["server"]["mcp_config"]
    command, args = filled(config["command"]), [filled(arg) for arg in config["args"]]
    return StdioServerParameters(command=command, args=args, env=store.environment)


async def test(server: StdioServerParameters, store: Store) -> None:
    arguments, text, is_error = SESSION[0]
    async with session_with_handshake(server, store.folder / "errors") as client:
        check("a locked store", await call(client, arguments), LOCKED)
        store.unlock()
        check("an unlocked store", await call(client, arguments), (text, is_error))
        store.lock()


def main() -> None:
    bundle, inmost = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(inmost, folder)
        asyncio.run(test(server_of(bundle, Path(folder) / "installed", store), store))
    print("bundle: its server returns the expected results, locked and unlocked")


main()
