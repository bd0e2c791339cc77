// What each adapter must do. `run(server, memory, options)` runs a framework until the last text of the model, and returns it.
import assert from 'node:assert/strict';

import { call, memoryStore, scriptedServer, text } from './support.mjs';

export const ROOT = '/memories';
const LISTING = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:";

/** The block that an adapter is expected to send. */
export function result(id, content, isError) {
  const block = { type: 'tool_result', tool_use_id: id, content };
  return isError ? { ...block, is_error: true } : block;
}

/** A long session gets the exact results, and the right definition is sent. */
export async function checkSession(t, run, block = result) {
  const store = await memoryStore(t);
  const script = SESSION.map(([input], number) => [call(`t${number}`, input)]);
  const server = await scriptedServer(t, [...script, [text('Done.')]]);
  assert.equal(await run(server, store), 'Done.');
  const expected = SESSION.map(([, content, isError], number) => [block(`t${number}`, content, isError)]);
  assert.deepEqual(server.results(), expected);
  assert.deepEqual(server.requests[0].tools, [{ type: 'memory_20250818', name: 'memory' }]);
  assert.deepEqual(await store.files.list(), []);
}

/** Calls that the model makes at once have a result each, in their order. */
export async function checkParallelCalls(t, run) {
  const store = await memoryStore(t);
  const calls = Array.from({ length: 12 }, (_, n) =>
    call(`t${n}`, { command: 'create', path: `${ROOT}/${n}`, file_text: String(n) }),
  );
  const server = await scriptedServer(t, [calls, [text('Done.')]]);
  await run(server, store);
  assert.deepEqual(server.results(), [
    Array.from({ length: 12 }, (_, n) => result(`t${n}`, `File created successfully at: /memories/${n}`)),
  ]);
  for (let n = 0; n < 12; n += 1) assert.equal(await store.files.read(`${ROOT}/${n}`), String(n));
}

/** After a lock between two calls, the model reads a fixed sentence, and the application gets the error. */
export async function checkLock(t, run, block = result) {
  const store = await memoryStore(t);
  const server = await scriptedServer(t, [
    [call('t1', { command: 'create', path: `${ROOT}/a`, file_text: '1' })],
    [call('t2', { command: 'view', path: `${ROOT}/a` })],
    [text('Sorry.')],
  ]);
  server.onRequest = async (number) => number === 1 && (await store.lock());
  const errors = [];
  assert.equal(await run(server, store, { onStoreError: (error) => errors.push(error) }), 'Sorry.');
  assert.deepEqual(server.results(), [
    [block('t1', 'File created successfully at: /memories/a')],
    [block('t2', 'Error: Memory is locked.', true)],
  ]);
  assert.deepEqual(errors.map((error) => [error.name, error.code]), [['StoreError', 'Locked']]);
}

/** Each item has a call of the model, the text that it reads, and whether that is an error. */
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
