"""Fixtures of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import inmost

PROGRAM = Path(sysconfig.get_path("scripts")) / ("inmost.exe" if sys.platform == "win32" else "inmost")
"""The program that comes with the package."""

unix = pytest.mark.skipif(sys.platform == "win32", reason="the key daemon is on Unix only")


@pytest.fixture
def store() -> Iterator[inmost.Store]:
    with inmost.Store.in_memory() as store:
        yield store


@pytest.fixture
def key() -> bytes:
    """A raw key: stores that it opens need no key derivation."""
    return os.urandom(32)


@pytest.fixture
def on_disk(tmp_path: Path, key: bytes) -> Iterator[Callable[[], inmost.Store]]:
    """Opens the same store on disk again and again."""
    path = tmp_path / "claude.inmost"
    inmost.Store.create(path, raw_key=key).close()
    stores: list[inmost.Store] = []

    def open_store() -> inmost.Store:
        stores.append(inmost.Store.open(path, raw_key=key))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store that a key daemon holds."""
    path, phrase = tmp_path / "s", tmp_path / "phrase"
    phrase.write_text("correct horse battery staple")
    inmost.Store.create(path, passphrase="correct horse battery staple").close()
    # A short path, because the name of a socket has a length limit.
    with tempfile.TemporaryDirectory(prefix="im") as sockets:
        monkeypatch.setenv("XDG_RUNTIME_DIR", sockets)
        subprocess.run([PROGRAM, "unlock", "--store", path, "--passphrase-file", phrase], check=True, capture_output=True)
        yield path
        subprocess.run([PROGRAM, "lock", "--store", path], check=True, capture_output=True)
