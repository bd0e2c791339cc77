"""The backend for deep agents, with an agent of the framework against the scripted server, and beside its own backend."""

from __future__ import annotations

import asyncio
import logging
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend, filesystem
from deepagents.backends.protocol import BackendProtocol
from frameworks import text_of
from langchain_anthropic import ChatAnthropic
from pydantic import SecretStr
from scripted import ScriptedServer, call_of, text

import inmost
from inmost import errors
from inmost.deepagents import InmostBackend

FILE = "/memories/garden/tea.md"
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("write_file", {"file_path": FILE, "content": "Green tea.\n"}, "Updated file"),
    ("write_file", {"file_path": FILE, "content": "Green tea.\nMint.\n"}, "Updated file"),
    ("edit_file", {"file_path": FILE, "old_string": "Green", "new_string": "Black"}, "replaced 1"),
    ("edit_file", {"file_path": FILE, "old_string": "Green", "new_string": "White"}, "String not found"),
    ("read_file", {"file_path": FILE, "limit": 1}, "Black tea."),
    ("read_file", {"file_path": "/memories/none"}, "Error: file_not_found"),
    ("read_file", {"file_path": "/memories/garden"}, "Error: is_directory"),
    ("ls", {"path": "/memories"}, "/memories/garden/"),
    ("ls", {"path": FILE}, "Error: not_a_directory"),
    ("glob", {"pattern": "*.md"}, FILE),
    ("grep", {"pattern": "Mint"}, FILE),
    ("write_file", {"file_path": "/memories/%2e%2e/x", "content": "x"}, "invalid_path"),
    ("delete", {"file_path": "/memories/garden"}, "Deleted"),
    ("ls", {"path": "/memories/garden"}, "Error: file_not_found"),
    ("write_file", {"file_path": "/draft", "content": "of the agent alone"}, "Updated file"),
]


def run(server: ScriptedServer, backend: BackendProtocol, *, asynchronous: bool) -> None:
    model = ChatAnthropic(
        model_name="scripted", api_key=SecretStr("none"), base_url=server.url, max_retries=0, timeout=None, stop=None
    )
    composite = CompositeBackend(default=StateBackend(), routes={"/memories/": backend})
    agent: Any = create_deep_agent(model=model, backend=composite)
    question = {"messages": [{"role": "user", "content": "Go."}]}
    if asynchronous:
        asyncio.run(agent.ainvoke(question))
    else:
        agent.invoke(question)


def every_result(backend: BackendProtocol, path: str) -> list[Any]:
    """The results of all operations on a path."""
    return [
        backend.ls(path),
        backend.read(path),
        backend.grep("a", path),
        backend.glob("*", path),
        *backend.download_files([path]),
        *every_change(backend, path),
    ]


def every_change(backend: BackendProtocol, path: str) -> list[Any]:
    return [
        backend.write(path, "b"),
        backend.edit(path, "a", "b"),
        backend.delete(path),
        *backend.upload_files([(path, b"b")]),
    ]


def texts(store: inmost.Store) -> dict[str, str]:
    files = [entry.path for entry in store.files.walk() if not entry.metadata.is_folder]
    return {path: store.files.read(path) for path in files}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_keeps_its_files(asynchronous: bool, store: inmost.Store) -> None:
    script = [[call_of(tool, f"t{number}", **arguments)] for number, (tool, arguments, _) in enumerate(CALLS)]
    with ScriptedServer([*script, [text("Done.")]]) as server:
        run(server, InmostBackend(store), asynchronous=asynchronous)
    for (tool, arguments, expected), [result] in zip(CALLS, server.results(), strict=True):
        assert expected in text_of(result["content"]), (tool, arguments)
    assert texts(store) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_lock_in_the_middle_is_the_applications_error(asynchronous: bool, store: inmost.Store) -> None:
    reported: list[inmost.StoreError] = []
    script = [[call_of(tool, f"t{number}", **arguments)] for number, (tool, arguments, _) in enumerate(CALLS[:5])]
    with ScriptedServer([*script, [text("Sorry.")]]) as server:
        server.on_request = lambda number: store.lock() if number == 2 else None
        run(server, InmostBackend(store, on_store_error=reported.append), asynchronous=asynchronous)
    said = [text_of(result["content"]) for [result] in server.results()]
    assert "Updated file" in said[1]
    assert [line.removeprefix("Error: ") for line in said[2:]] == ["Memory is unavailable."] * 3
    assert [type(error) for error in reported] == [errors.Locked] * 3


