// The backend for deep agents, with an agent of the framework against the scripted server, and beside its own backend.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import { ChatAnthropic } from '@langchain/anthropic';
import * as deepagents from 'deepagents';
import { Store } from 'inmost';
import { InmostBackend } from 'inmost/deepagents';

import { all, call, memoryStore, scriptedServer, storeOnDisk, temporaryFolder, text } from './support.mjs';

const require = createRequire(import.meta.url);
const FILE = '/memories/garden/tea.md';
// The calls of the model, and a part of what it reads.
const CALLS = [
  ['write_file', { file_path: FILE, content: 'Green tea.\n' }, 'Successfully wrote'],
  ['write_file', { file_path: FILE, content: 'Green tea.\nMint.\n' }, 'Successfully wrote'],
  ['edit_file', { file_path: FILE, old_string: 'Green', new_string: 'Black' }, 'replaced 1'],
  ['edit_file', { file_path: FILE, old_string: 'Green', new_string: 'White' }, 'Error: String not found'],
  ['read_file', { file_path: FILE, limit: 1 }, '@@ lines 1-1 of 2 | next offset 1 @@\nBlack tea.'],
  ['read_file', { file_path: FILE, offset: 2 }, 'Error: Line offset 2 exceeds file length (2 lines)'],
  ['read_file', { file_path: '/memories/none' }, 'Error: File not found'],
  ['read_file', { file_path: '/memories/garden' }, 'Error: Path is a directory'],
  ['ls', { path: '/' }, '/memories/ (directory)'],
  ['ls', { path: '/memories' }, '/memories/garden/ (directory)'],
  ['ls', { path: FILE }, 'Error listing files: Path is not a directory'],
  ['glob', { pattern: '**/*.md' }, FILE],
  ['glob', { pattern: '/*/*.md', path: '/memories' }, FILE],
  ['grep', { pattern: 'Mint', glob: '*.md' }, `${FILE}:\n  2: Mint.`],
  ['write_file', { file_path: '/memories/%2e%2e/x', content: 'x' }, 'Error: Invalid path'],
  ['delete', { file_path: '/memories' }, 'Error: The root folder cannot be replaced or deleted'],
  ['delete', { file_path: '/memories/garden' }, 'Deleted /memories/garden'],
  ['delete', { file_path: '/memories/garden' }, 'Error: File not found'],
  ['ls', { path: '/memories/garden' }, 'No files found'],
  ['write_file', { file_path: '/draft', content: 'of the agent alone' }, 'Successfully wrote'],
];
const script = (calls) => calls.map(([name, input], number) => [{ ...call(`t${number}`, input), name }]);
const results = (server) => server.results().map(([result]) => (typeof result.content === 'string' ? result.content : result.content[0].text));

async function run(server, backend, framework = deepagents, Model = ChatAnthropic) {
  const model = new Model({ model: 'scripted', apiKey: 'none', anthropicApiUrl: server.url, maxRetries: 0 });
  const composite = new framework.CompositeBackend(new framework.StateBackend(), { '/memories/': backend });
  const agent = framework.createDeepAgent({ model, backend: composite });
  return (await agent.invoke({ messages: [{ role: 'user', content: 'Go.' }] }, { recursionLimit: 500 })).messages.at(-1).text;
}

const modules = {
  imported: [InmostBackend],
  required: [require('inmost/deepagents').InmostBackend, require('deepagents'), require('@langchain/anthropic').ChatAnthropic],
};
for (const [kind, [Backend, ...framework]] of Object.entries(modules)) {
  test(`an agent keeps its files, with ${kind} modules`, async (t) => {
    const store = await memoryStore(t);
    const server = await scriptedServer(t, [...script(CALLS), [text('Done.')]]);
    assert.equal(await run(server, new Backend(store), ...framework), 'Done.');
    for (const [number, said] of results(server).entries()) assert(said.includes(CALLS[number][2]), JSON.stringify([CALLS[number], said]));
    assert.deepEqual(await all(store.files.walk()), []);
  });
}

test('a lock in the middle is the application’s error', async (t) => {
  const store = await memoryStore(t);
  const errors = [];
  const server = await scriptedServer(t, [...script(CALLS.slice(0, 5)), [text('Sorry.')]]);
  server.onRequest = async (number) => number === 2 && (await store.lock());
  assert.equal(await run(server, new InmostBackend(store, { onStoreError: (error) => errors.push(error.code) })), 'Sorry.');
  assert(results(server)[1].includes('Successfully wrote'));
  assert.deepEqual(results(server).slice(2), Array(3).fill('Error: Memory is unavailable.'));
  assert.deepEqual(errors, Array(3).fill('Locked'));
});

