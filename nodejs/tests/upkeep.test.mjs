// What a host does with a store besides its files: keyslots, backups, checks, rewrites, and what a call says of its progress.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

import { Backups, generateRecoveryKey, Keyslots, Store } from 'inmost';

import { all, heldStore, memoryStore, PASSPHRASE, storeOnDisk, temporaryFolder } from './support.mjs';

const DAY = 86_400_000;

test('each keyslot opens the store until it is removed', async (t) => {
  const [path, recoveryKey] = [join(temporaryFolder(t), 's'), generateRecoveryKey()];
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const store = await Store.create(path, { rawKey: first });
  assert.equal(await store.keyslots.add({ rawKey: second, label: 'the server' }), 1);
  assert.equal(await store.keyslots.add({ recoveryKey }), 2);
  const slots = await store.keyslots.list();
  const shown = slots.map((slot) => [slot.number, slot.kind, slot.label, slot.isCurrent]);
  assert.deepEqual(shown, [
    [0, 'raw key', 'raw key', true],
    [1, 'raw key', 'the server', false],
    [2, 'recovery key', 'recovery key', false],
  ]);
  assert(Math.abs(slots[0].created.getTime() - Date.now()) < 3_600_000);
  await store.close();

  const again = await Store.open(path, { recoveryKey });
  await again.keyslots.remove(1);
  await assert.rejects(again.keyslots.remove(1), { code: 'NoSuchSlot', slot: 1 });
  await assert.rejects(again.keyslots.remove(4000), { code: 'NoSuchSlot' });
  await again.keyslots.replace(0, { rawKey: second, label: 'again' });
  assert.deepEqual((await again.keyslots.list()).map((slot) => slot.label), ['again', 'recovery key']);
  await again.close();
  await (await Store.open(path, { rawKey: second })).close();
  await assert.rejects(Store.open(path, { rawKey: first }), { code: 'WrongKey' });
});

test('a passphrase is changed, and the last slot stays', async (t) => {
  const path = join(temporaryFolder(t), 's');
  const store = await Store.create(path, { passphrase: PASSPHRASE });
  await store.keyslots.replace(0, { passphrase: 'new phrase' });
  await assert.rejects(store.keyslots.remove(0), { code: 'LastSlot' });
  await store.close();
  await (await Store.open(path, { passphrase: 'new phrase' })).close();
  await assert.rejects(Store.open(path, { passphrase: PASSPHRASE }), { code: 'WrongPassphrase' });
});

test('a rotation keeps one credential and returns the others', async (t) => {
  const [{ path, rawKey }, other] = [await storeOnDisk(t), randomBytes(32)];
  const store = await Store.open(path, { rawKey });
  await store.files.write('/memories/a.md', 'tea');
  await store.keyslots.add({ rawKey: other, label: 'lost laptop' });
  await assert.rejects(store.keyslots.rotate({ rawKey: randomBytes(32) }), { code: 'WrongKey' });
  assert.deepEqual((await store.keyslots.rotate({ rawKey })).map((slot) => slot.label), ['lost laptop']);
  assert.equal(await store.files.read('/memories/a.md'), 'tea');
  await store.close();
  await (await Store.open(path, { rawKey })).close();
  await assert.rejects(Store.open(path, { rawKey: other }), { code: 'WrongKey' });
});

test('wrong arguments of keyslots change nothing', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const store = await Store.open(path, { rawKey });
  await assert.rejects(store.keyslots.add({}), { name: 'TypeError', message: /Give one credential/ });
  await assert.rejects(store.keyslots.add({ passwort: 'p' }), { name: 'TypeError', message: /^passwort is not an option here/ });
  await assert.rejects(store.keyslots.add(), { name: 'TypeError', message: 'options must be an object' });
  const long = { rawKey: randomBytes(32), label: 'x'.repeat(64) };
  await assert.rejects(store.keyslots.add(long), { name: 'TypeError', message: 'a label has at most 63 bytes.' });
  await assert.rejects(store.keyslots.replace('0', { rawKey: randomBytes(32) }), { message: 'number must be a number' });
  await assert.rejects(store.keyslots.replace(0, { passphrase: '' }), { code: 'InvalidCredential' });
  assert.equal((await store.keyslots.list()).length, 1);
  await store.close();
  await assert.rejects((await memoryStore(t)).keyslots.list(), { code: 'InMemory' });
  for (const Class of [Keyslots, Backups]) assert.throws(() => new Class(), { name: 'TypeError', message: /no public constructor/ });
});

