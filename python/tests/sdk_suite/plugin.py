"""Runs the SDK's tests of its memory tool against `inmost.anthropic`. README.md describes it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import _beta_builtin_memory_tool as builtin
from anyio import Path as AsyncPath

import inmost
from inmost.anthropic import AsyncMemoryTool, MemoryTool

ROOT = "/memories"
DIFFERENCES = Path(__file__).parent / "differences.toml"


class Mirror:
    """A folder that shows the content of a store, as the tests expect it from a tool that keeps plain files."""

    def __init__(self, base_path: str) -> None:
        self.store = inmost.Store.in_memory()
        self.root = Path(base_path) / "memories"

    def read(self) -> None:
        """Takes over what the test wrote into the folder."""
        files = self.store.files
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not path.is_symlink():
                files.write(f"{ROOT}/{path.relative_to(self.root).as_posix()}", path.read_bytes().decode())

    def write(self) -> None:
        """Makes the folder show the store."""
        wanted = {
            self.root / entry.path.removeprefix(f"{ROOT}/"): entry.path
            for entry in self.store.files.walk()
            if not entry.metadata.is_folder
        }
        self.root.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.root.rglob("*"), reverse=True):
            if path.is_file() and path not in wanted:
                path.unlink()
            elif path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
                path.rmdir()
        for path, name in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.store.files.read(name).encode())


class SyncTool(MemoryTool):
    """Ours, in the place of `BetaLocalFilesystemMemoryTool`."""

    def __init__(self, base_path: str = "./memory") -> None:
        self.mirror = Mirror(base_path)
        super().__init__(self.mirror.store)
        self.base_path, self.memory_root = Path(base_path), self.mirror.root
        self.mirror.write()

    def call(self, input: object) -> str:
        self.mirror.read()
        try:
            return super().call(input)
        finally:
            self.mirror.write()


class AsyncTool(AsyncMemoryTool):
    """Ours, in the place of `BetaAsyncLocalFilesystemMemoryTool`."""

    def __init__(self, base_path: str = "./memory") -> None:
        self.mirror = Mirror(base_path)
        super().__init__(self.mirror.store)
        self.base_path, self.memory_root = AsyncPath(base_path), AsyncPath(self.mirror.root)
        self.mirror.write()

    async def call(self, input: object) -> str:
        self.mirror.read()
        try:
            return await super().call(input)
        finally:
            self.mirror.write()


builtin.BetaLocalFilesystemMemoryTool = SyncTool  # type: ignore[assignment,misc]
builtin.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[assignment,misc]


SHOWS = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    listed: dict[str, dict[str, Any]] = tomllib.loads(DIFFERENCES.read_text())
    entries = {test: entry for entry in listed.values() for test in entry["tests"]}
    unknown = entries.keys() - {item.name for item in items}
    if unknown:
        raise pytest.UsageError(f"{DIFFERENCES.name} lists tests that do not exist: {sorted(unknown)}")
    for item in items:
        entry = entries.get(item.name)
        if entry is not None:
            shows = entry["shows"]
            item.stash[SHOWS] = [shows] if isinstance(shows, str) else shows
            # Strict: the run fails if the test passes.
            item.add_marker(pytest.mark.xfail(reason=entry["reason"], strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    shows = item.stash.get(SHOWS, None)
    if report.when == "call" and report.skipped and shows and not any(text in report.longreprtext for text in shows):
        report.outcome = "failed"
        report.longrepr = f"it fails for another reason than {DIFFERENCES.name} has:\n{report.longreprtext}"
    return report
