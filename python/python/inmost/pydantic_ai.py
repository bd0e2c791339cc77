"""The memory tool for agents of Pydantic AI on Anthropic's models.

    from pydantic_ai import Agent
    from inmost.pydantic_ai import Memory

    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        agent = Agent("anthropic:claude-sonnet-5-5", capabilities=[Memory(store)])
        result = agent.run_sync("Plan the garden with me.")

It also takes a `store.memory_tool(...)` with options. Calls run on threads of anyio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyio import to_thread
from pydantic_ai import FunctionToolset, Tool, ToolFailed
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.native_tools import MemoryTool as NativeMemoryTool

from ._calls import Calls, OnStoreError
from ._inmost import MemoryTool, Store

__all__ = ["Memory"]


class Memory(AbstractCapability[Any]):
    """The memory tool on an encrypted store: the model's own tool, and the function that runs its calls."""

    def __init__(self, memory: Store | MemoryTool, *, on_store_error: OnStoreError | None = None) -> None:
        self._calls = Calls(memory, on_store_error)

    def get_native_tools(self) -> Sequence[NativeMemoryTool]:
        return [NativeMemoryTool()]

    def get_toolset(self) -> FunctionToolset[Any]:
        calls = self._calls

        async def memory(**call: Any) -> str:
            result = await to_thread.run_sync(calls.run, call)
            if result.is_error:
                raise ToolFailed(result.content)
            return result.content

        description = "The memory of the agent: files below /memories."
        # The model knows the tool; no schema is sent.
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        return FunctionToolset([Tool.from_schema(memory, "memory", description, schema)])
