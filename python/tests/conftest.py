"""Fixtures of the tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import inmost


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
