// The memory tool: what a call takes and returns, and its options.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TOOL_DEFINITION, ToolResult } from 'inmost';

import { all, memoryStore } from './support.mjs';

const VIEW = { command: 'view', path: '/memories' };
const LISTING = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n";

test('a call is an object, a string or bytes, and the input or the whole block', async (t) => {
  const memory = (await memoryStore(t)).memoryTool();
  const block = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: VIEW };
  for (const call of [VIEW, JSON.stringify(VIEW), Buffer.from(JSON.stringify(VIEW))]) {
    const { content, isError, toolUseId, storeError } = await memory.call(call);
    assert.deepEqual([content, isError, toolUseId, storeError], [`${LISTING}0B\t/memories`, false, null, null]);
  }
  const result = await memory.call(block);
  assert.equal(result.toolUseId, 'toolu_1');
  assert.deepEqual(result.toBlock(), {
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    content: `${LISTING}0B\t/memories`,
    is_error: false,
  });
  assert.throws(() => (new ToolResult('text', false, null, null)).toBlock(), { name: 'TypeError', message: /toolUseId must be/ });
  assert.equal((await memory.call(VIEW)).toBlock('toolu_2').tool_use_id, 'toolu_2');
  for (const call of [undefined, null, 7, true, Symbol('x')]) await assert.rejects(memory.call(call), TypeError);
});

test('a mistake of the model is a result, not an exception', async (t) => {
  const memory = (await memoryStore(t)).memoryTool();
  const mistakes = [
    [{ command: 'bogus' }, 'Error: Unknown command: bogus. Valid commands: view, create, str_replace, insert, delete, rename'],
    [{ command: 'view', path: '/etc/passwd' }, 'Error: Path must start with /memories, got: /etc/passwd'],
    ['{', 'Error: Invalid tool input: it is not valid JSON'],
    [Buffer.from([0xff]), 'Error: Invalid tool input: it is not valid JSON'],
  ];
  for (const [call, content] of mistakes) {
    const result = await memory.call(call);
    assert.deepEqual([result.content, result.isError, result.storeError], [content, true, null]);
  }
});

test('a lone surrogate reads the same in an object and in JSON', async (t) => {
  const store = await memoryStore(t);
  const memory = store.memoryTool();
  const create = { command: 'create', path: '/memories/a', file_text: 'x\ud800y' };
  const asObject = await memory.call(create);
  const asText = await memory.call('{"command": "create", "path": "/memories/a", "file_text": "x\ud800y"}');
  assert.equal(asText.isError, true);
  assert.equal(asText.content, asObject.isError ? asObject.content : 'Error: File /memories/a already exists');
  for (const content of ['x\ud800', '\udc00']) {
    await assert.rejects(store.files.write('/memories/b', content), TypeError);
  }
  assert.equal(await store.files.exists('/memories/b'), false);
});

test('options restrict what the model can do', async (t) => {
  const store = await memoryStore(t, { historyMs: 60_000 });
  await store.files.write('/memories/x/plan.md', 'Dig.\n');
  const create = { command: 'create', path: '/memories/plan.md', file_text: 'Fill.\n' };
  const readOnly = store.memoryTool({ readOnly: true, subtree: '/memories/x' });
  assert.equal((await readOnly.call({ command: 'view', path: '/memories/plan.md' })).isError, false);
  assert.equal((await readOnly.call(create)).content, 'Error: Memory is read-only.');
  const plain = store.memoryTool({ subtree: '/memories/x' });
  assert.equal((await plain.call(create)).content, 'Error: File /memories/plan.md already exists');
  const overwriting = store.memoryTool({ subtree: '/memories/x', createOverwrites: true, actor: 'night-agent' });
  assert.equal((await overwriting.call(create)).isError, false);
  assert.equal(await store.files.read('/memories/x/plan.md'), 'Fill.\n');
  const newest = await first(store.history.log());
  assert.equal(newest.actor, 'night-agent');
  assert.equal(newest.channel, 'tool');
  assert.throws(() => store.memoryTool({ subtree: '/elsewhere' }), { name: 'FileError', code: 'InvalidPath' });
  assert.throws(() => store.memoryTool({ screen: 'sometimes' }), TypeError);
  assert.throws(() => store.memoryTool({ readOnly: 1 }), TypeError);
  assert.throws(() => store.memoryTool({ maxViewCharacters: -1 }), RangeError);
});

