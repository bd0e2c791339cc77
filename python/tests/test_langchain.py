"""The adapter for LangChain, with an agent of the framework against the scripted server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from frameworks import CALLS, PARALLEL, expected, sent
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from pydantic import SecretStr
from scripted import ScriptedServer, text

import inmost
from inmost import errors
from inmost.langchain import MemoryTool


def run(server: ScriptedServer, tool: MemoryTool, *, asynchronous: bool) -> None:
    model = ChatAnthropic(
        model_name="scripted", api_key=SecretStr("none"), base_url=server.url, max_retries=0, timeout=None, stop=None
    )
    agent: Any = create_agent(model, tools=[tool])
    question = {"messages": [{"role": "user", "content": "Go."}]}
    if asynchronous:
        asyncio.run(agent.ainvoke(question))
    else:
        agent.invoke(question)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("parallel", [False, True])
def test_an_agent_gets_the_exact_results(asynchronous: bool, parallel: bool, store: inmost.Store) -> None:
    calls = PARALLEL if parallel else list(range(len(CALLS)))
    blocks = [CALLS[number] for number in calls]
    script = [blocks] if parallel else [[block] for block in blocks]
    with ScriptedServer([*script, [text("Done.")]]) as server:
        run(server, MemoryTool(store), asynchronous=asynchronous)
    assert server.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert sent(server) == expected(calls)


@pytest.mark.filterwarnings("ignore")
def test_a_locked_store_is_the_applications_error(store: inmost.Store) -> None:
    reported: list[inmost.StoreError] = []
    store.lock()
    with ScriptedServer([[CALLS[0]], [text("Sorry.")]]) as server:
        run(server, MemoryTool(store, on_store_error=reported.append), asynchronous=False)
    assert sent(server) == [("t1", "Error: Memory is locked.", True)]
    assert [type(error) for error in reported] == [errors.Locked]