test('backups are made, listed, checked and restored', async (t) => {
  const folder = temporaryFolder(t);
  const [to, rawKey] = [join(folder, 'backups'), randomBytes(32)];
  await assert.rejects(Backups.open(to), { code: 'NotAStore' });
  const store = await Store.create(join(folder, 's'), { rawKey, historyMs: DAY });
  await store.files.write('/memories/a.md', 'tea');
  const first = await store.backupInto(to);
  await store.files.write('/memories/a.md', 'coffee');
  const second = await store.backupInto(pathToFileURL(to), { withVersions: true });
  assert.deepEqual([first.number, first.removed, first.isCleared], [1, [], true]);
  assert.deepEqual([second.verified.files, second.verified.bytes, second.addedBytes > 0], [1, 6, true]);
  const before = await Backups.open(to);
  const third = await store.backupInto(to, { keep: 1, keepWithinMs: 0 });
  assert.deepEqual(third.removed, [1, 2]);
  assert.deepEqual(before.list().map(({ number }) => number), [1, 2], 'as they were when it was opened');
  await store.close();

  const backups = await Backups.open(to);
  const [info, ...others] = backups.list();
  assert(info.number === 3 && info.time instanceof Date && info.ownBytes > 0 && others.length === 0);
  assert.match(info.store, /^[0-9a-f]{32}$/);
  const report = await backups.check(3, { rawKey });
  assert.deepEqual([report.isClean, report.files, report.bytes], [true, 1, 6]);
  const copy = await backups.restore(3, join(folder, 'restored'), { rawKey });
  assert.deepEqual([copy.files, copy.bytes], [1, 6]);
  const restored = await Store.open(join(folder, 'restored'), { rawKey });
  assert.equal(await restored.files.read('/memories/a.md'), 'coffee');
  await restored.close();
  await assert.rejects(backups.restore(3, join(folder, 'restored'), { rawKey }), { code: 'StoreAlreadyExists' });
  await assert.rejects(backups.check(3, { rawKey: randomBytes(32) }), { code: 'WrongKey' });
  await assert.rejects(backups.check(9, { rawKey }), { code: 'NotAStore' });
});

test('a damaged backup is reported without names in print', async (t) => {
  const [{ path, rawKey }, to] = [await storeOnDisk(t), join(temporaryFolder(t), 'backups')];
  const store = await Store.open(path, { rawKey });
  for (const name of ['secret-plan.md', 'b.md']) await store.files.write(`/memories/${name}`, name.repeat(900));
  await store.backupInto(to);
  await store.close();
  const files = readdirSync(to).map((name) => join(to, name));
  const pack = files.reduce((a, b) => (statSync(a).size > statSync(b).size ? a : b));
  const content = readFileSync(pack);
  for (let position = 2000; position < content.length; position += 100) content[position] ^= 1;
  writeFileSync(pack, content);
  const report = await (await Backups.open(to)).check(1, { rawKey }).catch((error) => {
    assert.equal(error.code, 'Tampered');
  });
  if (report) assert(!report.isClean && report.problems[0].what && !inspect(report).includes('secret-plan'));
});

test('a check, a compaction and a purge', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const store = await Store.open(path, { rawKey });
  await store.history.set({ keepMs: DAY });
  for (const text of ['tea', 'coffee']) await store.files.write('/memories/a.md', text);
  const report = await store.check();
  assert.deepEqual([report.isClean, report.files, report.bytes, report.problems, report.unlisted], [true, 1, 6, [], 0]);
  assert.equal(await store.compactionDue(), false);
  await store.compact();
  assert.equal((await all(store.history.log())).length, 2);
  await store.purge();
  assert.equal((await all(store.history.log())).length, 0);
  assert.equal(await store.files.read('/memories/a.md'), 'coffee');
  await store.close();
});

test('progress gets the counts, the last one at the end', async (t) => {
  const [{ path, rawKey }, folder] = [await storeOnDisk(t), temporaryFolder(t)];
  const store = await Store.open(path, { rawKey });
  await store.history.set({ keepMs: DAY });
  await store.files.writeMany(Array.from({ length: 50 }, (_, number) => ({ path: `/memories/${number}`, text: 'tea' })));
  let counts = [];
  const progress = (count) => counts.push(count);
  const backups = () => Backups.open(join(folder, 'b'));
  for (const call of [
    () => store.compact({ progress }),
    () => store.check({ progress }),
    () => store.backupInto(join(folder, 'b'), { progress }),
    async () => (await backups()).check(1, { rawKey, progress }),
    async () => (await backups()).restore(1, join(folder, 'r'), { rawKey, progress }),
    () => store.keyslots.rotate({ rawKey, progress }),
    async () => store.history.undo(await store.history.planUndo({ path: '/memories/7' }), { progress }),
    () => store.history.forget('/memories/8', { progress }),
    () => store.purge({ progress }),
  ]) {
    counts = [];
    await call();
    assert(counts.at(-1) > 0, String(call));
  }
  await store.close();
});

test('what progress throws comes when the work is done', async (t) => {
  const [{ path, rawKey }, to] = [await storeOnDisk(t), join(temporaryFolder(t), 'b')];
  const store = await Store.open(path, { rawKey });
  let calls = 0;
  const progress = () => {
    calls += 1;
    throw new Error('no room on the screen');
  };
  await assert.rejects(store.backupInto(to, { progress }), { message: 'no room on the screen' });
  assert.equal(calls, 1);
  assert.equal((await Backups.open(to)).list().length, 1);
  await assert.rejects(store.compact({ progress: 7 }), { name: 'TypeError', message: 'progress must be a function' });
  await store.close();
});