def test_every_operation_on_a_locked_store_returns_the_same_sentence(
    store: inmost.Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.lock()
    results = every_result(InmostBackend(store), "/secret.md")
    assert {result.error for result in results} == {"Memory is unavailable."}
    assert len(caplog.records) == len(results)
    assert all(record.name == "inmost" and record.levelno == logging.ERROR for record in caplog.records)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("ripgrep", [None, shutil.which("rg")])
def test_it_does_what_the_backend_of_the_framework_does(
    ripgrep: str | None, store: inmost.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where ripgrep is installed, the framework greps with it, and then finds hidden files by a pattern such as `*.md`.
    monkeypatch.setattr(filesystem, "_resolve_ripgrep_path", lambda: ripgrep)
    chosen = random.Random(7)
    backends: list[BackendProtocol] = [InmostBackend(store, subtree="/memories/x"), FilesystemBackend(tmp_path)]
    for backend in backends:
        backend.write("/z/.hidden.md", "tea\n")
    paths = ["/a.md", "/a-2.md", "/b/a.md", "/b/deep/c.txt", "/d", "/d/", "/d/x", "/none/x"]
    lines = ["tea\n", "green tea", "\n", "a+b\n", "\u00e4\u2028\n", ""]
    patterns = ["*", "*.md", "**/*.md", "/*.md", "b/**", "{b,c}*", ".*", "../*"]
    successes = 0
    for step in range(600):
        path, folder, pattern = chosen.choice(paths), chosen.choice([None, "/", "/b", "/gone"]), chosen.choice(patterns)
        old, new = chosen.choice(["tea", "a", "green tea\n", "none"]), chosen.choice(["tea", "coffee", ""])
        content = "".join(chosen.choices(lines, k=4)) + "end"
        operations: list[Callable[[BackendProtocol], Any]] = [
            lambda backend: backend.write(path, content),
            lambda backend: backend.upload_files([(path, content.encode())])[0],
            lambda backend: backend.edit(path, old, new, step % 2 == 0),
            lambda backend: backend.delete(path) if step % 3 == 0 else backend.ls("/"),
            lambda backend: backend.read(path, step % 5 - 1, step % 4),
            lambda backend: backend.download_files([path])[0],
            lambda backend: backend.ls(path),
            lambda backend: backend.grep(old.strip(), folder, pattern),
            lambda backend: backend.grep("e", folder, max_count=step % 5),
            lambda backend: backend.glob(pattern, folder),
        ]
        operation = chosen.choice(operations)
        ends = [comparable(operation(backend), has_hidden=ripgrep is None) for backend in backends]
        assert ends[0] == ends[1], (step, operations.index(operation), path, folder, pattern)
        successes += ends[0]["error"] is None
        # A store has no empty folders.
        for folder_on_disk in sorted(tmp_path.rglob("*/"), reverse=True):
            if not any(folder_on_disk.iterdir()):
                folder_on_disk.rmdir()
    assert successes > 200


def comparable(result: Any, *, has_hidden: bool) -> dict[str, Any]:
    """A result without times, sizes of folders, the order of matches, and the wording of errors except those of edits."""
    fields = asdict(result)
    for name in ("entries", "matches"):
        for info in fields.get(name) or []:
            info.pop("modified_at", None)
            if info.get("is_dir"):
                info["size"] = 0
    if fields.get("matches") and not has_hidden:
        fields["matches"] = [found for found in fields["matches"] if "/." not in found["path"]]
    if fields.get("matches"):
        fields["matches"].sort(key=lambda found: (found["path"], found.get("line")))
        if fields["truncated"]:
            fields["matches"] = len(fields["matches"])
    if fields["error"] and "tring" not in fields["error"]:
        fields = {"error": "of a path or a pattern"}
    return fields


OUTSIDE = ["a", "../a", "~", "~/a", "C:\\a", "/..", "/../a", "/x/../../a", "/./a", "/..\\a", "/%2e%2e/a"]
UNCLEAR = ["", "/Zoe\u0308", "//", "//a", "/x//a", "/a//", "/a\0", "/\0", "/a\n", "/" + "a" * 256]


@pytest.mark.parametrize("path", OUTSIDE + UNCLEAR)
def test_a_path_that_leads_elsewhere_is_refused(path: str, store: inmost.Store) -> None:
    store.files.write("/memories/a", "a")
    store.files.write("/memories/x/a", "a")
    before = store.status()
    for backend in (InmostBackend(store), InmostBackend(store, subtree="/memories/x")):
        results = every_result(backend, path)
        # Without a path, a search is one of everything.
        assert {result.error for result in results if path or not hasattr(result, "matches")} == {"invalid_path"}
    assert store.status() == before


def test_the_root_is_neither_replaced_nor_deleted(store: inmost.Store) -> None:
    backend = InmostBackend(store, subtree="/memories/x")
    assert backend.ls("/").entries == []
    assert (backend.grep("a").matches, backend.glob("*").matches) == ([], [])
    for _ in range(2):
        refused = {result.error for result in every_change(backend, "/")}
        assert refused == {"The root folder cannot be replaced or deleted."}
        assert backend.write("/a", "a").error is None


def test_nothing_changes_if_it_is_read_only(store: inmost.Store) -> None:
    store.files.write("/memories/a", "a")
    before = store.status()
    backend = InmostBackend(store, read_only=True)
    results = [result for path in ("/a", "/b", "/") for result in every_change(backend, path)]
    assert {result.error for result in results} == {"permission_denied"}
    [entry] = backend.ls("/").entries or []
    assert entry["path"] == "/a"
    assert store.status() == before


@pytest.mark.parametrize("subtree", ["/memories/x", "/memories//x/", "/memories/u\u0308"])
def test_a_subtree_is_the_whole_of_what_an_agent_sees(subtree: str, store: inmost.Store) -> None:
    store.files.write("/memories/other.md", "tea")
    backend = InmostBackend(store, subtree=subtree)
    assert backend.write("/b/\u00f6.md", "tea").error is None
    place = "/b/\u00f6.md"
    assert [entry["path"] for entry in backend.ls("/").entries or []] == ["/b/"]
    for path in (None, "/", "/b", "/b/", "/b/\u00f6.md"):
        assert backend.grep("tea", path, "\u00f6*").matches == [{"path": place, "line": 1, "text": "tea"}]
    assert [entry["path"] for entry in backend.glob("/b/*").matches or []] == [place]
    assert len(texts(store)) == 2


def test_a_subtree_that_no_folder_can_have_is_refused(store: inmost.Store) -> None:
    with pytest.raises(errors.InvalidPath):
        InmostBackend(store, subtree="/memories/../x")


def test_no_edit_of_eight_threads_is_lost(on_disk: Callable[[], inmost.Store]) -> None:
    store = on_disk()
    backends = [InmostBackend(store), InmostBackend(store)]
    backends[0].write("/log.md", "end")

    def edit(thread: int) -> None:
        for number in range(15):
            result = backends[thread % 2].edit("/log.md", "end", f"[{thread}.{number}]end")
            assert (result.error, result.occurrences) == (None, 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(edit, range(8)))
    log = store.files.read("/memories/log.md")
    assert sorted(log.removesuffix("end")[1:-1].split("][")) == sorted(f"{a}.{b}" for a in range(8) for b in range(15))


def test_a_text_that_is_not_unicode_is_refused(store: inmost.Store) -> None:
    backend = InmostBackend(store)
    backend.write("/a", "a")
    results: list[Any] = [
        backend.write("/b", "\ud800"),
        backend.write("/\ud800", "b"),
        backend.edit("/a", "a", "\ud800"),
        *backend.upload_files([("/b", b"\xff")]),
    ]
    assert {result.error for result in results} == {"The text is not valid Unicode."}
    assert texts(store) == {"/memories/a": "a"}


def test_one_refused_file_does_not_hinder_the_others(store: inmost.Store) -> None:
    backend = InmostBackend(store)
    uploads = backend.upload_files([("/a", b"1"), ("/a/b", b"2"), ("..", b"3"), ("/c/d", b"\xc3\xa4")])
    assert [response.error for response in uploads] == [None, "not_a_directory", "invalid_path", None]
    downloads = backend.download_files(["/c/d", "/c", "/none", "/a"])
    found = [(response.path, response.content, response.error) for response in downloads]
    assert found == [
        ("/c/d", "\u00e4".encode(), None),
        ("/c", None, "is_directory"),
        ("/none", None, "file_not_found"),
        ("/a", b"1", None),
    ]


def test_the_package_does_not_need_the_framework() -> None:
    program = "import inmost, sys; sys.exit('deepagents' in sys.modules or 'langchain_core' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
