// Stores: how they are made, opened and locked, and what their errors say.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

import {
  Expiry,
  FileError,
  Files,
  generateKeyfile,
  generateRecoveryKey,
  History,
  InmostError,
  MemoryTool,
  Store,
  StoreError,
  UndoPlan,
} from 'inmost';

import { heldStore, memoryStore, PASSPHRASE, storeOnDisk, temporaryFolder } from './support.mjs';

test('a passphrase opens a store as a string and as a buffer', async (t) => {
  const path = join(temporaryFolder(t), 's');
  const created = await Store.create(path, { passphrase: PASSPHRASE });
  await created.files.write('/memories/a', 'Ada\n');
  await created.close();
  const opened = await Store.open(pathToFileURL(path), { passphrase: Buffer.from(PASSPHRASE) });
  assert.equal(await opened.files.read('/memories/a'), 'Ada\n');
  await opened.close();
  await assert.rejects(Store.open(path, { passphrase: 'wrong' }), (error) => {
    assert(error instanceof StoreError && error instanceof InmostError && error instanceof Error);
    assert.equal(error.code, 'WrongPassphrase');
    assert.equal(error.name, 'StoreError');
    return true;
  });
});

test('a buffer can be overwritten as soon as the promise is there', async (t) => {
  const path = join(temporaryFolder(t), 's');
  const [passphrase, again] = [Buffer.from(PASSPHRASE), Buffer.from(PASSPHRASE)];
  const creating = Store.create(path, { passphrase });
  passphrase.fill(0);
  await (await creating).close();
  await (await Store.open(path, { passphrase: again })).close();
});

test('a keyfile, a recovery key and a raw key open a store', async (t) => {
  const folder = temporaryFolder(t);
  const keyfile = generateKeyfile();
  const keyfilePath = join(folder, 'key');
  writeFileSync(keyfilePath, keyfile);
  const recoveryKey = generateRecoveryKey();
  const rawKey = randomBytes(32);
  const credentials = [
    [{ passphrase: PASSPHRASE, keyfile }, { passphrase: PASSPHRASE, keyfile: keyfilePath }],
    [{ recoveryKey }, { recoveryKey: Buffer.from(recoveryKey) }],
    [{ rawKey }, { rawKey: new Uint8Array(rawKey) }],
  ];
  for (const [number, [first, second]] of credentials.entries()) {
    const path = join(folder, String(number));
    await (await Store.create(path, first)).close();
    await (await Store.open(path, second)).close();
  }
  await assert.rejects(Store.open(join(folder, '0'), { passphrase: PASSPHRASE }), { code: 'WrongPassphrase' });
  await assert.rejects(Store.open(join(folder, '2'), { rawKey: randomBytes(32) }), { code: 'WrongKey' });
});

test('a credential that no store could have is refused before a store is made', async (t) => {
  const path = join(temporaryFolder(t), 's');
  for (const credential of [{ passphrase: '' }, { recoveryKey: 'nonsense' }, { rawKey: Buffer.alloc(31) }]) {
    await assert.rejects(Store.create(path, credential), { name: 'InmostError', code: 'InvalidCredential' });
  }
  for (const credential of [{}, { passphrase: 'a', rawKey: randomBytes(32) }, { passphrase: 7 }, { rawKey: 'x' }, undefined]) {
    await assert.rejects(Store.create(path, credential), { name: 'TypeError' });
  }
  await assert.rejects(Store.open(path, { passphrase: PASSPHRASE }), { code: 'NotAStore' });
});

test('errors name the fact and the next step', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  await assert.rejects(Store.create(path, { rawKey }), { code: 'StoreAlreadyExists' });
  const first = await Store.open(path, { rawKey });
  await assert.rejects(Store.open(path, { rawKey }), (error) => {
    assert.equal(error.code, 'InUse');
    assert.match(error.message, /key daemon/);
    assert(error.message.endsWith(error.advice));
    assert(!Object.keys(error).includes('advice'));
    return true;
  });
  await first.close();
  await assert.rejects(Store.open('/nonexistent/store', { rawKey }), StoreError);
});

