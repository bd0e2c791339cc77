"""A model server on loopback that makes the tool calls of a script, one a message.

It serves real coding clients, so that a test runs their whole path to the memory tool without a network. It speaks the
streaming forms of the Messages API, of the Responses API and of `generateContent`.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = "All calls are done."


class ScriptedModel:
    """Makes each of `calls` in turn, and keeps the results and the schema of the memory tool that the client sends.

    A call is the input of the memory tool, or a pair: the name of another tool and its input.
    """

    def __init__(self, calls: list[dict | tuple[str, dict | str]], before_call=None):
        self.calls = calls
        self.before_call = before_call or (lambda number: None)
        self.is_of_memory = any(isinstance(call, dict) for call in calls)
        # What the client has sent.
        self.requests: list[str] = []
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

    def next_call(self, results: list[tuple[str, bool]], tools: dict[str, dict], memory: str) -> tuple[str, dict | str] | None:
        """The tool and the input that follow these results; `None` after the last. `memory` is the name of the memory tool.

        Clients also ask small questions without the tool, such as for a title: `None` too.
        """
        with self.lock:
            call = self.calls[min(len(results), len(self.calls) - 1)]
            name, arguments = (memory, call) if isinstance(call, dict) else call
            if name not in tools:
                return None
            self.results = results
            self.schema = tools.get(memory, {})
            if len(results) == len(self.calls):
                return None
            self.before_call(len(results))
            return name, arguments


def messages(model: ScriptedModel, request: dict) -> list[dict]:
    """The events of the next message in the Messages API."""
    tools = {tool["name"]: tool.get("input_schema", {}) for tool in request.get("tools", [])}
    results = [
        (texts(block.get("content", "")), bool(block.get("is_error")))
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    call = model.next_call(results, tools, MESSAGES_TOOL)
    if call is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
    else:
        name, arguments = call
        block = {"type": "tool_use", "id": f"toolu_{len(results):04}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
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
    ended = [item for item in request["input"] if item["type"] in ("function_call_output", "custom_tool_call_output")]
    results = [(texts(item["output"]), False) for item in ended]
    tools = {tool["name"]: tool.get("parameters", {}) for tool in request.get("tools", []) if "name" in tool}
    found = [tool for item in request["input"] if item["type"] == "tool_search_output" for tool in item["tools"]]
    namespace = next((tool for tool in request.get("tools", []) + found if tool.get("name") == RESPONSES_NAMESPACE), None)
    if namespace is not None:
        tools[RESPONSES_TOOL] = namespace["tools"][0]["parameters"]
    call_id = f"call_{len(results)}"
    if namespace is None and model.is_of_memory:
        # Codex shows some models the first words of a server's instructions, and its tools after a search.
        item = {"type": "tool_search_call", "id": "ts_0", "call_id": "call_s", "execution": "client", "status": "completed"}
        item["arguments"] = {"query": "memory"}
    elif (call := model.next_call(results, tools, RESPONSES_TOOL)) is None:
        content = [{"type": "output_text", "text": DONE}]
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": content}
    elif isinstance(call[1], str):
        item = {"type": "custom_tool_call", "id": f"ct_{len(results)}", "call_id": call_id, "name": call[0], "input": call[1]}
    else:
        item = {"type": "function_call", "id": f"fc_{len(results)}", "call_id": call_id, "name": call[0]}
        item["arguments"] = json.dumps(call[1])
        if call[0] == RESPONSES_TOOL:
            item["namespace"] = RESPONSES_NAMESPACE
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": None, "output_tokens_details": None}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage | details}},
    ]


RESPONSES_NAMESPACE = "mcp__inmost"
RESPONSES_TOOL = "memory"


def generate_content(model: ScriptedModel, request: dict) -> list[dict]:
    """The one event of the next response of `streamGenerateContent`."""
    declared = [function for tool in request.get("tools", []) for function in tool.get("functionDeclarations", [])]
    tools = {one["name"]: one["parametersJsonSchema"] for one in declared}
    parts = [part for content in request["contents"] for part in content.get("parts", [])]
    results = [unwrapped(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
    call = model.next_call(results, tools, GEMINI_TOOL)
    part = {"text": DONE} if call is None else {"functionCall": {"name": call[0], "args": call[1]}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return [{"candidates": [candidate], "usageMetadata": {"totalTokenCount": 2}}]


def unwrapped(response: dict) -> tuple[str, bool]:
    """A result without what Gemini CLI writes around it."""
    if "error" in response:
        if " with response: " not in response["error"]:
            return response["error"], True
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
            text = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            model.requests.append(text)
            request = json.loads(text)
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
