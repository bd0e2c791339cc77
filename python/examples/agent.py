"""An agent with an encrypted memory.

    export ANTHROPIC_API_KEY=... INMOST_PASSPHRASE='correct horse battery staple'
    python agent.py claude.inmost 'Plan the garden with me.'

It creates the store if it does not exist. `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL` choose another endpoint and model.
"""

import os
import sys
from datetime import timedelta
from getpass import getpass
from pathlib import Path

import anthropic

import inmost
from inmost.anthropic import MemoryTool


def open_store(path: Path) -> inmost.Store:
    """The store, with the passphrase from the environment or from the terminal."""
    passphrase = os.environ.get("INMOST_PASSPHRASE") or getpass("Passphrase: ")
    if path.exists():
        return inmost.Store.open(path, passphrase=passphrase)
    return inmost.Store.create(path, passphrase=passphrase, history=timedelta(days=30))


def main() -> None:
    path, task = Path(sys.argv[1]), sys.argv[2]
    with open_store(path) as store, anthropic.Anthropic() as client:
        # The label says in the history who made a change; the screen keeps keys and card numbers out of the memory.
        memory = store.memory_tool(actor="garden-agent", screen="redact")
        runner = client.beta.messages.tool_runner(
            model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"),
            max_tokens=4096,
            messages=[{"role": "user", "content": task}],
            tools=[MemoryTool(memory)],
        )
        for message in runner:
            for block in message.content:
                if block.type == "text":
                    print(block.text)


main()
