"""A long task in a short context: old tool results are cleared, and the memory keeps what matters.

    python context_editing.py claude.inmost 'Review every file in src/.'

This is the documentation's example of context editing with the memory tool. Before old tool results are cleared, the
model is warned, and saves what it needs in its memory. The calls of the memory tool itself are not cleared.
"""

import os
import sys

import anthropic
from anthropic.types.beta import BetaContextManagementConfigParam

import inmost
from inmost.anthropic import MemoryTool

CONTEXT_EDITING: BetaContextManagementConfigParam = {
    "edits": [
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 100_000},
            "keep": {"type": "tool_uses", "value": 3},
            "exclude_tools": ["memory"],
        }
    ]
}


def main() -> None:
    path, task = sys.argv[1:]
    passphrase = os.environ["INMOST_PASSPHRASE"]
    with inmost.Store.open(path, passphrase=passphrase) as store, anthropic.Anthropic() as client:
        runner = client.beta.messages.tool_runner(
            model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"),
            max_tokens=4096,
            messages=[{"role": "user", "content": task}],
            tools=[MemoryTool(store)],
            context_management=CONTEXT_EDITING,
            betas=["context-management-2025-06-27"],
        )
        message = runner.until_done()
        print("".join(block.text for block in message.content if block.type == "text"))


main()
