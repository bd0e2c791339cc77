"""The files of Microsoft's Agent Framework: its own tools, and its own store for comparison."""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentFileStore,
    BaseChatClient,
    ChatResponse,
    Content,
    FileAccessProvider,
    FunctionInvocationLayer,
    InMemoryAgentFileStore,
    Message,
)

import inmost
from inmost import errors

with warnings.catch_warnings():
    # The framework says that this interface of its may change.
    warnings.simplefilter("ignore")
    from inmost.agent_framework import InmostFileStore

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("write", {"file_name": "garden/tea.md", "content": "Green tea.\nMint.\n"}, "written"),
    ("write", {"file_name": "garden/tea.md", "content": ""}, "already exists"),
    ("replace", {"file_name": "garden/tea.md", "old_string": "Green", "new_string": "Black"}, "Replaced 1"),
    ("read_lines", {"file_name": "garden/tea.md", "start_line": 1, "end_line": 1}, "1\tBlack tea.\n"),
    ("grep", {"regex_pattern": "m.nt"}, "garden/tea.md"),
    ("ls", {"directory": "garden"}, "tea.md"),
    ("read", {"file_name": "../x"}, "Could not read"),
    ("delete", {"file_name": "garden/tea.md"}, "deleted"),
    ("read", {"file_name": "garden/tea.md"}, "not found"),
]


class Scripted(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """A model of the framework that makes the first calls of `CALLS`, and then says `Done.`"""

    def __init__(self, calls: int, before: Callable[[int], None] = lambda number: None) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self._step, self._calls, self._before = 0, calls, before

    def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> Awaitable[ChatResponse[Any]]:
        async def respond() -> ChatResponse[Any]:
            number, self.messages = self._step, list(messages)
            self._step += 1
            self._before(number)
            if number == self._calls:
                return ChatResponse(messages=[Message("assistant", ["Done."])])
            tool, arguments, _ = CALLS[number]
            content = Content.from_function_call(f"t{number}", f"file_access_{tool}", arguments=arguments)
            return ChatResponse(messages=[Message("assistant", [content])])

        return respond()

    async def results(self, store: inmost.Store) -> list[str]:
        """Runs an agent, and returns what the model read."""
        files = InmostFileStore(store)
        provider = FileAccessProvider(files, disable_readonly_tool_approval=True, disable_write_tool_approval=True)
        assert (await Agent(self, context_providers=[provider]).run("Go.")).text == "Done."
        contents = [content for message in self.messages for content in message.contents]
        return [str(content.result) for content in contents if content.type == "function_result"]


@pytest.mark.filterwarnings("ignore")
async def test_an_agent_keeps_its_files(store: inmost.Store) -> None:
    said = await Scripted(len(CALLS)).results(store)
    for (tool, arguments, expected), result in zip(CALLS, said, strict=True):
        assert expected in result, (tool, arguments)
    assert list(store.files.walk()) == []


@pytest.mark.filterwarnings("ignore")
async def test_a_lock_in_the_middle_is_nothing_that_the_model_reads_about(store: inmost.Store) -> None:
    said = await Scripted(4, lambda number: store.lock() if number == 1 else None).results(store)
    assert "written" in said[0] and said[1:] == ["Error: Function failed."] * 3


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
