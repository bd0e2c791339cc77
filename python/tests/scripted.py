"""A model server that follows a script: it returns one reply after the other and records the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]


def call(identifier: str, **arguments: Any) -> Block:
    """A block with which the model calls the memory tool."""
    return call_of("memory", identifier, **arguments)


def call_of(tool: str, identifier: str, **arguments: Any) -> Block:
    """A block with which the model calls another tool."""
    return {"type": "tool_use", "id": identifier, "name": tool, "input": arguments}


def text(content: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": content}


def step_of(request: dict[str, Any]) -> int:
    """How many replies come before that to a request: those that it has, or those before the one that it continues."""
    continued = request.get("thread", {}).get("previous_message_id")
    if continued is not None:
        return int(continued.removeprefix("msg_")) + 1
    return sum(message["role"] == "assistant" for message in request["messages"])


class ScriptedServer:
    """Use it in a `with` statement.

    A step of the script is the content of a reply. A conversation is at the step that its replies so far lead to, so
    several conversations can follow the script at once.
    """

    def __init__(self, script: Iterable[list[Block]]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.on_request: Callable[[int], None] = lambda number: None
        """Called with the number of each request, from 0, before it is answered."""
        self._script = list(script)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedServer:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def results(self) -> list[list[Block]]:
        """The blocks that answer the calls of each step."""
        return [request["messages"][-1]["content"] for request in self.requests[1:]]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                number = len(scripted.requests)
                scripted.requests.append(json.loads(body))
                scripted.on_request(number)
                reply = json.dumps(scripted._reply(step_of(scripted.requests[number]))).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def _reply(self, step: int) -> dict[str, Any]:
        content = self._script[step]
        calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_{step}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
