"""The memory tool for LangChain agents on `ChatAnthropic`.

    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic
    from inmost.langchain import MemoryTool

    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        agent = create_agent(ChatAnthropic(model=...), tools=[MemoryTool(store)])
        agent.invoke({"messages": [{"role": "user", "content": "Plan the garden with me."}]})

It also takes a `store.memory_tool(...)` with options. Asynchronous agents run it on threads.
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from ._calls import Calls, OnStoreError
from ._inmost import MemoryTool as _MemoryTool, Store, ToolResult

__all__ = ["MemoryTool"]


class MemoryTool(BaseTool):
    """The memory tool on an encrypted store."""

    name: str = "memory"
    description: str = "The memory of the agent: files below /memories."
    # The model knows the tool; no schema is sent.
    args_schema: Any = {"type": "object", "properties": {"command": {"type": "string"}}}
    extras: dict[str, Any] | None = {"provider_tool_definition": {"type": "memory_20250818", "name": "memory"}}
    # A failed call is a tool message with the status `error`.
    handle_tool_error: Any = True
    _calls: Calls = PrivateAttr()

    def __init__(self, memory: Store | _MemoryTool, *, on_store_error: OnStoreError | None = None) -> None:
        super().__init__()
        self._calls = Calls(memory, on_store_error)

    # `self` is positional, because a model may send any name.
    def _run(self, /, **call: Any) -> str:
        return _content(self._calls.run(call))

    async def _arun(self, /, **call: Any) -> str:
        return _content(await asyncio.to_thread(self._calls.run, call))


def _content(result: ToolResult) -> str:
    if result.is_error:
        raise ToolException(result.content)
    return result.content