test('it does what the backend of the framework does', async (t) => {
  const rootDir = join(temporaryFolder(t), 'root');
  mkdirSync(rootDir);
  const backends = [
    new InmostBackend(await memoryStore(t), { subtree: '/memories/x' }),
    new deepagents.FilesystemBackend({ rootDir, virtualMode: true }),
  ];
  // With ripgrep, where that is installed, the framework would leave out hidden files.
  backends[1].ripgrepSearch = async () => null;
  const next = random(7);
  const chosen = (items) => items[Math.floor(next() * items.length)];
  const paths = ['/a.md', '/a-2.md', '/b/a.md', '/b/deep/c.txt', '/d', '/d/', '/d/x', '/none/x', '/z/.hidden.md'];
  const lines = ['tea\n', 'green tea', '\n', 'a+b\n', '$&\r\n', 'ä\u2028\n', ''];
  const patterns = ['*', '*.md', '**/*.md', '/*.md', 'b/**', '{b,c}*', '.*', '**', '?.md', '[ab]*', '!(a).md'];
  let successes = 0;
  for (let step = 0; step < 600; step += 1) {
    const [path, folder, pattern] = [chosen(paths), chosen([undefined, '/', '/b', '/gone']), chosen(patterns)];
    const [old, text] = [chosen(['tea', 'a', 'green tea\n', 'none', '']), chosen(['tea', '$&', ''])];
    const content = chosen(['', `${chosen(lines)}${chosen(lines)}${chosen(lines)}end${chosen(lines)}`]);
    const operation = chosen([
      (backend) => backend.write(path, content),
      async (backend) => (await backend.uploadFiles([[path, Buffer.from(content)]]))[0],
      (backend) => backend.edit(path, old, text, step % 2 === 0),
      (backend) => (step % 3 === 0 ? backend.delete(path) : backend.ls('/')),
      (backend) => backend.read(path, (step % 5) - 1, step % 4),
      (backend) => backend.readRaw(path).catch((error) => ({ error })),
      async (backend) => (await backend.downloadFiles([path]))[0],
      // The framework returns nothing for a file.
      async (backend) => ({ files: [], ...(await backend.ls(path)), error: undefined }),
      (backend) => backend.grep(old.trim() || 'e', folder, pattern.includes('/') ? null : pattern),
      (backend) => backend.grep('e', folder, null, (step % 5) + 1),
      (backend) => backend.glob(pattern, folder),
    ]);
    const [ours, theirs] = await Promise.all(backends.map(async (backend) => comparable(await operation(backend))));
    assert.deepEqual(ours, theirs, `${step}: ${operation} ${JSON.stringify({ path, folder, pattern, old, text, content })}`);
    successes += ours.error == null ? 1 : 0;
    removeEmptyFolders(rootDir);
  }
  assert(successes > 300, String(successes));
});

/** A result without times, sizes of folders, the order of matches, and the wording of errors except those of edits. */
function comparable({ metadata, ...result }) {
  if (result.error?.includes?.('tring')) return { error: result.error.split(' Use ')[0] };
  if (result.error) return { error: 'of a path' };
  if (result.data) return { content: result.data.content };
  for (const info of result.files ?? []) {
    delete info.modified_at;
    if (info.is_dir) info.size = 0;
  }
  const key = (found) => `${found.path} ${found.line}`;
  for (const found of [result.files, result.matches]) found?.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  if (result.truncated) return { matches: result.matches.length };
  // Two backends of the framework differ in whether `*` includes hidden files in a grep.
  result.matches &&= result.matches.filter((found) => !found.path.includes('/.'));
  for (const found of result.matches ?? []) found.text = found.text.replace(/\r$/, '');
  if (result.content instanceof Uint8Array) result.content = Buffer.from(result.content).toString();
  delete result.mimeType;
  if (result.nextOffset === undefined) delete result.nextOffset;
  return result;
}

/** A store has no empty folders. */
function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    removeEmptyFolders(path);
    if (readdirSync(path).length === 0) rmdirSync(path);
  }
}

/** Numbers from 0 to 1, always the same (the generator `mulberry32`). */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const changes = async (backend, path) => [
  await backend.write(path, 'b'),
  await backend.edit(path, 'a', 'b'),
  await backend.delete(path),
  ...(await backend.uploadFiles([[path, Buffer.from('b')]])),
];
const every = async (backend, path) => [
  await backend.ls(path),
  await backend.read(path),
  await backend.readRaw(path),
  await backend.grep('a', path),
  await backend.glob('*', path),
  ...(await backend.downloadFiles([path])),
  ...(await changes(backend, path)),
];
const reasons = (found) => [...new Set(found.map((result) => (result.error ?? '').replace('Error: ', '')))].sort();
const contents = async (store) => {
  const files = (await all(store.files.walk())).filter((entry) => !entry.metadata.isFolder);
  return Object.fromEntries(await Promise.all(files.map(async ({ path }) => [path, await store.files.read(path)])));
};

test('a path that leads elsewhere is refused', async (t) => {
  const store = await memoryStore(t);
  for (const path of ['/memories/a', '/memories/x/a', '/memories/x/ö']) await store.files.write(path, 'a');
  const before = await store.status();
  const outside = ['a', '../a', '~', '~/a', 'C:\\a', '/..', '/../a', '/x/../../a', '/./a', '/..\\a', '/%2e%2e/a'];
  const unclear = ['//', '//a', '/x//a', '/a//', '/a\0', '/\0', '/a\n', `/${'a'.repeat(256)}`, '/o\u0308', '/\u2126'];
  for (const backend of [new InmostBackend(store), new InmostBackend(store, { subtree: '/memories/x' })]) {
    for (const path of [...outside, ...unclear]) {
      assert.deepEqual(reasons(await every(backend, path)), ['Invalid path', 'invalid_path'], JSON.stringify(path));
    }
  }
  assert.deepEqual(await store.status(), before);
  assert.throws(() => new InmostBackend(store, { subtree: '/memories/../x' }), { code: 'InvalidPath' });
  assert.throws(() => new InmostBackend(store, { readonly: true }), TypeError);
});

