"""The adapters for the package `anthropic`, with its tool runners against a scripted server."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import ToolError
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand
from scripted import Block, ScriptedServer, call, text

import inmost
from inmost import errors
from inmost.anthropic import AsyncMemoryTool, MemoryTool

Tool = MemoryTool | AsyncMemoryTool
ROOT = "/memories"
LISTING = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"


def result(identifier: str, content: str, *, is_error: bool = False) -> Block:
    """The block that a runner is expected to send."""
    block: Block = {"type": "tool_result", "tool_use_id": identifier, "content": content}
    return {**block, "is_error": True} if is_error else block


def run_sync(server: ScriptedServer, memory: inmost.Store | inmost.MemoryTool, **options: Any) -> str:
    with anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0) as client:
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=1000,
            messages=[{"role": "user", "content": "Go."}],
            tools=[MemoryTool(memory, **options)],
        )
        return last_text(runner.until_done())


def run_async(server: ScriptedServer, memory: inmost.Store | inmost.MemoryTool, **options: Any) -> str:
    async def run() -> str:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0) as client:
            runner = client.beta.messages.tool_runner(
                model="scripted",
                max_tokens=1000,
                messages=[{"role": "user", "content": "Go."}],
                tools=[AsyncMemoryTool(memory, **options)],
            )
            return last_text(await runner.until_done())

    return asyncio.run(run())


def last_text(message: Any) -> str:
    [block] = message.content
    assert isinstance(block.text, str)
    return block.text


both = pytest.mark.parametrize("run", [run_sync, run_async])

# What the model calls, and what it reads.
SESSION: list[tuple[Block, str, bool]] = [
    (call("t1", command="view", path=ROOT), f"{LISTING}\n0B\t/memories", False),
    (
        call("t2", command="create", path=f"{ROOT}/ada.md", file_text="Ada prefers tea ☕.\nTall\n"),
        "File created successfully at: /memories/ada.md",
        False,
    ),
    (
        call("t3", command="view", path=f"{ROOT}/ada.md"),
        "Here's the content of /memories/ada.md with line numbers:\n     1\tAda prefers tea ☕.\n     2\tTall",
        False,
    ),
    (
        call("t4", command="view", path=f"{ROOT}/ada.md", view_range=[2, 2]),
        "Here's the content of /memories/ada.md with line numbers:\n     2\tTall",
        False,
    ),
    (
        call("t5", command="create", path=f"{ROOT}/ada.md", file_text=""),
        "Error: File /memories/ada.md already exists",
        True,
    ),
    (
        call("t6", command="str_replace", path=f"{ROOT}/ada.md", old_str="coffee", new_str="tea"),
        "No replacement was performed, old_str `coffee` did not appear verbatim in /memories/ada.md.",
        True,
    ),
    (
        call("t7", command="insert", path=f"{ROOT}/ada.md", insert_line=2, insert_text="Kind\n"),
        "The file /memories/ada.md has been edited.",
        False,
    ),
    # An alias: the text of an insert under the name that another tool has for it.
    (
        call("t8", command="insert", path=f"{ROOT}/ada.md", insert_line="0", new_str="# Ada\n"),
        "The file /memories/ada.md has been edited.",
        False,
    ),
    (
        call("t9", command="rename", old_path=f"{ROOT}/ada.md", new_path=f"{ROOT}/people/ada.md"),
        "Successfully renamed /memories/ada.md to /memories/people/ada.md",
        False,
    ),
    (
        call("t10", command="delete", path=f"{ROOT}/ada.md"),
        "Error: The path /memories/ada.md does not exist",
        True,
    ),
    (
        call("t11", command="view", path="/etc/passwd"),
        "Error: Path must start with /memories, got: /etc/passwd",
        True,
    ),
    (
        call("t12", command="view"),
        "Error: Missing required parameter `path` for command view",
        True,
    ),
    (
        call("t13", command="bogus"),
        "Error: Unknown command: bogus. Valid commands: view, create, str_replace, insert, delete, rename",
        True,
    ),
    (call("t14", command="delete", path=f"{ROOT}/people"), "Successfully deleted /memories/people", False),
]


@both
def test_a_runner_gets_the_exact_results(run: Callable[..., str], store: inmost.Store) -> None:
    script = [[block] for block, _, _ in SESSION] + [[text("Done.")]]
    with ScriptedServer(script) as server:
        assert run(server, store) == "Done."
    expected = [[result(block["id"], content, is_error=failed)] for block, content, failed in SESSION]
    assert server.results() == expected
    assert server.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert store.files.list() == []


@both
def test_parallel_calls_have_a_result_each_in_their_order(run: Callable[..., str], store: inmost.Store) -> None:
    calls = [call(f"t{n}", command="create", path=f"{ROOT}/{n}", file_text=str(n)) for n in range(12)]
    calls.append(call("twice", command="create", path=f"{ROOT}/0", file_text="again"))
    with ScriptedServer([calls, [text("Done.")]]) as server:
        run(server, store)
    [results] = server.results()
    assert [block["tool_use_id"] for block in results] == [block["id"] for block in calls]
    assert results[:12] == [result(f"t{n}", f"File created successfully at: /memories/{n}") for n in range(12)]
    assert results[12] == result("twice", "Error: File /memories/0 already exists", is_error=True)
    assert [store.files.read(f"{ROOT}/{n}") for n in range(12)] == [str(n) for n in range(12)]


@both
def test_a_lock_in_the_middle_is_the_applications_error(run: Callable[..., str], store: inmost.Store) -> None:
    reported: list[inmost.StoreError] = []
    script = [
        [call("t1", command="create", path=f"{ROOT}/a", file_text="1")],
        [call("t2", command="view", path=f"{ROOT}/a")],
        [text("Sorry.")],
    ]
    with ScriptedServer(script) as server:
        server.on_request = lambda number: store.lock() if number == 1 else None
        assert run(server, store, on_store_error=reported.append) == "Sorry."
    assert server.results() == [
        [result("t1", "File created successfully at: /memories/a")],
        [result("t2", "Error: Memory is locked.", is_error=True)],
    ]
    assert [type(error) for error in reported] == [errors.Locked]


@both
def test_a_failing_store_is_logged_without_content(
    run: Callable[..., str], store: inmost.Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.lock()
    with ScriptedServer([[call("t1", command="view", path=f"{ROOT}/bluebird")], [text("Sorry.")]]) as server:
        run(server, store)
    assert [record.getMessage() for record in caplog.records if record.name == "inmost"] == [
        "The store is locked. Unlock the store with its passphrase."
    ]
    # The SDK logs a traceback for any exception other than its own.
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR and record.name != "inmost"]
    assert "bluebird" not in caplog.text


@both
def test_options_come_with_the_memory_tool(run: Callable[..., str], store: inmost.Store) -> None:
    store.files.write(f"{ROOT}/x/plan.md", "Dig.\n")
    tool = store.memory_tool(read_only=True, subtree=f"{ROOT}/x")
    script = [
        [call("t1", command="view", path=f"{ROOT}/plan.md")],
        [call("t2", command="delete", path=f"{ROOT}/plan.md")],
        [text("Done.")],
    ]
    with ScriptedServer(script) as server:
        run(server, tool, cache_control={"type": "ephemeral"})
    assert server.requests[0]["tools"] == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]
    assert server.results() == [
        [result("t1", "Here's the content of /memories/plan.md with line numbers:\n     1\tDig.")],
        [result("t2", "Error: Memory is read-only.", is_error=True)],
    ]


def test_hosts_can_call_the_methods(store: inmost.Store) -> None:
    view = BetaMemoryTool20250818ViewCommand(command="view", path=ROOT)
    tool, asynchronous = MemoryTool(store), AsyncMemoryTool(store)
    assert tool.view(view) == tool.execute(view) == f"{LISTING}\n0B\t/memories"
    assert asyncio.run(asynchronous.view(view)) == asyncio.run(asynchronous.execute(view)) == tool.view(view)
    absent = BetaMemoryTool20250818ViewCommand(command="view", path=f"{ROOT}/absent")
    with pytest.raises(ToolError) as raised:
        tool.view(absent)
    assert raised.value.content == "The path /memories/absent does not exist. Please provide a valid path."


@pytest.mark.parametrize("kind", [MemoryTool, AsyncMemoryTool])
def test_all_memory_is_cleared_on_request(kind: type[Tool], store: inmost.Store) -> None:
    def clear(tool: Tool) -> str:
        cleared = tool.clear_all_memory()
        return asyncio.run(settle(cleared)) if inspect.isawaitable(cleared) else cleared

    store.files.write(f"{ROOT}/a/.hidden", "1")
    with pytest.raises(ToolError, match="read-only"):
        clear(kind(store.memory_tool(read_only=True)))
    assert clear(kind(store)) == "All memory cleared"
    assert store.files.list() == []


async def settle(value: Awaitable[str]) -> str:
    return await value


@pytest.mark.parametrize("input", [None, "view", '{"command": "view", "path": "/memories"}', ["view"], 7])
def test_an_input_that_is_no_object_is_the_models_mistake(input: object, store: inmost.Store) -> None:
    with pytest.raises(ToolError, match="Invalid tool input"):
        MemoryTool(store).call(input)


async def test_a_call_that_is_cancelled_runs_to_its_end(
    store: inmost.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = AsyncMemoryTool(store)
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    go_on, done = threading.Event(), threading.Event()
    run = tool._calls.run

    def slow_run(input: object) -> inmost.ToolResult:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        result = run(input)
        done.set()
        return result

    monkeypatch.setattr(tool._calls, "run", slow_run)
    task = asyncio.create_task(tool.call({"command": "create", "path": f"{ROOT}/a", "file_text": "1"}))
    await begun.wait()
    task.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    done.wait()
    assert store.files.read(f"{ROOT}/a") == "1"
