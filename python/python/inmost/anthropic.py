"""The memory tool for `tool_runner` of the package `anthropic`.

    import anthropic, inmost
    from inmost.anthropic import MemoryTool

    client = anthropic.Anthropic()
    with inmost.Store.open("claude.inmost", passphrase=...) as store:
        runner = client.beta.messages.tool_runner(
            model=..., max_tokens=..., messages=[...], tools=[MemoryTool(store)]
        )
        message = runner.until_done()

`AsyncMemoryTool` is for `AsyncAnthropic`. Both also take a `store.memory_tool(...)` with options.

If the store fails, the model reads that its memory is locked or unavailable, and the application gets the
`inmost.StoreError` through `on_store_error`; by default it is logged.

The package `anthropic` can record traces. With `content_mode="content"` it copies the arguments and the results of tool
calls into its spans, and so the memory into the place where traces are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio import to_thread

from ._calls import Calls, OnStoreError
from ._inmost import MemoryTool as _MemoryTool, Store, ToolResult

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818Command,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

__all__ = ["AsyncMemoryTool", "MemoryTool"]


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool on an encrypted store, for `anthropic.Anthropic`."""

    def __init__(
        self,
        memory: Store | _MemoryTool,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        on_store_error: OnStoreError | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._calls = Calls(memory, on_store_error)

    def call(self, input: object) -> str:
        """Runs a call as the model sent it."""
        return _content(self._calls.run(input))

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Runs a call that the SDK has parsed."""
        return self.call(command.to_dict())

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self.execute(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self.execute(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self.execute(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self.execute(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self.execute(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self.execute(command)

    def clear_all_memory(self) -> str:
        """Deletes everything in the tool's memory, hidden files included."""
        return _content(self._calls.clear())


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool on an encrypted store, for `anthropic.AsyncAnthropic`. Calls run on threads of anyio.

    A call that is cancelled still runs to its end on its thread.
    """

    def __init__(
        self,
        memory: Store | _MemoryTool,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
        on_store_error: OnStoreError | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._calls = Calls(memory, on_store_error)

    async def call(self, input: object) -> str:
        """Runs a call as the model sent it."""
        return _content(await to_thread.run_sync(self._calls.run, input))

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Runs a call that the SDK has parsed."""
        return await self.call(command.to_dict())

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self.execute(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self.execute(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self.execute(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self.execute(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self.execute(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self.execute(command)

    async def clear_all_memory(self) -> str:
        """Deletes everything in the tool's memory, hidden files included."""
        return _content(await to_thread.run_sync(self._calls.clear))


def _content(result: ToolResult) -> str:
    if result.is_error:
        raise ToolError(result.content)
    return result.content
