"""The program that comes with the package, and stores that its key daemon holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAM, unix

import inmost
from inmost import errors

def test_the_program_is_native_and_of_this_version() -> None:
    assert PROGRAM.read_bytes()[:2] != b"#!"
    version = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
    assert version == f"inmost {inmost.__version__}\n"


def test_the_program_and_the_package_open_each_others_stores(tmp_path: Path) -> None:
    (tmp_path / "phrase").write_text("correct horse battery staple")
    with inmost.Store.create(tmp_path / "s", passphrase="correct horse battery staple") as store:
        store.files.write("/memories/a", "tea")
    command: list[str | Path] = [PROGRAM, "cat", "--store", tmp_path / "s", "--passphrase-file", tmp_path / "phrase", "/memories/a"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "tea"


@unix
def test_a_connection_needs_no_passphrase_and_leaves_the_agent_running(held: Path) -> None:
    with inmost.Store.connect(held, actor="host") as store:
        store.history.set(None)
        tool = store.memory_tool(subtree="/memories/x", screen="redact")
        create = {"command": "create", "path": "/memories/a", "file_text": "tea\n"}
        assert tool.call(create).content == "File created successfully at: /memories/a"
        assert store.files.read("/memories/x/a") == "tea\n"
        assert [entry.name for entry in store.files.walk()] == ["x", "a"]
        assert store.status().files == 1 and not store.is_locked()
        now = store.files.version("/memories/x/a")
        store.files.write_if("/memories/x/a", "coffee\n", now)
        with pytest.raises(errors.Changed):
            store.files.write_if("/memories/x/a", "milk\n", now)
    assert store.is_locked()
    with pytest.raises(errors.Locked):
        store.files.read("/memories/x/a")
    assert tool.call(create).content == "Error: Memory is locked."
    store.close()
    store.lock()  # a closed connection locks nothing
    with inmost.Store.connect(held) as store:
        assert store.files.read("/memories/x/a") == "coffee\n"
        assert store.memory_tool().clear().content == "All memory cleared"


@unix
def test_the_key_daemon_is_the_native_program(held: Path) -> None:
    with pytest.raises(errors.InUse) as raised:
        inmost.Store.open(held, raw_key=bytes(32))
    assert raised.value.process is not None and "key daemon" in raised.value.advice
    if sys.platform == "linux":
        assert os.path.samefile(f"/proc/{raised.value.process}/exe", PROGRAM)


@unix
def test_a_lock_locks_the_store_for_everyone(held: Path) -> None:
    with inmost.Store.connect(held) as store, inmost.Store.connect(held) as other:
        other.files.write("/memories/a", "tea")
        store.lock()
        assert store.is_locked() and other.is_locked()
        with pytest.raises(errors.Locked):
            other.files.read("/memories/a")
    with pytest.raises(errors.NoKeyDaemon) as raised:
        inmost.Store.connect(held)
    assert isinstance(raised.value, errors.KeyDaemon) and "inmost unlock" in raised.value.advice


@unix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_connects_for_itself(held: Path) -> None:
    def in_child(work: Callable[[], str]) -> str:
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                os.write(write, work().encode())
            except BaseException as error:
                os.write(write, type(error).__name__.encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        os.wait()
        return said

    def use_and_leave() -> str:
        try:
            return store.files.read("/memories/a")
        finally:
            store.close()
            store.lock()

    def connect() -> str:
        with inmost.Store.connect(held) as own:
            return own.files.read("/memories/a")

    with inmost.Store.connect(held) as store:
        store.files.write("/memories/a", "tea")
        assert in_child(use_and_leave) == "Forked"
        assert in_child(connect) == "tea"
        assert store.files.read("/memories/a") == "tea"


@unix
def test_the_mcp_server_of_the_program_uses_the_same_store(held: Path) -> None:
    with inmost.Store.connect(held) as store:
        store.files.write("/memories/a", "tea")
    messages: list[dict[str, object]] = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memory", "arguments": {"command": "view", "path": "/memories/a"}},
        },
    ]
    server = subprocess.run(
        [PROGRAM, "mcp", "--store", held],
        input="".join(f"{json.dumps(message)}\n" for message in messages),
        check=True,
        capture_output=True,
        text=True,
    )
    [reply] = [reply for line in server.stdout.splitlines() if (reply := json.loads(line)).get("id") == 2]
    assert reply["result"]["content"][0]["text"].endswith("     1\ttea")