test('a store of unknown freshness is refused on request', async (t) => {
  const folder = temporaryFolder(t);
  const [path, rawKey] = [join(folder, 's'), randomBytes(32)];
  const [anchor, absent] = [join(folder, 'anchor'), join(folder, 'new')];
  await (await Store.create(path, { rawKey, anchor })).close();
  const store = await Store.open(path, { rawKey, anchor, requireFresh: true });
  assert.equal((await store.status()).freshness, 'known');
  await store.close();
  await assert.rejects(Store.open(path, { rawKey, anchor: absent, requireFresh: true }), { code: 'FreshnessUnknown' });
  const other = await Store.open(path, { rawKey, anchor: absent });
  assert.equal((await other.status()).freshness, 'was_missing');
  await other.close();
  assert.equal((await (await memoryStore(t)).status()).freshness, 'none');
});

test('an older copy is accepted on purpose, and what it was put over is set aside', async (t) => {
  const folder = temporaryFolder(t);
  const [path, copy, anchor] = ['s', 'copy', 'anchor'].map((name) => join(folder, name));
  const [rawKey, removed] = [randomBytes(32), randomBytes(32)];
  let store = await Store.create(path, { rawKey, anchor });
  await store.keyslots.add({ rawKey: removed, label: 'lost laptop' });
  assert.deepEqual(await store.setAside(), []);
  await store.close();
  cpSync(path, copy, { recursive: true });
  store = await Store.open(path, { rawKey, anchor });
  await store.keyslots.remove(1);
  await store.files.write('/memories/a.md', 'tea');
  await store.compact();
  await store.close();
  cpSync(copy, path, { recursive: true });
  await assert.rejects(Store.open(path, { rawKey, anchor }), { code: 'RolledBack' });
  store = await Store.open(path, { rawKey, anchor, acceptRollback: true });
  assert.equal((await store.status()).freshness, 'known');
  assert.deepEqual((await store.keyslots.list()).map(({ label }) => label), ['raw key', 'lost laptop']);
  assert.equal(await store.files.exists('/memories/a.md'), false);
  const [found, ...others] = await store.setAside();
  assert(found.bytes > 0 && existsSync(join(path, found.name)) && others.length === 0);
  await store.discardSetAside(found.number + 1);
  assert.deepEqual(await store.setAside(), [found]);
  await store.discardSetAside(found.number);
  assert.deepEqual(await store.setAside(), []);
  await store.close();
  store = await Store.open(path, { rawKey: removed, anchor, requireFresh: true });
  assert((await store.check()).isClean);
  await store.close();
});

test('a store is copied to another folder with its versions', async (t) => {
  const [folder, rawKey] = [temporaryFolder(t), randomBytes(32)];
  const [old, to] = [await Store.create(join(folder, 's'), { rawKey, historyMs: DAY }), join(folder, 'new')];
  for (const text of ['tea', 'coffee']) await old.files.write('/memories/a.md', text);
  const counts = [];
  await old.migrate(pathToFileURL(to), { progress: (count) => counts.push(count) });
  assert(counts.at(-1) > 0);
  await assert.rejects(old.migrate(to), { code: 'StoreAlreadyExists' });
  await assert.rejects(old.migrate(7), { name: 'TypeError', message: 'to must be a string' });
  await old.files.write('/memories/a.md', 'milk');
  await old.close();
  const store = await Store.open(to, { rawKey });
  const changes = await all(store.history.log());
  assert.deepEqual(await Promise.all(changes.map(({ number }) => store.history.text(number))), ['coffee', 'tea']);
  await store.close();
  await assert.rejects((await memoryStore(t)).migrate(join(folder, 'other')), { code: 'InMemory' });
});

test('a store that a key daemon holds is maintained too', { skip: process.platform === 'win32' }, async (t) => {
  const store = await Store.connect(await heldStore(t));
  await store.files.write('/memories/a.md', 'tea');
  assert.equal(await store.keyslots.add({ rawKey: randomBytes(32), label: 'spare' }), 1);
  assert.deepEqual((await store.keyslots.list()).map((slot) => slot.label), ['passphrase', 'spare']);
  assert((await store.check()).isClean);
  await store.compact();
  assert.equal((await store.backupInto(join(temporaryFolder(t), 'b'))).verified.files, 1);
  await store.migrate(join(temporaryFolder(t), 'copy'));
  const url = `postgres://nobody@127.0.0.1:1/x?vault=${'0'.repeat(32)}`;
  await assert.rejects(store.migrate(url), { code: 'KeyDaemon', message: /cannot copy/ });
  assert.deepEqual(await store.setAside(), []);
  await store.close();
});
