"""The files of Agno: its own `FileSystem` on the backend, and its own backend on a folder for comparison."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from agno.agent import Agent
from agno.fs import FileSystem
from agno.fs.base import BaseFS
from agno.fs.errors import FileSystemError, InvalidPathError, QuotaExceededError, VersionConflictError
from agno.fs.local import LocalFileSystem
from agno.models.anthropic import Claude
from scripted import Block, ScriptedServer, call_of, text

import inmost
from inmost import errors
from inmost.agno import InmostFS

FILE = "garden/tea.md"
CALLS: list[tuple[Block, str]] = [
    (call_of("write_file", "t1", path=FILE, content="Green tea.\n"), f"Wrote 11 bytes to {FILE}"),
    (call_of("append_file", "t2", path=FILE, content="Mint."), "now 17 bytes"),
    (call_of("replace_lines", "t3", path=FILE, start_line=1, end_line=1, content="Black tea."), "Replaced lines 1-1"),
    (call_of("read_file", "t4", path=FILE), "     1\tBlack tea.\n     2\tMint."),
    (call_of("search_content", "t5", query="mint"), '"line": 2'),
    (call_of("list_files", "t6", recursive=True), FILE),
    (call_of("move_file", "t7", src=FILE, dst="b.md"), "b.md"),
    (call_of("read_file", "t8", path=FILE), "Error: file not found"),
    (call_of("write_file", "t9", path="../x", content=""), "Error: invalid path"),
    (call_of("delete_file", "t10", path="b.md"), "b.md"),
]


def run(server: ScriptedServer, backend: InmostFS) -> list[str]:
    """Runs an agent, and returns what the model read."""
    model = Claude(id="scripted", api_key="none", client_params={"base_url": server.url, "max_retries": 0})
    files = FileSystem(backend=backend, namespace="notes", allow_delete=True)
    assert Agent(model=model, filesystem=files, telemetry=False).run("Go.").content == "Done."
    blocks = [block for message in server.requests[-1]["messages"] for block in message["content"]]
    return [block["content"] for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]


@pytest.mark.filterwarnings("ignore")
def test_an_agent_keeps_its_files(store: inmost.Store) -> None:
    with ScriptedServer([*([call] for call, _ in CALLS), [text("Done.")]]) as server:
        said = run(server, InmostFS(store))
    for (call, expected), result in zip(CALLS, said, strict=True):
        assert expected in result, call
    assert list(store.files.walk()) == []


@pytest.mark.filterwarnings("ignore")
def test_a_lock_in_the_middle_is_the_applications_error(store: inmost.Store) -> None:
    reported: list[inmost.StoreError] = []
    with ScriptedServer([*([call] for call, _ in CALLS[:7]), [text("Done.")]]) as server:
        server.on_request = lambda number: store.lock() if number == 1 else None
        said = run(server, InmostFS(store, on_store_error=reported.append))
    assert CALLS[0][1] in said[0]
    assert said[1:] == ["Error: Memory is unavailable."] * 6
    assert [type(error) for error in reported] == [errors.Locked] * len(reported) and len(reported) >= 6


def test_it_does_what_the_backend_of_the_framework_does(store: inmost.Store, tmp_path: Path) -> None:
    chosen, successes = random.Random(3), 0
    backends: list[BaseFS] = [InmostFS(store, folder="/memories/x"), LocalFileSystem(tmp_path)]
    for step in range(500):
        path, other = chosen.choices(["a.md", "b/a.md", "b/c/d.md", "e.md"], k=2)
        namespace, user, folder = chosen.choice(["n", "n/m"]), chosen.choice(["", "Ada", "a/b"]), chosen.choice(["", "b", "b/c", "none"])
        content = "\n".join(chosen.choices(["tea", "green tea", "coffee", ""], k=3))
        operations: list[Callable[[BaseFS], Any]] = [
            lambda fs: fs.write(namespace, path, content, user_id=user),
            lambda fs: fs.append(namespace, path, content, max_file_bytes=60, user_id=user),
            lambda fs: fs.read(namespace, path, user_id=user),
            lambda fs: fs.read_with_meta(namespace, path, user_id=user),
            lambda fs: fs.list(namespace, folder, user_id=user),
            lambda fs: fs.delete(namespace, path, user_id=user),
            lambda fs: fs.move(namespace, path, other, overwrite=step % 2 == 0, user_id=user),
            lambda fs: fs.search(namespace, "tea", folder, user_id=user),
            lambda fs: sorted(fs.contains(namespace, ["tea", "none"], folder, user_id=user)),
            lambda fs: fs.usage(namespace, user_id=user),
            lambda fs: sorted(fs.partitions(namespace)),
        ]
        operation = chosen.choice(operations)
        ends = [end(operation, backend) for backend in backends]
        if operations.index(operation) == 10:
            # A store has no empty folders.
            ends[1] = [user for user in ends[1] if backends[1].list(namespace, user_id=user)]
        assert ends[0] == ends[1], (step, operations.index(operation), namespace, path, other, user)
        successes += not isinstance(ends[0], type)
    assert successes > 250


def end(operation: Callable[[BaseFS], Any], backend: BaseFS) -> Any:
    try:
        result = operation(backend)
    except (FileSystemError, FileNotFoundError, FileExistsError) as error:
        return type(error)
    return plain(result)


def plain(result: Any) -> Any:
    """A result without versions and times, which only one of the two has."""
    if isinstance(result, list):
        return sorted((plain(item) for item in result), key=str)
    if not hasattr(result, "__dataclass_fields__"):
        return result
    fields = asdict(result)
    for part in (fields, fields.get("metadata") or {}):
        for name in ("version", "updated_at"):
            part.pop(name, None)
    return fields


def test_a_write_is_conditional_on_the_version(store: inmost.Store) -> None:
    files = FileSystem(backend=InmostFS(store), namespace="notes")
    first = files.write("a.md", "tea", expected_version=0)
    with pytest.raises(VersionConflictError):
        files.write("a.md", "coffee", expected_version=0)
    second = files.write("a.md", "coffee", expected_version=first.version)
    with pytest.raises(VersionConflictError) as raised:
        files.delete("a.md", expected_version=first.version)
    assert raised.value.actual == second.version
    assert files.read("a.md") == "coffee" and files.delete("a.md", expected_version=second.version)


def test_a_move_that_fails_replaces_nothing(store: inmost.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = InmostFS(store, on_store_error=lambda _: None)
    backend.write("n", "a.md", "tea")
    backend.write("n", "b.md", "coffee")

    class Failing:
        """The files of a store that fails at a move."""

        def __getattr__(self, name: str) -> Any:
            if name in ("rename_if", "replace_if"):
                raise errors.Locked
            return getattr(store.files, name)

    with monkeypatch.context() as patch:
        patch.setattr(backend, "_files", Failing())
        with pytest.raises(FileSystemError):
            backend.move("n", "a.md", "b.md", overwrite=True)
    assert (backend.read("n", "a.md"), backend.read("n", "b.md")) == ("tea", "coffee")
    assert backend.move("n", "a.md", "b.md", overwrite=True).size_bytes == 3
    assert (backend.read("n", "a.md"), backend.read("n", "b.md")) == (None, "tea")


def test_no_line_of_eight_threads_is_lost(store: inmost.Store) -> None:
    fs = InmostFS(store)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: fs.append("log", "log.md", f"line {n}"), range(80)))
    text = fs.read("log", "log.md")
    assert text is not None and sorted(text.splitlines()) == sorted(f"line {n}" for n in range(80))


def test_a_quota_of_the_store_is_one_of_the_framework() -> None:
    with inmost.Store.in_memory(max_file_bytes=10) as store, pytest.raises(QuotaExceededError):
        InmostFS(store).write("n", "a.md", "x" * 11)


def test_a_folder_is_no_file(store: inmost.Store) -> None:
    backend = InmostFS(store)
    backend.write("n", "notes/a.md", "tea")
    backend.write("n", "b.md", "coffee")
    changes: list[Callable[[], object]] = [
        lambda: backend.write("n", "notes", "x"),
        lambda: backend.append("n", "notes", "x"),
    ]
    for change in changes:
        with pytest.raises(InvalidPathError, match="the path is a folder: notes"):
            change()
    with pytest.raises(FileExistsError, match="notes"):
        backend.move("n", "b.md", "notes", overwrite=True)
    assert backend.read("n", "b.md") == "coffee"
