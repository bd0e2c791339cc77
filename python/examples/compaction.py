"""A conversation that is compacted on the server: its summary stays, and the memory keeps what a summary would lose.

    python compaction.py claude.inmost < questions.txt

Each line of the input is a message of the user. When the conversation grows too long, the API replaces its beginning by a
summary, in a block of the type `compaction`. The program sends the reply back as it came, and the summary with it. The
memory tool is unaffected: its calls before the summary are gone from the context, and their files are still there.
"""

import os
import sys

import anthropic
from anthropic.types.beta import BetaContextManagementConfigParam, BetaMessageParam

import inmost
from inmost.anthropic import MemoryTool

COMPACTION: BetaContextManagementConfigParam = {
    "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 150_000}}]
}


def main() -> None:
    path = sys.argv[1]
    passphrase = os.environ["INMOST_PASSPHRASE"]
    messages: list[BetaMessageParam] = []
    with inmost.Store.open(path, passphrase=passphrase) as store, anthropic.Anthropic() as client:
        for question in sys.stdin:
            messages.append({"role": "user", "content": question.strip()})
            runner = client.beta.messages.tool_runner(
                model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"),
                max_tokens=4096,
                messages=messages,
                tools=[MemoryTool(store)],
                context_management=COMPACTION,
                betas=["compact-2026-01-12"],
            )
            for message in runner:
                results = runner.generate_tool_call_response()
                messages.append({"role": "assistant", "content": message.content})
                if results is not None:
                    messages.append(results)
                for block in message.content:
                    if block.type == "text":
                        print(block.text)


main()
