// The adapter for LangChain, with a real agent against a scripted server.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { ChatAnthropic } from '@langchain/anthropic';
import { memoryTool } from 'inmost/langchain';
import { createAgent, createMiddleware } from 'langchain';

import { checkLock, checkParallelCalls, checkSession, result, ROOT } from './adapter.mjs';
import { call, memoryStore, scriptedServer, text } from './support.mjs';

async function messages(server, tool, { Model = ChatAnthropic, create = createAgent, middleware = [] } = {}) {
  const model = new Model({ model: 'scripted', apiKey: 'none', anthropicApiUrl: server.url, maxRetries: 0 });
  const agent = create({ model, tools: [tool], middleware });
  return (await agent.invoke({ messages: [{ role: 'user', content: 'Go.' }] }, { recursionLimit: 100 })).messages;
}

const run = async (server, memory, options) => (await messages(server, memoryTool(memory, options))).at(-1).text;

// @langchain/anthropic does not send the status of a tool message.
const block = (id, content) => result(id, content);

test('an agent gets the exact results', (t) => checkSession(t, run, block));

test('an agent gets the exact results from modules that were required', (t) => {
  const require = createRequire(import.meta.url);
  const framework = { Model: require('@langchain/anthropic').ChatAnthropic, create: require('langchain').createAgent };
  const adapter = require('inmost/langchain').memoryTool;
  return checkSession(t, async (server, memory) => (await messages(server, adapter(memory), framework)).at(-1).text, block);
});

test('parallel calls have a result each, in their order', (t) => checkParallelCalls(t, run));

test('a lock in the middle is the application’s error', (t) => checkLock(t, run, block));

const SCRIPT = [
  [call('t1', { command: 'view', path: `${ROOT}/none` }), call('t2', { command: 'view', path: ROOT })],
  [text('Done.')],
];

for (const middleware of [[], [createMiddleware({ name: 'Plain', wrapToolCall: (request, next) => next(request) })]]) {
  test(`a mistake of the model is a tool message with the status error, with ${middleware.length} middlewares`, async (t) => {
    const server = await scriptedServer(t, SCRIPT);
    const all = await messages(server, memoryTool(await memoryStore(t)), { middleware });
    const [mistake, listing] = all.filter((message) => message.type === 'tool');
    assert.deepEqual([mistake.status, mistake.name, mistake.tool_call_id], ['error', 'memory', 't1']);
    assert.deepEqual([listing.status, listing.name, listing.tool_call_id], ['success', 'memory', 't2']);
  });
}

test('without a tool call, the tool returns the text', async (t) => {
  const tool = memoryTool(await memoryStore(t));
  assert.equal(await tool.invoke({ command: 'delete', path: `${ROOT}/none` }), 'Error: The path /memories/none does not exist');
});