test('the root is neither replaced nor deleted', async (t) => {
  const backend = new InmostBackend(await memoryStore(t), { subtree: '/memories/x' });
  for (const round of [0, 1]) {
    assert.deepEqual(reasons(await changes(backend, '/')), ['The root folder cannot be replaced or deleted', 'is_directory']);
    assert.equal((await backend.ls('/')).files.length, round);
    assert.equal((await backend.glob('*')).files.length, round);
    await backend.write('/a', 'a');
  }
});

test('nothing changes if it is read-only', async (t) => {
  const store = await memoryStore(t);
  await store.files.write('/memories/a', 'a');
  const backend = new InmostBackend(store, { readOnly: true });
  for (const path of ['/a', '/b', '/']) {
    assert.deepEqual(reasons(await changes(backend, path)), ['Permission denied: the files are read-only', 'permission_denied']);
  }
  assert.deepEqual(await contents(store), { '/memories/a': 'a' });
  assert.equal((await backend.read('/a')).content, 'a');
});

test('a subtree is the whole of what an agent sees', async (t) => {
  for (const subtree of ['/memories/x', '/memories//x/', '/memories/u\u0308']) {
    const store = await memoryStore(t);
    await store.files.write('/memories/other.md', 'tea');
    const backend = new InmostBackend(store, { subtree });
    assert.equal((await backend.write('/b/ö.md', 'tea')).error, undefined);
    assert.deepEqual((await backend.ls('/')).files.map(({ path }) => path), ['/b/']);
    for (const path of [null, '/', '/b', '/b/', '/b/ö.md']) {
      assert.deepEqual((await backend.grep('tea', path, 'ö*')).matches, [{ path: '/b/ö.md', line: 1, text: 'tea' }]);
    }
    assert.deepEqual((await backend.glob('/b/*')).files.map(({ path }) => path), ['/b/ö.md']);
    assert.equal(Object.keys(await contents(store)).length, 2);
  }
});

test('no edit of 120 at once is lost', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const store = await Store.open(path, { rawKey });
  const backends = [new InmostBackend(store), new InmostBackend(store)];
  await backends[0].write('/log.md', 'end');
  const names = Array.from({ length: 120 }, (_, number) => `[${number}]`);
  const edits = await Promise.all(names.map((name, number) => backends[number % 2].edit('/log.md', 'end', `${name}end`)));
  assert(edits.every(({ error, occurrences }) => error === undefined && occurrences === 1));
  const log = await store.files.read('/memories/log.md');
  await store.close();
  assert.deepEqual(log.slice(0, -3).match(/\[\d+\]/g).sort(), names.sort());
});

test('a text that is not Unicode, and an invalid pattern, are refused', async (t) => {
  const store = await memoryStore(t);
  const backend = new InmostBackend(store);
  await backend.write('/a', 'a');
  const refused = [await backend.write('/b', '\ud800'), await backend.write('/\ud800', 'b'), await backend.edit('/a', 'a', '\ud800')];
  assert.deepEqual(reasons(refused), ['The text is not valid Unicode']);
  assert.deepEqual(reasons(await backend.uploadFiles([['/b', Buffer.from([255])]])), ['permission_denied']);
  assert.deepEqual(reasons([await backend.glob(''), await backend.glob('*'.repeat(70_000)), await backend.grep('a', '/', 'a'.repeat(70_000))]), ['Invalid pattern']);
  assert.match((await backend.grep('')).error, /^Error: /);
  assert.deepEqual(await contents(store), { '/memories/a': 'a' });
});

test('one refused file does not hinder the others, and each byte returns', async (t) => {
  const backend = new InmostBackend(await memoryStore(t));
  const uploads = await backend.uploadFiles([['/a', Buffer.from('1')], ['/a/b', Buffer.from('2')], ['..', Buffer.from('3')], ['/c/d.png', Buffer.from('\ufeffä\r\n')]]);
  assert.deepEqual(uploads.map(({ error }) => error), [null, 'invalid_path', 'invalid_path', null]);
  const downloads = await backend.downloadFiles(['/c/d.png', '/c', '/none', '/a']);
  const found = downloads.map(({ path, content, error }) => [path, content && Buffer.from(content).toString(), error]);
  assert.deepEqual(found, [
    ['/c/d.png', '\ufeffä\r\n', null],
    ['/c', null, 'is_directory'],
    ['/none', null, 'file_not_found'],
    ['/a', '1', null],
  ]);
  assert.deepEqual(await backend.read('/c/d.png'), { content: '\ufeffä\r\n', mimeType: 'text/plain', totalLines: 1, startLine: 1, endLine: 1 });
});
