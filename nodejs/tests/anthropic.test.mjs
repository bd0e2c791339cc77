// The adapter for @anthropic-ai/sdk, with the real tool runner against a scripted server.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import Newest from 'anthropic-sdk-newest';
import { ToolError as NewestToolError } from 'anthropic-sdk-newest/lib/tools/ToolError';
import { memoryTool } from 'inmost/anthropic';

import { checkLock, checkParallelCalls, checkSession, result, ROOT } from './adapter.mjs';
import { call, memoryStore, scriptedServer, text } from './support.mjs';

async function run(server, tool, Client = Anthropic) {
  const client = new Client({ apiKey: 'none', baseURL: server.url, maxRetries: 0 });
  const message = await client.beta.messages.toolRunner({
    model: 'scripted',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Go.' }],
    tools: [tool],
  });
  return message.content[0].text;
}

const runStore = (server, memory, options) => run(server, memoryTool(memory, options));

test('a runner gets the exact results', (t) => checkSession(t, runStore));

test('a runner gets the exact results from modules that were required', (t) => {
  const require = createRequire(import.meta.url);
  const [adapter, Client] = [require('inmost/anthropic').memoryTool, require('@anthropic-ai/sdk').Anthropic];
  return checkSession(t, (server, memory) => run(server, adapter(memory), Client));
});

// As in a monorepo, or where this package is installed as a folder: the adapter finds its own copy of the SDK.
test('a runner of another SDK gets the exact results with its class of errors', (t) =>
  checkSession(t, (server, memory) => run(server, memoryTool(memory, { ToolError: NewestToolError }), Newest)));

test('a runner of another SDK writes `Error: ` once before a mistake', async (t) => {
  const inputs = [{ command: 'view' }, { command: 'view', path: `${ROOT}/none` }];
  const server = await scriptedServer(t, [...inputs.map((input, number) => [call(`t${number}`, input)]), [text('Done.')]]);
  await run(server, memoryTool(await memoryStore(t)), Newest);
  assert.deepEqual(server.results(), [
    [result('t0', 'Error: Missing required parameter `path` for command view', true)],
    [result('t1', 'Error: The path /memories/none does not exist. Please provide a valid path.', true)],
  ]);
});

test('parallel calls have a result each, in their order', (t) => checkParallelCalls(t, runStore));

test('parallel edits of one file are all kept', async (t) => {
  const store = await memoryStore(t);
  await store.files.write(`${ROOT}/log`, '');
  const insert = { command: 'insert', path: `${ROOT}/log`, insert_line: 0 };
  const calls = Array.from({ length: 20 }, (_, n) => call(`t${n}`, { ...insert, insert_text: `${n}\n` }));
  const server = await scriptedServer(t, [calls, [text('Done.')]]);
  await run(server, memoryTool(store));
  const lines = (await store.files.read(`${ROOT}/log`)).trimEnd().split('\n').map(Number);
  assert.deepEqual(lines.sort((a, b) => a - b), Array.from({ length: 20 }, (_, n) => n));
});

test('a lock in the middle is the application’s error', (t) => checkLock(t, runStore));

test('a failing store is a warning without content', async (t) => {
  const store = await memoryStore(t);
  await store.lock();
  const warning = new Promise((resolve) => process.once('warning', resolve));
  await assert.rejects(memoryTool(store).run({ command: 'view', path: `${ROOT}/bluebird` }), ToolError);
  const { name, code, message } = await warning;
  assert.deepEqual([name, code], ['InmostWarning', 'Locked']);
  assert.doesNotMatch(message, /bluebird/);
});

test('options come with the memory tool, and properties with its definition', async (t) => {
  const store = await memoryStore(t);
  await store.files.write(`${ROOT}/x/plan.md`, 'Dig.\n');
  const tool = store.memoryTool({ readOnly: true, subtree: `${ROOT}/x` });
  const server = await scriptedServer(t, [
    [call('t1', { command: 'view', path: `${ROOT}/plan.md` })],
    [call('t2', { command: 'delete', path: `${ROOT}/plan.md` })],
    [text('Done.')],
  ]);
  const definition = { cache_control: { type: 'ephemeral' } };
  await run(server, memoryTool(tool, { definition }));
  assert.deepEqual(server.requests[0].tools, [{ ...definition, type: 'memory_20250818', name: 'memory' }]);
  assert.deepEqual(server.results(), [
    [result('t1', "Here's the content of /memories/plan.md with line numbers:\n     1\tDig.")],
    [result('t2', 'Error: Memory is read-only.', true)],
  ]);
});

test('an input that is no object is the model’s mistake', async (t) => {
  const tool = memoryTool(await memoryStore(t));
  for (const input of [undefined, null, 'view', '{"command": "view", "path": "/memories"}', ['view'], 7]) {
    await assert.rejects(tool.run(input), (error) => {
      assert(error instanceof ToolError);
      assert.match(error.content, /Invalid tool input/);
      return true;
    });
  }
});