test('each fact of the library has a code', () => {
  const read = (path) => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
  const codes = read('lib/errors.ts');
  const families = [
    ['StoreError', '../src/session/error.rs', ['AlreadyExists'], 40],
    ['FileError', '../src/vfs/error.rs', ['Store'], 19],
    ['SyncError', '../crates/inmost-sync/src/error.rs', ['Store', 'File'], 14],
  ];
  for (const [name, file, others, least] of families) {
    const body = read(file).split(`pub enum ${name} {`)[1].split('\n}')[0];
    const facts = [...body.matchAll(/^    ([A-Z]\w+)/gm)].map(([, fact]) => fact).filter((fact) => !others.includes(fact));
    assert(facts.length >= least);
    const union = codes.split(`export type ${name}Code =`)[1].split(';')[0];
    for (const fact of facts) assert(union.includes(`'${fact}'`), `${name}.${fact}`);
  }
});

test('a locked store refuses every call', async (t) => {
  const store = await memoryStore(t);
  await store.files.write('/memories/a', 'x');
  assert.equal(await store.isLocked(), false);
  await store.lock();
  assert.equal(await store.isLocked(), true);
  const calls = [() => store.files.read('/memories/a'), () => store.files.list(), () => store.status(), () => store.history.status()];
  for (const call of calls) await assert.rejects(call(), { name: 'StoreError', code: 'Locked' });
  await store.close();
  await store.close();
});

test('leaving the scope of a store locks it', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const store = await Store.open(path, { rawKey });
  // What `await using` calls.
  await store[Symbol.asyncDispose]();
  assert.equal(await store.isLocked(), true);
  await (await Store.open(path, { rawKey })).close();
});

test('an unused store locks itself', async (t) => {
  const store = await memoryStore(t, { idleLockMs: 1 });
  const deadline = Date.now() + 60_000; // a second is enough
  while (!(await store.isLocked())) assert(Date.now() < deadline);
  await assert.rejects(store.files.list(), { code: 'Locked' });
});

test('quotas are facts with their limit', async (t) => {
  const store = await memoryStore(t, { maxFileBytes: 10, maxFiles: 1 });
  await store.files.write('/memories/a', '0123456789');
  await assert.rejects(store.files.append('/memories/a', '0'), { name: 'FileError', code: 'FileTooLarge', limit: 10 });
  await assert.rejects(store.files.write('/memories/b', ''), { code: 'TooManyFiles', limit: 1 });
});

test('an anchor detects an older copy of the store', async (t) => {
  const folder = temporaryFolder(t);
  const [path, old, anchor] = [join(folder, 's'), join(folder, 'old'), join(folder, 'anchor')];
  const rawKey = randomBytes(32);
  await (await Store.create(path, { rawKey, anchor })).close();
  execFileSync('cp', ['-r', path, old]);
  const store = await Store.open(path, { rawKey, anchor });
  await store.files.write('/memories/a', 'new');
  await store.close();
  await assert.rejects(Store.open(old, { rawKey, anchor }), (error) => {
    assert.equal(error.code, 'RolledBack');
    assert(error.expected > error.found);
    return true;
  });
});

