"""Tests `inmost mcp` with the official Python client, in both protocol generations that it supports."""

import asyncio
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client, ClientSession, MCPError, StdioServerParameters, stdio_client

from store import ENVIRONMENT, LOCKED, SESSION, UNAVAILABLE, Store, check, check_tool


@asynccontextmanager
async def session_with_handshake(server: StdioServerParameters, errors: Path):
    """Connects with protocol 2025-11-25."""
    with errors.open("w") as log:
        async with stdio_client(server, errlog=log) as (read, write), ClientSession(read, write) as session:
            hello = await session.initialize()
            check("the server", hello.server_info.name, "inmost")
            check("instructions", "view /memories" in hello.instructions, True)
            yield session


@asynccontextmanager
async def session_without_handshake(server: StdioServerParameters, errors: Path):
    """Connects with the newest protocol that both sides support."""
    with errors.open("w") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            check("the server", client.server_info.name, "inmost")
            yield client


def parameters(server: dict) -> StdioServerParameters:
    env = ENVIRONMENT | server["env"]
    return StdioServerParameters(command=server["command"], args=server["args"], env=env)


async def call(client, arguments: dict) -> tuple[str, bool]:
    result = await client.call_tool("memory", arguments)
    check("content blocks", [block.type for block in result.content], ["text"])
    return result.content[0].text, result.is_error


async def all_commands(store: Store, connect) -> None:
    errors = store.folder / "errors"
    async with connect(parameters(store.server(*store.unlocked())), errors) as client:
        (tool,) = (await client.list_tools()).tools
        check_tool(tool.name, tool.input_schema)
        for arguments, text, is_error in SESSION:
            check(str(arguments), await call(client, arguments), (text, is_error))
        try:
            await client.call_tool("shell", {})
        except MCPError as error:
            check("an unknown tool", str(error), "Unknown tool: shell")
        else:
            raise SystemExit("an unknown tool was called")
    check("standard error", errors.read_text(), "")


async def refused(store: Store, options: list[str], expected: tuple[str, bool], reason: str) -> None:
    errors = store.folder / "errors"
    async with session_with_handshake(parameters(store.server(*options)), errors) as client:
        check("tools without a store", len((await client.list_tools()).tools), 1)
        for _ in range(3):
            check("a store that does not open", await call(client, VIEW), expected)
    told = errors.read_text()
    check(f"lines on standard error: {told}", len(told.splitlines()), 2)
    check(f"the reason: {told}", reason in told, True)


VIEW = {"command": "view", "path": "/memories"}
EMPTY = (SESSION[0][1], False)


async def with_key_daemon(store: Store) -> None:
    """Tests two servers without a passphrase on one store, with a key daemon and after the daemon has ended."""
    one, other = store.folder / "one", store.folder / "other"
    async with (
        session_with_handshake(parameters(store.server("--subtree", "/memories/x")), one) as first,
        session_without_handshake(parameters(store.server("--subtree", "/memories/y")), other) as second,
    ):
        check("before it is unlocked", await call(first, VIEW), LOCKED)
        store.unlock()
        try:
            check("after", await call(first, VIEW), EMPTY)
            create = {"command": "create", "path": "/memories/a", "file_text": "1"}
            created = ("File created successfully at: /memories/a", False)
            told = await asyncio.gather(call(first, create), call(second, create))
            check("two servers at once", told, [created, created])
            store.lock()
            for client in (first, second):
                check("a store locked in mid-session", await call(client, VIEW), LOCKED)
            store.unlock()
            for client in (first, second):
                listing = EMPTY[0].replace("0B", "1B") + "\n1B\t/memories/a"
                check("unlocked again", await call(client, VIEW), (listing, False))
        finally:
            store.lock()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(sys.argv[1], folder)
        for connect in (session_with_handshake, session_without_handshake):
            await all_commands(store, connect)
            print(f"{connect.__name__}: {len(SESSION)} calls returned the expected results")
        await with_key_daemon(store)
        print("key daemon: two servers at once, a store locked during a session and unlocked again")
        await refused(store, [], LOCKED, "cannot ask for one")
        print("locked store: memory is locked, and the reason is reported once")
        await refused(store, ["--passphrase-file", store.wrong], UNAVAILABLE, "The passphrase is wrong")
        print("wrong passphrase: memory is unavailable, and the reason is reported once")


if __name__ == "__main__":
    asyncio.run(main())
