"""The examples, as programs against the scripted server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import unix
from frameworks import text_of
from scripted import Block, ScriptedServer, call, call_of, text

import inmost

EXAMPLES = Path(__file__).parents[1] / "examples"
PHRASE = "correct horse battery staple"


def run(example: str, server: ScriptedServer, *arguments: str | Path, stdin: str = "") -> list[str]:
    """Runs an example and returns the lines that it prints."""
    environment = {
        **os.environ,
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_MODEL": "scripted",
        "INMOST_PASSPHRASE": PHRASE,
    }
    command = [sys.executable, EXAMPLES / example, *arguments]
    done = subprocess.run(command, env=environment, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "claude.inmost"
    inmost.Store.create(path, passphrase=PHRASE).close()
    return path


def read(path: Path, file: str) -> str:
    with inmost.Store.open(path, passphrase=PHRASE) as store:
        return store.files.read(file)


def session(file: str = "/memories/a") -> list[list[Block]]:
    return [
        [text("I will note it."), call("t1", command="create", path=file, file_text="tea\n")],
        [text("Noted.")],
    ]


def test_agent(tmp_path: Path) -> None:
    path = tmp_path / "new.inmost"
    for reply in ("Noted.", "Again."):
        with ScriptedServer([*session()[:1], [text(reply)]]) as server:
            assert run("agent.py", server, path, "Go.") == ["I will note it.", reply]
    [[result]] = server.results()
    assert result["content"] == "Error: File /memories/a already exists"
    with inmost.Store.open(path, passphrase=PHRASE) as store:
        [change] = store.history.log()
    assert change.actor == "garden-agent"


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (EXAMPLES.parents[1] / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    program = tmp_path / "readme.py"
    given = f"passphrase, messages = {PHRASE!r}, {[{'role': 'user', 'content': 'Go.'}]!r}\n"
    program.write_text(f"{given}{example}print(message.content[0].text)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    inmost.Store.create("notes.inmost", passphrase=PHRASE).close()
    with ScriptedServer(session()) as server:
        assert run(str(program), server) == ["Noted."]
    assert read(tmp_path / "notes.inmost", "/memories/a") == "tea\n"


def test_raw_loop(path: Path) -> None:
    with ScriptedServer(session()) as server:
        assert run("raw_loop.py", server, path, "Go.") == ["I will note it.", "Noted."]
    assert server.results() == [
        [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": "File created successfully at: /memories/a",
                "is_error": False,
            }
        ]
    ]
    assert read(path, "/memories/a") == "tea\n"


def test_context_editing(path: Path) -> None:
    with ScriptedServer(session()) as server:
        assert run("context_editing.py", server, path, "Go.") == ["Noted."]
    for request in server.requests:
        [edit] = request["context_management"]["edits"]
        assert edit["type"] == "clear_tool_uses_20250919" and edit["exclude_tools"] == ["memory"]
    assert read(path, "/memories/a") == "tea\n"


def test_compaction(path: Path) -> None:
    summary: Block = {"type": "compaction", "content": "The user likes tea.", "signature": "s"}
    script = [
        *session(),
        [summary, text("Let me look."), call("t2", command="view", path="/memories/a")],
        [text("Tea.")],
        [text("Bye.")],
    ]
    with ScriptedServer(script) as server:
        printed = run("compaction.py", server, path, stdin="I like tea.\nWhat do I like?\nBye.\n")
    assert printed == ["I will note it.", "Noted.", "Let me look.", "Tea.", "Bye."]
    assert all(request["context_management"]["edits"][0]["type"] == "compact_20260112" for request in server.requests)
    # The summary goes back as it came, and each call is followed by its result.
    [sent_back] = [
        block
        for message in server.requests[-1]["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "compaction"
    ]
    assert sent_back.items() >= summary.items()
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert server.results()[2][0]["content"].endswith("     1\ttea")


@unix
def test_async_agents(held: Path) -> None:
    with ScriptedServer(session("/memories/plan")) as server:
        assert run("async_agents.py", server, held, "Plan the garden.", "Plan the kitchen.") == ["Noted.", "Noted."]
    with inmost.Store.connect(held) as store:
        walked = [entry.path for entry in store.files.walk() if not entry.metadata.is_folder]
        assert walked == ["/memories/agent-1/plan", "/memories/agent-2/plan"]


def test_deep_agent(path: Path) -> None:
    file = "/memories/tea.md"
    calls = [
        ("write_file", {"file_path": file, "content": "Green tea.\n"}, "Updated file"),
        ("edit_file", {"file_path": file, "old_string": "Green", "new_string": "Black"}, "replaced 1"),
        ("edit_file", {"file_path": file, "old_string": "Green", "new_string": "White"}, "String not found"),
        ("read_file", {"file_path": file}, "Black tea."),
        ("read_file", {"file_path": "/memories/none"}, "file_not_found"),
        ("ls", {"path": "/memories"}, file),
        ("glob", {"pattern": "*.md", "path": "/memories"}, file),
        ("grep", {"pattern": "Black", "path": "/memories"}, file),
        ("write_file", {"file_path": "/draft", "content": "of the agent alone"}, "Updated file"),
    ]
    script = [[call_of(tool, f"t{number}", **arguments)] for number, (tool, arguments, _) in enumerate(calls)]
    with ScriptedServer([*script, [text("Noted.")]]) as server:
        assert run("deep_agent.py", server, path, "Go.") == ["Noted."]
    for (tool, _, expected), [result] in zip(calls, server.results(), strict=True):
        assert expected in text_of(result["content"]), (tool, result)
    with inmost.Store.open(path, passphrase=PHRASE) as store:
        assert [entry.path for entry in store.files.walk()] == [file]
        assert store.files.read(file) == "Black tea.\n"
