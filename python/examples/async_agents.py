"""Two agents at once, each with a part of one encrypted memory, in an asynchronous program.

    python async_agents.py claude.inmost 'Plan the garden.' 'Plan the kitchen.'

The store is one that `inmost unlock` holds, so the program needs no passphrase.
"""

import asyncio
import os
import sys

import anthropic

import inmost
from inmost.anthropic import AsyncMemoryTool


async def work(client: anthropic.AsyncAnthropic, store: inmost.Store, name: str, task: str) -> str:
    memory = store.memory_tool(subtree=f"/memories/{name}", actor=name)
    runner = client.beta.messages.tool_runner(
        model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"),
        max_tokens=4096,
        messages=[{"role": "user", "content": task}],
        tools=[AsyncMemoryTool(memory)],
    )
    message = await runner.until_done()
    return "".join(block.text for block in message.content if block.type == "text")


async def main() -> None:
    path, *tasks = sys.argv[1:]
    # Calls go through one connection, one after the other. Key derivation and calls block, so they run on threads.
    store = await asyncio.to_thread(inmost.Store.connect, path)
    with store:
        async with anthropic.AsyncAnthropic() as client:
            agents = [work(client, store, f"agent-{number}", task) for number, task in enumerate(tasks, 1)]
            for text in await asyncio.gather(*agents):
                print(text)


asyncio.run(main())