test('nothing that is printed shows content', async (t) => {
  const store = await memoryStore(t, { historyMs: 60_000, actor: 'bluebird' });
  await store.expiry.set({ record: true });
  await store.files.write('/memories/bluebird/bluebird.md', 'a bluebird\n');
  const tool = store.memoryTool();
  const input = { command: 'view', path: '/memories/bluebird/bluebird.md' };
  const block = { type: 'tool_use', id: 'bluebird', name: 'memory', input };
  const errors = [];
  const failing = [
    () => store.files.read('/memories/bluebird'),
    () => store.files.write('/memories/bluebird/bluebird.md/bluebird', 'x'),
    () => store.files.read('/memories/bluebird\ud800'),
    () => store.files.read(['bluebird']),
    () => store.files.writeIf('/memories/bluebird/bluebird.md', 'bluebird', null),
    () => store.memoryTool({ subtree: '/bluebird' }),
    () => tool.call('bluebird'.length),
  ];
  for (const call of failing) errors.push(await Promise.resolve().then(call).then(() => assert.fail(), (error) => error));
  const found = [];
  for await (const match of store.files.search('bluebird')) found.push(match);
  const walked = [];
  for await (const entry of store.files.walk()) walked.push(entry);
  const versions = [];
  for await (const version of store.history.log()) versions.push(version);
  const plan = await store.history.planUndo();
  const printed = [store, tool, store.files, store.history, plan, plan.steps, found, walked, versions, errors];
  const version = await store.files.version('/memories/bluebird/bluebird.md');
  assert.match(version.sha256, /^[0-9a-f]{64}$/);
  assert(errors.some((error) => error.current?.sha256 === version.sha256));
  printed.push(version, await store.expiry.expire(0, { dryRun: true }));
  printed.push(await store.files.list(), await tool.call(input), await tool.call(block), await store.status());
  for (const value of printed) {
    for (const shown of [inspect(value, { depth: 9 }), inspect(value, { showHidden: false, depth: 0 }), JSON.stringify(value), String(value)]) {
      assert.doesNotMatch(shown ?? '', /bluebird/);
      // The hash of a short text confirms a guess of it.
      assert(!(shown ?? '').includes(version.sha256));
    }
  }
  // The properties themselves are there.
  assert.equal(found[0].path, '/memories/bluebird/bluebird.md');
  assert.equal(found[0].text, 'a bluebird');
  assert.equal(walked[1].name, 'bluebird.md');
  assert.equal(errors[0].path, '/memories/bluebird');
  assert.equal(inspect(await tool.call(input)), 'ToolResult { isError: false }');
  assert.equal(plan.steps.length, 1);
});

test('nothing readable reaches the disk', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const store = await Store.open(path, { rawKey });
  await store.files.write('/memories/bluebird.md', 'a bluebird '.repeat(500));
  await store.close();
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert(files.length > 1);
  for (const file of files) assert(!readFileSync(join(file.parentPath ?? file.path, file.name)).includes('bluebird'));
});

test('require and import give the same classes', async (t) => {
  const required = createRequire(import.meta.url)('inmost');
  assert.equal(required.Store, Store);
  assert.equal(required.FileError, FileError);
  const store = await memoryStore(t);
  await assert.rejects(store.files.read('/memories/none'), required.FileError);
});

test('a program without the passphrase uses the store that a key daemon holds', { skip: process.platform === 'win32' }, async (t) => {
  const path = await heldStore(t);
  const store = await Store.connect(path, { actor: 'tester' });
  await store.files.write('/memories/a', 'Ada\n');
  const result = await store.memoryTool().call({ command: 'view', path: '/memories/a' });
  assert.equal(result.content, "Here's the content of /memories/a with line numbers:\n     1\tAda");
  await assert.rejects(Store.open(path, { passphrase: PASSPHRASE }), { code: 'InUse' });
  const other = await Store.connect(path);
  await store.close();
  await assert.rejects(store.files.list(), { code: 'Locked' });
  assert.equal(await other.files.read('/memories/a'), 'Ada\n');
  await other.lock();
  await assert.rejects(other.files.list(), StoreError);
  await assert.rejects(Store.connect(path), { name: 'StoreError', code: 'NoKeyDaemon' });
});

test('an unknown option is an error that names it', async (t) => {
  const store = await memoryStore(t);
  assert.throws(() => store.memoryTool({ readonly: true }), { name: 'TypeError', message: /^readonly is not an option here.*readOnly/ });
  await assert.rejects(Store.inMemory({ history: 1 }), { name: 'TypeError', message: /^history is not an option here.*historyMs/ });
  await assert.rejects(Store.connect('p', { passphrase: 'a' }), { name: 'TypeError', message: /^passphrase is not an option/ });
});

test('no class can be constructed into a dead object', () => {
  for (const [made, maker] of [[Store, 'Store.open'], [Files, 'Store.open'], [History, 'Store.open'], [Expiry, 'Store.open'], [MemoryTool, 'Store.memoryTool'], [UndoPlan, 'History.planUndo']]) {
    assert.throws(() => new made({}, {}), { name: 'TypeError', message: `this class has no public constructor; use ${maker}` });
  }
});

test('a printed store shows nothing internal', async (t) => {
  assert.doesNotMatch(inspect(await memoryStore(t)), /cannotBeSent|native/i);
});
