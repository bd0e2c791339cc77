// Stores in a PostgreSQL database. Run by `tests/postgres/run.sh with`, which starts a server.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { Postgres, Store, Vault } from 'inmost';

const url = process.env.INMOST_TEST_POSTGRES;
const rawKey = Uint8Array.from({ length: 32 }, (_, number) => number);
const database = new Postgres(url, { size: 2 });

test('stores of a process share a pool', async () => {
  const vaults = Array.from({ length: 5 }, () => database.vault());
  const texts = vaults.map(async (vault) => {
    const store = await Store.create(vault, { rawKey });
    await store.files.write('/memories/a.md', vault.id);
    const text = await store.files.read('/memories/a.md');
    await store.close();
    return text;
  });
  assert.deepEqual(await Promise.all(texts), vaults.map((vault) => vault.id));
});

test('two stores on one vault see each other', async () => {
  const vault = database.vault();
  const one = await Store.create(vault, { rawKey, historyMs: 86_400_000 });
  const other = await Store.open(database.vault(vault.id), { rawKey });
  await one.files.write('/memories/a.md', 'one\n');
  assert.equal(await other.files.read('/memories/a.md'), 'one\n');
  const call = { command: 'str_replace', path: '/memories/a.md', old_str: 'one', new_str: 'two' };
  assert.equal((await other.memoryTool().call(call)).isError, false);
  assert.equal(await one.files.read('/memories/a.md'), 'two\n');
  await one.close();
  await other.close();
});

test('a store moves from a folder into a database and back', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'im'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [vault, named] = [database.vault(), `${url}?vault=${database.vault().id}`];
  const store = await Store.create(join(folder, 's'), { rawKey });
  await store.files.write('/memories/a.md', 'tea');
  await store.migrate(vault);
  await assert.rejects(store.migrate(vault), { code: 'StoreAlreadyExists' });
  await store.close();
  for (const [from, to] of [[vault, new URL(named)], [named, join(folder, 'back')]]) {
    const open = await Store.open(from, { rawKey });
    await open.migrate(to);
    await open.close();
  }
  const back = await Store.open(join(folder, 'back'), { rawKey });
  assert.equal(await back.files.read('/memories/a.md'), 'tea');
  await back.close();
});

test('a URL names a vault', async () => {
  const named = `${url}?vault=${database.vault().id}`;
  await (await Store.create(named, { rawKey })).close();
  const store = await Store.open(new URL(named), { rawKey });
  assert.equal(await store.isLocked(), false);
  await store.close();
  await assert.rejects(Store.open(url, { rawKey }), { code: 'Unavailable', message: /names no vault/ });
  await assert.rejects(Store.open(database.vault(), { rawKey }), { code: 'NotAStore' });
  await assert.rejects(Store.create(named, { rawKey }), { code: 'StoreAlreadyExists' });
});

test('a mark detects an older state', async () => {
  const vault = database.vault();
  const store = await Store.create(vault, { rawKey });
  const early = await store.mark();
  await store.files.write('/memories/a.md', 'text\n');
  const marks = [early, await store.mark()];
  await store.close();
  for (const atLeast of marks) await (await Store.open(vault, { rawKey, atLeast })).close();
  const other = await Store.create(database.vault(), { rawKey });
  await assert.rejects(Store.open(vault, { rawKey, atLeast: await other.mark() }), { code: 'ForeignAnchor' });
  await other.close();
  await vault.destroy();
  await assert.rejects(Store.open(vault, { rawKey }), { code: 'NotAStore' });
});

test('mistakes are named', async () => {
  assert.throws(() => new Postgres('postgres://role:secret@127.0.0.1/memories'), { name: 'TypeError', message: /contains a password/ });
  assert.throws(() => new Postgres(url, { pool: 3 }), { name: 'TypeError', message: /^pool is not an option here/ });
  assert.throws(() => database.vault('ada'), { name: 'TypeError', message: /32 hexadecimal digits/ });
  assert.throws(() => new Vault(), { name: 'TypeError', message: /use Postgres\.vault/ });
  const nowhere = new Postgres('postgres://nobody@127.0.0.1:1/x').vault();
  await assert.rejects(Store.open(nowhere, { rawKey }), { code: 'Unavailable' });
});
