// The examples, run as they are against a scripted server.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { transform } from 'esbuild';
import { Store } from 'inmost';

import { call, heldStore, PASSPHRASE, scriptedServer, temporaryFolder, text } from './support.mjs';

const SCRIPT = [
  [call('t1', { command: 'create', path: '/memories/tea.md', file_text: 'Prefers tea.\n' })],
  [text('Noted.')],
];

async function runExample(name, server, variables) {
  const env = { ...process.env, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'none', ...variables };
  const example = join(import.meta.dirname, '..', 'examples', name);
  return (await promisify(execFile)(process.execPath, [example, 'Go.'], { env })).stdout;
}

for (const name of ['agent.mjs', 'ai-sdk.mjs', 'langchain.mjs']) {
  test(name, async (t) => {
    const path = join(temporaryFolder(t), 's');
    await (await Store.create(path, { passphrase: PASSPHRASE })).close();
    const server = await scriptedServer(t, SCRIPT);
    const output = await runExample(name, server, { INMOST_STORE: path, INMOST_PASSPHRASE: PASSPHRASE });
    assert.equal(output, 'Noted.\n');
    const store = await Store.open(path, { passphrase: PASSPHRASE });
    assert.equal(await store.files.read('/memories/tea.md'), 'Prefers tea.\n');
    await store.close();
  });
}

test('context-editing.mjs', { skip: process.platform === 'win32' }, async (t) => {
  const path = await heldStore(t);
  const server = await scriptedServer(t, SCRIPT);
  assert.equal(await runExample('context-editing.mjs', server, { INMOST_STORE: path }), 'Noted.\n');
  const [clear, compact] = server.requests[0].context_management.edits;
  assert.deepEqual(clear.exclude_tools, ['memory']);
  assert.equal(compact.type, 'compact_20260112');
  const store = await Store.connect(path);
  assert.equal(await store.files.read('/memories/tea.md'), 'Prefers tea.\n');
  await store.close();
});

test('the example of the README', async (t) => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
  const [, example] = page.match(/^```ts\n(.*?)^```/ms);
  const path = join(temporaryFolder(t), 's');
  await (await Store.create(path, { passphrase: PASSPHRASE })).close();
  const given = { passphrase: PASSPHRASE, model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: 'Go.' }] };
  const program = `const { passphrase, model, max_tokens, messages } = ${JSON.stringify(given)};
    ${example.replace('notes.inmost', path)}
    console.log(message.content[0].text);`;
  // The oldest Node.js does not know `await using`.
  const { code } = await transform(program, { loader: 'ts', target: 'node20' });
  const server = await scriptedServer(t, SCRIPT);
  const env = { ...process.env, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'none' };
  // In this package's folder, `inmost` is the package itself.
  const options = { env, cwd: join(import.meta.dirname, '..') };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], options);
  assert.equal(stdout, 'Noted.\n');
  const store = await Store.open(path, { passphrase: PASSPHRASE });
  assert.equal(await store.files.read('/memories/tea.md'), 'Prefers tea.\n');
  await store.close();
});
