// The adapter for @anthropic-ai/sdk, with the real tool runner against a scripted server.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { memoryTool } from 'inmost/anthropic';

import { call, memoryStore, scriptedServer, text } from './support.mjs';

const ROOT = '/memories';
const LISTING = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:";

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

/** The block that the runner is expected to send. */
function result(id, content, isError) {
  const block = { type: 'tool_result', tool_use_id: id, content };
  return isError ? { ...block, is_error: true } : block;
}

// What the model calls, and what it reads.
const SESSION = [
  [{ command: 'view', path: ROOT }, `${LISTING}\n0B\t/memories`],
  [
    { command: 'create', path: `${ROOT}/ada.md`, file_text: 'Ada prefers tea ☕.\nTall\n' },
    'File created successfully at: /memories/ada.md',
  ],
  [
    { command: 'view', path: `${ROOT}/ada.md` },
    "Here's the content of /memories/ada.md with line numbers:\n     1\tAda prefers tea ☕.\n     2\tTall",
  ],
  [
    { command: 'view', path: `${ROOT}/ada.md`, view_range: [2, 2] },
    "Here's the content of /memories/ada.md with line numbers:\n     2\tTall",
  ],
  [{ command: 'create', path: `${ROOT}/ada.md`, file_text: '' }, 'Error: File /memories/ada.md already exists', true],
  [
    { command: 'str_replace', path: `${ROOT}/ada.md`, old_str: 'coffee', new_str: 'tea' },
    'No replacement was performed, old_str `coffee` did not appear verbatim in /memories/ada.md.',
    true,
  ],
  [
    { command: 'str_replace', path: `${ROOT}/ada.md`, old_str: 'Tall', new_str: '$& $1 $$' },
    'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tAda prefers tea ☕.\n     2\t$& $1 $$',
  ],
  [
    { command: 'insert', path: `${ROOT}/ada.md`, insert_line: 2, insert_text: 'Kind\n' },
    'The file /memories/ada.md has been edited.',
  ],
  // An alias: the text of an insert under the name that another tool has for it.
  [
    { command: 'insert', path: `${ROOT}/ada.md`, insert_line: '0', new_str: '# Ada\n' },
    'The file /memories/ada.md has been edited.',
  ],
  [
    { command: 'rename', old_path: `${ROOT}/ada.md`, new_path: `${ROOT}/people/ada.md` },
    'Successfully renamed /memories/ada.md to /memories/people/ada.md',
  ],
  [{ command: 'delete', path: `${ROOT}/ada.md` }, 'Error: The path /memories/ada.md does not exist', true],
  [{ command: 'view', path: '/etc/passwd' }, 'Error: Path must start with /memories, got: /etc/passwd', true],
  [{ command: 'view' }, 'Error: Missing required parameter `path` for command view', true],
  [
    { command: 'bogus' },
    'Error: Unknown command: bogus. Valid commands: view, create, str_replace, insert, delete, rename',
    true,
  ],
  [{ command: 'delete', path: `${ROOT}/people` }, 'Successfully deleted /memories/people'],
];

async function checkSession(t, adapter, Client) {
  const store = await memoryStore(t);
  const script = SESSION.map(([input], number) => [call(`t${number}`, input)]);
  const server = await scriptedServer(t, [...script, [text('Done.')]]);
  assert.equal(await run(server, adapter(store), Client), 'Done.');
  const expected = SESSION.map(([, content, isError], number) => [result(`t${number}`, content, isError)]);
  assert.deepEqual(server.results(), expected);
  assert.deepEqual(server.requests[0].tools, [{ type: 'memory_20250818', name: 'memory' }]);
  assert.deepEqual(await store.files.list(), []);
}

test('a runner gets the exact results', (t) => checkSession(t, memoryTool, Anthropic));

test('a runner gets the exact results from modules that were required', (t) => {
  const require = createRequire(import.meta.url);
  return checkSession(t, require('inmost/anthropic').memoryTool, require('@anthropic-ai/sdk').Anthropic);
});

test('parallel calls have a result each, in their order', async (t) => {
  const store = await memoryStore(t);
  const calls = Array.from({ length: 12 }, (_, n) =>
    call(`t${n}`, { command: 'create', path: `${ROOT}/${n}`, file_text: String(n) }),
  );
  const server = await scriptedServer(t, [calls, [text('Done.')]]);
  await run(server, memoryTool(store));
  assert.deepEqual(server.results(), [
    Array.from({ length: 12 }, (_, n) => result(`t${n}`, `File created successfully at: /memories/${n}`)),
  ]);
  for (let n = 0; n < 12; n += 1) assert.equal(await store.files.read(`${ROOT}/${n}`), String(n));
});

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

test('a lock in the middle is the application’s error', async (t) => {
  const store = await memoryStore(t);
  const server = await scriptedServer(t, [
    [call('t1', { command: 'create', path: `${ROOT}/a`, file_text: '1' })],
    [call('t2', { command: 'view', path: `${ROOT}/a` })],
    [text('Sorry.')],
  ]);
  server.onRequest = async (number) => number === 1 && (await store.lock());
  const errors = [];
  assert.equal(await run(server, memoryTool(store, { onStoreError: (error) => errors.push(error) })), 'Sorry.');
  assert.deepEqual(server.results(), [
    [result('t1', 'File created successfully at: /memories/a')],
    [result('t2', 'Error: Memory is locked.', true)],
  ]);
  assert.deepEqual(errors.map((error) => [error.name, error.code]), [['StoreError', 'Locked']]);
});

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
