"""The agent loop without a framework: requests by the standard library alone.

    export ANTHROPIC_API_KEY=... INMOST_PASSPHRASE='correct horse battery staple'
    python raw_loop.py claude.inmost 'Plan the garden with me.'
"""

import json
import os
import sys
import urllib.request
from typing import Any

import inmost

URL = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com") + "/v1/messages"


def send(messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = {
        "model": os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"),
        "max_tokens": 4096,
        "tools": [inmost.TOOL_DEFINITION],
        "messages": messages,
    }
    headers = {
        "content-type": "application/json",
        "x-api-key": os.environ["ANTHROPIC_API_KEY"],
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "context-management-2025-06-27",
    }
    request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        reply: dict[str, Any] = json.load(response)
    return reply


def main() -> None:
    path, task = sys.argv[1:]
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    with inmost.Store.open(path, passphrase=os.environ["INMOST_PASSPHRASE"]) as store:
        memory = store.memory_tool()
        while True:
            reply = send(messages)
            results = [memory.call(block).to_dict() for block in reply["content"] if block["type"] == "tool_use"]
            print("".join(block["text"] for block in reply["content"] if block["type"] == "text"))
            if not results:
                return
            messages.append({"role": "assistant", "content": reply["content"]})
            messages.append({"role": "user", "content": results})


main()
