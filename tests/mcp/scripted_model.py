"""A model server on loopback that makes the tool calls of a script, one a message.

It serves real coding clients, so that a test runs their whole path to the memory tool without a network. It speaks the
streaming forms of the Messages API, of the Responses API and of `generateContent`.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = "All calls are done."


class ScriptedModel:
    """Makes each of `calls` in turn, and keeps the results and the schema of the tool that the client sends."""

    def __init__(self, calls: list[dict], before_call=None):
        self.calls = calls
        self.before_call = before_call or (lambda number: None)
        self.results: list[tuple[str, bool]] = []
        self.schema: dict = {}
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def next_call(self, results: list[tuple[str, bool]], schema: dict) -> dict | None:
        """The call that follows these results; `None` after the last."""
        with self.lock:
            self.results = results
            self.schema = schema
            if len(results) == len(self.calls):
                return None
            self.before_call(len(results))
            return self.calls[len(results)]


def messages(model: ScriptedModel, request: dict) -> list[dict]:
    """The events of the next message in the Messages API."""
    schema = next((tool["input_schema"] for tool in request.get("tools", []) if tool.get("name") == MESSAGES_TOOL), None)
    results = [
        (texts(block.get("content", "")), bool(block.get("is_error")))
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    # Clients also ask small questions without the tool, such as for a title.
    call = model.next_call(results, schema) if schema else None
    if call is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
    else:
        block = {"type": "tool_use", "id": f"toolu_{len(results):04}", "name": MESSAGES_TOOL, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": []}
    stop = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]


MESSAGES_TOOL = "mcp__inmost__memory"


def responses(model: ScriptedModel, request: dict) -> list[dict]:
    """The events of the next response in the Responses API. Its results do not say whether they are errors."""
    results = [(texts(item["output"]), False) for item in request["input"] if item["type"] == "function_call_output"]
    found = [tool for item in request["input"] if item["type"] == "tool_search_output" for tool in item["tools"]]
    namespace = next((tool for tool in request["tools"] + found if tool.get("name") == RESPONSES_NAMESPACE), None)
    if namespace is None:
        # Codex shows some models the first words of a server's instructions, and its tools after a search.
        item = {"type": "tool_search_call", "id": "ts_0", "call_id": "call_s", "execution": "client", "status": "completed"}
        item["arguments"] = {"query": "memory"}
    elif (call := model.next_call(results, namespace["tools"][0]["parameters"])) is None:
        content = [{"type": "output_text", "text": DONE}]
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": content}
    else:
        item = {
            "type": "function_call",
            "id": f"fc_{len(results)}",
            "call_id": f"call_{len(results)}",
            "namespace": RESPONSES_NAMESPACE,
            "name": "memory",
            "arguments": json.dumps(call),
        }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": None, "output_tokens_details": None}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage | details}},
    ]


RESPONSES_NAMESPACE = "mcp__inmost"


def generate_content(model: ScriptedModel, request: dict) -> list[dict]:
    """The one event of the next response of `streamGenerateContent`."""
    declared = [function for tool in request.get("tools", []) for function in tool.get("functionDeclarations", [])]
    schema = next((one["parametersJsonSchema"] for one in declared if one["name"] == GEMINI_TOOL), None)
    parts = [part for content in request["contents"] for part in content.get("parts", [])]
    results = [unwrapped(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
    call = model.next_call(results, schema) if schema else None
    part = {"text": DONE} if call is None else {"functionCall": {"name": GEMINI_TOOL, "args": call}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return [{"candidates": [candidate], "usageMetadata": {"totalTokenCount": 2}}]


def unwrapped(response: dict) -> tuple[str, bool]:
    """A result without what Gemini CLI writes around it."""
    if "error" in response:
        (told,) = json.loads(response["error"].split(" with response: ", 1)[1])
        return texts(told["functionResponse"]["response"]["content"]), True
    return response["output"].removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>"), False


GEMINI_TOOL = "mcp_inmost_memory"


def texts(content: str | list[dict]) -> str:
    """The last text of a result; some clients put a line of their own before it."""
    if isinstance(content, str):
        return content
    return content[-1].get("text", "") if content else ""


def handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.reply(200, b"")

        def do_GET(self):
            self.reply(404, b"{}")

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            path = self.path.split("?")[0]
            speak = {"/v1/messages": messages, "/v1/responses": responses}.get(path)
            if path.endswith(":streamGenerateContent"):
                speak = generate_content
            if speak is None:
                self.reply(404, b"{}")
                return
            events = speak(model, request)
            lines = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
            text = "".join(line + f"data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True))
            self.reply(200, text.encode(), "text/event-stream")

        def reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
