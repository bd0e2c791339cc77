"""The files of Microsoft's Agent Framework: its own tools, and its own store for comparison."""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from agent_framework import AgentFileStore, InMemoryAgentFileStore

import inmost
from inmost import errors

with warnings.catch_warnings():
    # The framework says that this interface of its may change.
    warnings.simplefilter("ignore")
    from inmost.agent_framework import InmostFileStore

Operation = Callable[[AgentFileStore], Coroutine[Any, Any, Any]]


async def test_it_does_what_the_store_of_the_framework_does(store: inmost.Store) -> None:
    chosen, successes = random.Random(5), 0
    stores: list[AgentFileStore] = [InmostFileStore(store, folder="/memories/x"), InMemoryAgentFileStore()]
    paths = ["a.md", "b/a.md", "b/deep/c.md", "b/d.md", "../x", "/etc/passwd", "..", "b/.."]
    for step in range(400):
        path, folder = chosen.choice(paths), chosen.choice(["", "b", "b/deep", "none"])
        content = "\n".join(chosen.choices(["tea", "green tea", "coffee", ""], k=4))
        operations: list[Operation] = [
            lambda files: files.write(path, content, overwrite=step % 2 == 0),
            lambda files: files.read(path),
            lambda files: files.delete(path) if step % 3 else files.file_exists(path),
            lambda files: files.list_children(folder),
            lambda files: files.search(folder, "tea$|coffee", "*.md", recursive=step % 2 == 0),
        ]
        operation = chosen.choice(operations)
        ends = [await end(operation(files)) for files in stores]
        assert ends[0] == ends[1], (step, operations.index(operation), path, folder)
        successes += not isinstance(ends[0], type)
    assert successes > 200


async def end(call: Coroutine[Any, Any, Any]) -> Any:
    try:
        result = await call
    except (ValueError, FileExistsError) as error:
        return type(error)
    if isinstance(result, list):
        return sorted((item.to_dict() for item in result), key=str)
    return result


async def test_two_creators_of_one_file_cannot_both_succeed(store: inmost.Store) -> None:
    files = InmostFileStore(store)
    ends = await asyncio.gather(*(end(files.write("a.md", str(n), overwrite=False)) for n in range(8)))
    assert sorted(ends, key=str).count(FileExistsError) == 7


async def test_a_folder_is_not_deleted_and_a_failing_store_raises(store: inmost.Store) -> None:
    files = InmostFileStore(store)
    await files.write("b/a.md", "tea")
    assert await files.delete("b") is False and await files.read("b") is None and not await files.file_exists("b")
    await files.create_directory("c")
    assert await files.read("b/a.md") == "tea"
    with pytest.raises(ValueError):
        await files.write("b", "tea")
    store.lock()
    with pytest.raises(errors.Locked):
        await files.read("b/a.md")
