"""The memory tool."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from anthropic.types import ToolResultBlockParam, ToolUseBlock
from anthropic.types.beta import BetaMemoryTool20250818Param, BetaToolUseBlock

import inmost
from inmost import errors

VIEW = {"command": "view", "path": "/memories"}
CREATE = {"command": "create", "path": "/memories/ada.md", "file_text": "Ada prefers tea ☕.\n"}


@pytest.mark.parametrize(
    "form",
    [
        lambda call: call,
        json.dumps,
        lambda call: json.dumps(call, ensure_ascii=False),
        lambda call: json.dumps(call, ensure_ascii=False).encode(),
        lambda call: bytearray(json.dumps(call).encode()),
    ],
)
def test_a_call_is_a_dict_or_json(store: inmost.Store, form: Any) -> None:
    result = store.memory_tool().call(form(CREATE))
    assert (result.content, result.is_error) == ("File created successfully at: /memories/ada.md", False)
    assert store.files.read("/memories/ada.md") == "Ada prefers tea ☕.\n"


def test_a_whole_block_gets_a_whole_result(store: inmost.Store) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {**VIEW, "path": "/etc"}}
    result = store.memory_tool().call(block)
    assert result.to_dict() == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "Error: Path must start with /memories, got: /etc",
        "is_error": True,
    }
    assert "tool_use_id" not in store.memory_tool().call(VIEW).to_dict()


def test_the_objects_of_the_sdk_are_calls_and_its_types_fit(store: inmost.Store) -> None:
    block = ToolUseBlock(type="tool_use", id="toolu_1", name="memory", input={**VIEW})
    result = store.memory_tool().call(block)
    assert (result.tool_use_id, result.is_error) == ("toolu_1", False)
    assert store.memory_tool().call(BetaToolUseBlock(**block.model_dump())).content == result.content
    content: list[ToolResultBlockParam] = [result.to_dict()]
    tools: list[BetaMemoryTool20250818Param] = [inmost.TOOL_DEFINITION]
    assert content[0]["tool_use_id"] == "toolu_1" and tools[0]["name"] == "memory"


class Word(str):
    """A text that is not exactly one."""


@pytest.mark.parametrize(
    "value",
    [
        "",
        'quotes " and \\ and / and \b\f\n\r\t\x00\x1f\x7f',
        "Stra\u00dfe, \u8c46\u8150, \U0001f512",
        "a lone surrogate: \ud800",
        Word("a subclass"),
        None,
        True,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        2**63,
        10**40,
        1.5,
        1e400,
        float("nan"),
        [],
        [1, 12],
        [1, [2, None, False], {"a": 1}],
        (1, 2),
        {},
        {"a": {"b": {}}},
        {1: 2},
        {None: 1},
        json.loads("[" * 20 + "]" * 20),
    ],
    ids=repr,
)
@pytest.mark.parametrize("field", ["path", "view_range", "another", "file_text"])
def test_a_dict_is_what_its_json_is(store: inmost.Store, field: str, value: Any) -> None:
    tool = store.memory_tool()
    call = {"command": "create", "path": "/memories/notes.md", "file_text": "text"}
    tool.call(call)
    for command in ["view", "create", value]:
        changed = {**call, "command": command, field: value}
        # A result may quote the JSON, in which a letter may be escaped or not.
        texts = [json.dumps(changed, ensure_ascii=escapes) for escapes in (False, True)]
        assert tool.call(changed).content in [tool.call(text).content for text in texts]


def test_a_long_dict_arrives_whole(store: inmost.Store) -> None:
    text = "".join(f'line {number}: "quoted" \\ \u8c46\t\n' for number in range(30_000))
    store.memory_tool().call({"command": "create", "path": "/memories/long.md", "file_text": text})
    assert store.files.read("/memories/long.md") == text


def test_a_dict_that_has_no_json_is_refused(store: inmost.Store) -> None:
    for value in [object(), b"bytes", {"set"}, {(): 1}]:
        with pytest.raises(TypeError):
            store.memory_tool().call({"command": "view", "path": value})
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError):
        store.memory_tool().call({"command": "view", "path": endless})


def test_a_mistake_of_the_model_is_a_result(store: inmost.Store) -> None:
    tool = store.memory_tool()
    surrogates: list[Any] = ["\ud800", '{"command": "view", "path": "/memories/\ud800"}', {"path": "\ud800"}]
    calls: list[Any] = [{}, {"command": 7}, {"command": "bogus"}, '{"command"', b"\xff", "[]", *surrogates]
    for call in calls:
        result = tool.call(call)
        assert result.is_error and result.content.startswith("Error: ") and result.store_error is None
    others: list[Any] = [None, 7, ["view"], VIEW.items()]
    for other in others:
        with pytest.raises(TypeError):
            tool.call(other)


def test_a_failing_store_is_the_applications_error(store: inmost.Store) -> None:
    tool = store.memory_tool(locked_hint="Ask the user.")
    store.lock()
    result = tool.call(VIEW)
    assert (result.content, result.is_error) == ("Error: Memory is locked. Ask the user.", True)
    assert isinstance(result.store_error, errors.Locked)
    assert tool.call({**VIEW, "path": "/etc"}).content == "Error: Path must start with /memories, got: /etc"


def test_options_hold(store: inmost.Store) -> None:
    store.files.write("/memories/x/plan.md", "Dig.\n")
    store.files.write("/memories/private.md", "Not for agents.\n")
    subtree = store.memory_tool(subtree="/memories/x")
    assert subtree.call(VIEW).content.endswith(":\n5B\t/memories\n5B\t/memories/plan.md")
    with pytest.raises(errors.InvalidPath):
        store.memory_tool(subtree="/x")

    delete = {"command": "delete", "path": "/memories/private.md"}
    assert store.memory_tool(read_only=True).call(delete).content == "Error: Memory is read-only."

    again = {**CREATE, "path": "/memories/private.md"}
    assert store.memory_tool().call(again).is_error
    assert not store.memory_tool(create_overwrites=True).call(again).is_error

    key = {**CREATE, "path": "/memories/key", "file_text": "AKIAIOSFODNN7EXAMPLF and more"}
    for screen, saved in (("redact", True), ("refuse", False)):
        result = store.memory_tool(screen=screen).call(key)  # type: ignore[arg-type]
        assert result.is_error is not saved and "AKIA" not in result.content
        assert store.files.exists("/memories/key") is saved
        if saved:
            assert "AKIA" not in store.files.read("/memories/key")
            store.files.remove("/memories/key")
    with pytest.raises(ValueError, match="redact"):
        store.memory_tool(screen="on")  # type: ignore[arg-type]

    store.files.write("/memories/long", "0123456789" * 10)
    view = {"command": "view", "path": "/memories/long"}
    short = store.memory_tool(max_view_characters=20).call(view).content
    assert len(short) < len(store.memory_tool().call(view).content)
    assert len(store.memory_tool(max_listing_entries=1).call(VIEW).content) < len(store.memory_tool().call(VIEW).content)
    ranged = store.memory_tool(max_range_characters=20).call({**view, "view_range": [1, 1]}).content
    assert len(ranged) < len(store.memory_tool().call({**view, "view_range": [1, 1]}).content)


def test_quotas_of_the_tool_are_its_own(store: inmost.Store) -> None:
    def create(tool: inmost.MemoryTool, name: str, text: str) -> str:
        return tool.call({"command": "create", "path": f"/memories/{name}", "file_text": text}).content

    tool = store.memory_tool(max_file_bytes=4, max_files=2, max_store_bytes=6)
    assert "maximum size of 4 bytes" in create(tool, "a", "12345")
    assert create(tool, "a", "1234").startswith("File created")
    assert "at most 6 bytes" in create(tool, "b", "123")
    assert create(tool, "b", "1").startswith("File created")
    assert "at most 2 files" in create(tool, "c", "1")
    assert create(store.memory_tool(), "c", "12345").startswith("File created")


def test_a_tool_that_forgets_leaves_no_versions(store: inmost.Store) -> None:
    store.history.set(timedelta(days=1))
    delete = {"command": "delete", "path": CREATE["path"]}
    for forgets, kinds in ((False, ["deleted", "created"]), (True, ["forgotten"])):
        tool = store.memory_tool(delete_forgets=forgets)
        assert not tool.call(CREATE).is_error and not tool.call(delete).is_error
        assert [change.kind for change in store.history.log()] == kinds


def test_the_history_names_who_made_a_change(store: inmost.Store) -> None:
    store.history.set(timedelta(days=1))
    store.memory_tool(actor="night-agent").call(CREATE)
    [change] = store.history.log()
    assert (change.actor, change.channel, change.kind) == ("night-agent", "tool", "created")


def test_clear_deletes_what_the_tool_can_reach(store: inmost.Store) -> None:
    for path in ("x/a", "x/b/c", "x/.hidden", "x/100%", "other"):
        store.files.write(f"/memories/{path}", "tea")
    result = store.memory_tool(subtree="/memories/x").clear()
    assert (result.content, result.is_error) == ("All memory cleared", False)
    assert [entry.path for entry in store.files.walk()] == ["/memories/other"]
    result = store.memory_tool(read_only=True).clear()
    assert (result.content, result.is_error) == ("Error: Memory is read-only.", True)
    assert store.memory_tool(subtree="/memories/new").clear().content == "All memory cleared"
    assert store.memory_tool().clear().content == "All memory cleared"
    assert store.files.list() == []
    assert store.memory_tool(read_only=True).clear().is_error
    store.lock()
    result = store.memory_tool().clear()
    assert result.content == "Error: Memory is locked." and isinstance(result.store_error, errors.Locked)


def test_the_definition_is_that_of_the_tool() -> None:
    assert inmost.TOOL_DEFINITION == {"type": "memory_20250818", "name": "memory"}