test('a screen keeps secrets out', async (t) => {
  const store = await memoryStore(t);
  const secret = '4111 1111 1111 1111';
  const create = { command: 'create', path: '/memories/card', file_text: `Card: ${secret}\n` };
  assert.equal((await store.memoryTool({ screen: 'refuse' }).call(create)).isError, true);
  assert.equal(await store.files.exists('/memories/card'), false);
  assert.equal((await store.memoryTool({ screen: 'redact' }).call(create)).isError, false);
  assert.doesNotMatch(await store.files.read('/memories/card'), /4111/);
});

test('a locked store is the application’s error, with a hint for the model', async (t) => {
  const store = await memoryStore(t);
  const memory = store.memoryTool({ lockedHint: 'Ask the user.' });
  await store.lock();
  const result = await memory.call(VIEW);
  assert.equal(result.content, 'Error: Memory is locked. Ask the user.');
  assert.equal(result.isError, true);
  assert.equal(result.storeError.code, 'Locked');
});

test('the definition of the tool is the documented one', () => {
  assert.deepEqual(TOOL_DEFINITION, { type: 'memory_20250818', name: 'memory' });
  assert(Object.isFrozen(TOOL_DEFINITION));
});

async function first(iterable) {
  for await (const item of iterable) return item;
}

test('quotas of the tool are its own', async (t) => {
  const store = await memoryStore(t);
  const create = async (tool, name, text) =>
    (await tool.call({ command: 'create', path: `/memories/${name}`, file_text: text })).content;
  const tool = store.memoryTool({ maxFileBytes: 4, maxFiles: 2, maxStoreBytes: 6 });
  assert.match(await create(tool, 'a', '12345'), /maximum size of 4 bytes/);
  assert.match(await create(tool, 'a', '1234'), /^File created/);
  assert.match(await create(tool, 'b', '123'), /at most 6 bytes/);
  assert.match(await create(tool, 'b', '1'), /^File created/);
  assert.match(await create(tool, 'c', '1'), /at most 2 files/);
  assert.match(await create(store.memoryTool(), 'c', '12345'), /^File created/);
});

test('a tool that forgets leaves no versions', async (t) => {
  const store = await memoryStore(t, { historyMs: 60_000 });
  const path = '/memories/a';
  for (const [deleteForgets, kinds] of [[false, ['deleted', 'created']], [true, ['forgotten']]]) {
    const tool = store.memoryTool({ deleteForgets });
    assert(!(await tool.call({ command: 'create', path, file_text: 'tea' })).isError);
    assert(!(await tool.call({ command: 'delete', path })).isError);
    assert.deepEqual((await all(store.history.log())).map((change) => change.kind), kinds);
  }
});

test('clear deletes what the tool can reach', async (t) => {
  const store = await memoryStore(t);
  for (const path of ['x/a', 'x/b/c', 'x/.hidden', 'x/100%', 'other']) await store.files.write(`/memories/${path}`, 'tea');
  const cleared = await store.memoryTool({ subtree: '/memories/x' }).clear();
  assert.deepEqual([cleared.content, cleared.isError], ['All memory cleared', false]);
  assert.deepEqual((await all(store.files.walk())).map((entry) => entry.path), ['/memories/other']);
  const refused = await store.memoryTool({ readOnly: true }).clear();
  assert.deepEqual([refused.content, refused.isError], ['Error: Memory is read-only.', true]);
  await store.lock();
  const locked = await store.memoryTool().clear();
  assert.deepEqual([locked.content, locked.storeError.code], ['Error: Memory is locked.', 'Locked']);
});
