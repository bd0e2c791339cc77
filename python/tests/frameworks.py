"""What the tests of the adapters for frameworks have in common: the calls of a model, and what it reads."""

from __future__ import annotations

from scripted import Block, ScriptedServer, call

CALLS = [
    call("t1", command="create", path="/memories/a", file_text="tea\n"),
    call("t2", command="insert", path="/memories/a", insert_line="0", new_str="# Ada\n"),
    call("t3", command="view", path="/memories/a", view_range=[1, 1]),
    call("t4", command="view"),
    # Names that a framework may have for its own arguments.
    call("t5", command="bogus", self="x", run_manager=1, config={}),
]
READS = [
    ("File created successfully at: /memories/a", False),
    ("The file /memories/a has been edited.", False),
    ("Here's the content of /memories/a with line numbers:\n     1\t# Ada", False),
    ("Error: Missing required parameter `path` for command view", True),
    ("Error: Unknown command: bogus. Valid commands: view, create, str_replace, insert, delete, rename", True),
]

PARALLEL = [0, 3, 4]
"""Calls that do not depend on each other."""


def sent(server: ScriptedServer) -> list[tuple[str, str, bool]]:
    """The id, the text and the mark of each result that the last request has."""
    blocks = [block for message in server.requests[-1]["messages"] for block in message["content"]]
    results = [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]
    return [(block["tool_use_id"], text_of(block["content"]), block["is_error"]) for block in results]


def text_of(content: str | list[Block]) -> str:
    """The text of a result, which is a string or one block of text."""
    if isinstance(content, str):
        return content
    [block] = content
    text = block["text"]
    assert isinstance(text, str)
    return text


def expected(calls: list[int]) -> list[tuple[str, str, bool]]:
    """The results of these calls."""
    return [(CALLS[number]["id"], *READS[number]) for number in calls]
