"""A deep agent of LangChain (package `deepagents`) whose files below /memories are in an encrypted store.

    pip install './python[deepagents]'
    export ANTHROPIC_API_KEY=... INMOST_PASSPHRASE='correct horse battery staple'
    python deep_agent.py claude.inmost 'Plan the garden with me.'

The agent has file tools of its own, so this is a backend for them, and not the memory tool. Other files stay in the state of
the agent.
"""

import os
import sys

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_anthropic import ChatAnthropic

import inmost
from inmost.deepagents import InmostBackend


def main() -> None:
    path, task = sys.argv[1:]
    with inmost.Store.open(path, passphrase=os.environ["INMOST_PASSPHRASE"], actor="deep-agent") as store:
        model = ChatAnthropic(model_name=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5-5"), timeout=None, stop=None)
        backend = CompositeBackend(default=StateBackend(), routes={"/memories/": InmostBackend(store)})
        agent = create_deep_agent(model=model, backend=backend)
        reply = agent.invoke({"messages": [{"role": "user", "content": task}]})
        print(reply["messages"][-1].text)


if __name__ == "__main__":
    main()
