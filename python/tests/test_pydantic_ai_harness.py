"""The files of pydantic-ai-harness: an agent of the framework, and the framework's own store for comparison."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable

import pytest
from anthropic import AsyncAnthropic
from pydantic_ai import Agent, ModelSettings
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai_harness.memory import (
    InMemoryStore,
    Memory,
    MemoryConflictError,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore as Protocol,
    SearchableMemoryStore,
)
from scripted import ScriptedServer, call_of, text

import inmost
from inmost import errors, pydantic_ai_harness
from inmost.pydantic_ai_harness import MemoryStore

PATHS = ["a/MEMORY.md", "a/tea.md", "a/b/deep.md", "b.md", "b-2.md"]


async def run(server: ScriptedServer, memory: MemoryStore) -> str:
    settings: ModelSettings = {"max_tokens": 1000}
    async with AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0) as client:
        model = AnthropicModel("scripted", provider=AnthropicProvider(anthropic_client=client))
        agent = Agent(model, capabilities=[Memory(store=memory)], model_settings=settings)
        return (await agent.run("Go.")).output


def results(server: ScriptedServer) -> list[str]:
    blocks = [block for message in server.requests[-1]["messages"] for block in message["content"]]
    found = [block["content"] for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]
    return [content if isinstance(content, str) else content[0]["text"] for content in found]


async def test_an_agent_keeps_its_memory(store: inmost.Store) -> None:
    script = [
        [call_of("write_memory", "t1", content="Ada likes tea.")],
        [call_of("write_memory", "t2", content="coffee", old_text="tea")],
        [call_of("write_memory", "t3", content="Oolong.", file="tea")],
        [call_of("read_memory", "t4", file="tea.md")],
        [call_of("search_memory", "t5", query="oolong")],
        [call_of("delete_memory", "t6", file="tea.md")],
        [call_of("read_memory", "t7", file="tea.md")],
        [text("Done.")],
    ]
    with ScriptedServer(script) as server:
        assert await run(server, MemoryStore(store)) == "Done."
    said = results(server)
    assert [json.loads(said[number])["status"] for number in (0, 1, 2, 5)] == ["created", "updated", "created", "deleted"]
    assert said[3] == "Oolong.\n"
    assert [match["file"] for match in json.loads(said[4])["matches"]] == ["tea.md"]
    assert "There is no memory file named 'tea.md'" in said[6]
    [path] = [entry.path for entry in store.files.walk() if entry.path.endswith("MEMORY.md")]
    assert store.files.read(path) == "Ada likes coffee.\n"


async def test_a_locked_store_ends_the_run(store: inmost.Store) -> None:
    store.lock()
    with ScriptedServer([[call_of("write_memory", "t1", content="x")], [text("Sorry.")]]) as server:
        with pytest.raises(errors.Locked):
            await run(server, MemoryStore(store))


async def test_it_does_what_the_store_of_the_framework_does(store: inmost.Store) -> None:
    chosen = random.Random(7)
    stores: list[Protocol] = [MemoryStore(store, folder="/memories/x"), InMemoryStore()]
    operations: list[MemoryOperation] = []
    conflicts = replays = 0
    for step in range(400):
        path = chosen.choice(PATHS)
        content = None if chosen.random() < 0.3 else f"text {step}"
        is_current = chosen.random() < 0.8
        if operations and chosen.random() < 0.15:
            operation = chosen.choice(operations)
            if chosen.random() < 0.3:
                operation = MemoryOperation(operation.id, "another")
        else:
            operation = MemoryOperation(f"operation {step}", f"{path} {content}")
            operations.append(operation)
        ends: list[object] = []
        for memory in stores:
            read = await memory.read(path, max_chars=5)
            expected = read.version if read and is_current else None if is_current else "0" * 64
            ends.append((read.content, read.truncated) if read else None)
            ends.append(await outcome(memory, path, content, expected, operation))
            ends.append(await memory.list_paths("", limit=3))
            ends.append(await memory.list_paths("a/", limit=9))
        assert ends[: len(ends) // 2] == ends[len(ends) // 2 :], step
        conflicts += ends[1] == "MemoryConflictError"
        replays += isinstance(ends[1], tuple) and ends[1][0] is True
    assert conflicts > 20 and replays > 20


async def outcome(
    memory: Protocol, path: str, content: str | None, expected: str | None, operation: MemoryOperation
) -> object:
    try:
        if content is None:
            mutation = await memory.delete(path, expected_version=expected, operation=operation)
        else:
            mutation = await memory.write(path, content, expected_version=expected, operation=operation)
        again = await memory.get_operation(operation)
    except (MemoryConflictError, MemoryOperationConflictError) as error:
        return type(error).__name__
    assert again == MemoryMutation(mutation.version, replayed=True, existed=mutation.existed)
    return mutation.replayed, mutation.existed, mutation.version is None


@pytest.mark.parametrize("was_made", [False, True])
@pytest.mark.parametrize("deletes", [False, True])
async def test_an_operation_that_a_crash_cut_is_made_once(
    was_made: bool, deletes: bool, store: inmost.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await MemoryStore(store).write("a.md", "before", expected_version=None)
    operation = MemoryOperation("one", "f")

    async def change(memory: MemoryStore) -> MemoryMutation:
        if deletes:
            return await memory.delete("a.md", expected_version=first.version, operation=operation)
        return await memory.write("a.md", "after", expected_version=first.version, operation=operation)

    crashing = MemoryStore(store)
    apply: Callable[[str, str | None, str | None], MemoryMutation] = crashing._apply

    def crash(place: str, content: str | None, expected: str | None) -> MemoryMutation:
        if was_made:
            apply(place, content, expected)
        raise KeyboardInterrupt

    monkeypatch.setattr(crashing, "_apply", crash)
    with pytest.raises(KeyboardInterrupt):
        await asyncio.to_thread(asyncio.run, change(crashing))
    after = MemoryStore(store)
    assert (await after.get_operation(operation) is not None) == was_made
    mutation = await change(after)
    assert (mutation.replayed, mutation.existed) == (was_made, True)
    read = await after.read("a.md", max_chars=99)
    assert (None if read is None else read.content) == (None if deletes else "after")
    # Later changes of the file make no difference to a finished operation.
    await after.write("a.md", "later", expected_version=read.version if read else None)
    assert (await change(MemoryStore(store))).replayed


async def test_no_change_of_parallel_writers_is_lost(on_disk: Callable[[], inmost.Store]) -> None:
    store = on_disk()
    memories = [MemoryStore(store), MemoryStore(store)]

    async def append(memory: MemoryStore, mark: str) -> None:
        while True:
            read = await memory.read("log.md", max_chars=10_000)
            try:
                now = (read.content if read else "") + mark
                await memory.write("log.md", now, expected_version=read.version if read else None)
                return
            except MemoryConflictError:
                continue

    await asyncio.gather(*(append(memory, f"[{who}.{n}]") for who, memory in enumerate(memories) for n in range(20)))
    read = await memories[0].read("log.md", max_chars=10_000)
    assert read is not None and all(f"[{who}.{n}]" in read.content for who in (0, 1) for n in range(20))


async def test_old_receipts_are_removed(store: inmost.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai_harness, "_KEPT", 5)
    monkeypatch.setattr(pydantic_ai_harness, "_TRIM_EVERY", 3)
    memory = MemoryStore(store)
    operations = [MemoryOperation(str(number), "f") for number in range(20)]
    for operation in operations:
        await memory.write(f"{operation.id}.md", "x", expected_version=None, operation=operation)
    assert len(store.files.list("/memories/.receipts~")) <= 5 + 4
    assert await memory.get_operation(operations[-1]) is not None
    assert await memory.get_operation(operations[0]) is None
    assert len(await memory.list_paths(limit=100)) == 20


@pytest.mark.parametrize("path", ["", "/a", "a/", "../a", "a/./b", "a\0", ".receipts~/x", "ä", "a" * 201])
async def test_a_path_that_leads_elsewhere_is_refused(path: str, store: inmost.Store) -> None:
    memory = MemoryStore(store)
    with pytest.raises(ValueError, match="invalid memory path"):
        await memory.write(path, "x", expected_version=None)
    with pytest.raises(ValueError, match="invalid memory path"):
        await memory.read(path, max_chars=1)
    assert not list(store.files.walk())


async def test_a_search_is_ranked_and_stays_in_its_folder(store: inmost.Store) -> None:
    memory = MemoryStore(store)
    assert isinstance(memory, SearchableMemoryStore)
    for path, content in {"a/one.md": "Gardens need water.", "a/two.md": "A garden, a garden.\nTea.", "a/b/three.md": "garden", "c.md": "garden"}.items():
        await memory.write(path, content, expected_version=None)
    bounds = {"max_files": 100, "max_chars": 1000, "max_file_chars": 1000}
    found = await memory.search("a/", "gardening", limit=10, **bounds)
    assert [match.path for match in found.matches] == ["a/two.md", "a/one.md"] and not found.truncated
    assert found.matches[0].snippet == "A garden, a garden." and found.matches[0].score > found.matches[1].score
    assert [match.path for match in (await memory.search("", "garden", limit=10, **bounds)).matches] == ["c.md"]
    first = await memory.search("a/", "garden", limit=1, **bounds)
    assert len(first.matches) == 1 and first.truncated
    short = await memory.search("a/", "garden", limit=10, max_files=100, max_chars=12, max_file_chars=1000)
    assert [(match.path, len(match.snippet)) for match in short.matches] == [("a/two.md", 6)] and short.truncated
    for prefix, query in (("a/", " "), ("none/", "garden"), ("a/", "absent")):
        assert (await memory.search(prefix, query, limit=10, **bounds)).matches == []
