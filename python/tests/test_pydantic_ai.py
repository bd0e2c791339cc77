"""The adapter for Pydantic AI, with an agent of the framework against the scripted server."""

from __future__ import annotations

import pytest
from anthropic import AsyncAnthropic
from frameworks import CALLS, PARALLEL, expected, sent
from pydantic_ai import Agent, ModelSettings
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from scripted import ScriptedServer, text

import inmost
from inmost import errors
from inmost.pydantic_ai import Memory


async def run(server: ScriptedServer, memory: Memory) -> str:
    # With more tokens, the framework streams.
    settings: ModelSettings = {"max_tokens": 1000}
    async with AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0) as client:
        model = AnthropicModel("scripted", provider=AnthropicProvider(anthropic_client=client))
        result = await Agent(model, capabilities=[memory], model_settings=settings).run("Go.")
    return result.output


@pytest.mark.parametrize("parallel", [False, True])
async def test_an_agent_gets_the_exact_results(parallel: bool, store: inmost.Store) -> None:
    calls = PARALLEL if parallel else list(range(len(CALLS)))
    blocks = [CALLS[number] for number in calls]
    script = [blocks] if parallel else [[block] for block in blocks]
    with ScriptedServer([*script, [text("Done.")]]) as server:
        assert await run(server, Memory(store)) == "Done."
    assert server.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert sent(server) == expected(calls)


async def test_a_locked_store_is_the_applications_error(store: inmost.Store) -> None:
    reported: list[inmost.StoreError] = []
    store.lock()
    with ScriptedServer([[CALLS[0]], [text("Sorry.")]]) as server:
        await run(server, Memory(store, on_store_error=reported.append))
    assert sent(server) == [("t1", "Error: Memory is locked.", True)]
    assert [type(error) for error in reported] == [errors.Locked]
