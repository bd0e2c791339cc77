"""What the adapters for frameworks have in common: they run a model's calls and report a failing store."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

from ._inmost import MemoryTool, Store, ToolResult
from .errors import StoreError

OnStoreError = Callable[[StoreError], None]

_log = logging.getLogger("inmost")


def log_store_error(error: StoreError) -> None:
    """Logs why the store failed. No message of a store error contains a path or a text of the memory."""
    _log.error("%s", error)


class Calls:
    """Runs the calls of a model."""

    def __init__(self, memory: Store | MemoryTool, on_store_error: OnStoreError | None) -> None:
        self._tool = memory.memory_tool() if isinstance(memory, Store) else memory
        self._on_store_error = on_store_error or log_store_error

    def run(self, call: object) -> ToolResult:
        """Runs the `input` of a `tool_use` block, as the framework parsed it."""
        # A string would be taken for the JSON of a call.
        return self._reported(self._tool.call(call if isinstance(call, dict) else json.dumps(call)))

    def clear(self) -> ToolResult:
        """Deletes everything in the tool's memory."""
        return self._reported(self._tool.clear())

    def _reported(self, result: ToolResult) -> ToolResult:
        if result.store_error is not None:
            self._on_store_error(result.store_error)
        return result
