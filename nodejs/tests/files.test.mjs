// Files: everything that a host does with the content of a store.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { inspect } from 'node:util';

import { FileError } from 'inmost';

import { all, memoryStore } from './support.mjs';

test('a file is written, appended to, read in part, moved and removed', async (t) => {
  const { files } = await memoryStore(t);
  await files.write('/memories/people/ada.md', 'Ada\nTea ☕ 🫖\n');
  await files.append('/memories/people/ada.md', 'Tall');
  assert.equal(await files.read('/memories/people/ada.md'), 'Ada\nTea ☕ 🫖\nTall');
  assert.equal(await files.readLines('/memories/people/ada.md', 2, 2), 'Tea ☕ 🫖\n');
  assert.equal(await files.readLines('/memories/people/ada.md', 2), 'Tea ☕ 🫖\nTall');
  await files.rename('/memories/people', '/memories/team');
  assert.equal(await files.exists('/memories/people/ada.md'), false);
  assert.equal(await files.exists('/memories/team/ada.md'), true);
  await files.remove('/memories/team');
  assert.deepEqual(await files.list(), []);
});

test('every character is stored as it is', async (t) => {
  const { files } = await memoryStore(t);
  for (const content of ['', '\0', '\ufeffx', 'a\r\nb\rc', '\u{10ffff}', 'é e\u0301', 'x'.repeat(300_000)]) {
    await files.write('/memories/a', content);
    assert.equal(await files.read('/memories/a'), content);
  }
});

test('metadata has dates', async (t) => {
  const { files } = await memoryStore(t);
  const before = Date.now();
  await files.write('/memories/x/a', 'é\nb\n');
  const metadata = await files.metadata('/memories/x/a');
  assert.deepEqual([metadata.bytes, metadata.lines, metadata.isFolder], [5, 2, false]);
  assert(metadata.created instanceof Date && metadata.modified instanceof Date);
  assert(metadata.created.getTime() >= before - 1000 && metadata.created <= metadata.modified);
  assert.deepEqual(await files.metadata('/memories/x'), {
    bytes: 5,
    isFolder: true,
    lines: null,
    created: null,
    modified: null,
  });
});

test('listings and walks are in order and have hidden entries', async (t) => {
  const { files } = await memoryStore(t);
  for (const path of ['b/2', 'b/.hidden', 'a', 'B/deep/er/x']) await files.write(`/memories/${path}`, '1');
  assert.deepEqual((await files.list()).map((entry) => entry.name), ['B', 'a', 'b']);
  assert.deepEqual((await files.list('/memories/b')).map((entry) => [entry.name, entry.metadata.bytes]), [
    ['.hidden', 1],
    ['2', 1],
  ]);
  const paths = (await all(files.walk())).map((entry) => entry.path.slice('/memories/'.length));
  assert.deepEqual(paths, ['B', 'B/deep', 'B/deep/er', 'B/deep/er/x', 'a', 'b', 'b/.hidden', 'b/2']);
  const shallow = await all(files.walk('/memories/B', { maxDepth: 0 }));
  assert.deepEqual(shallow.map((entry) => [entry.path, entry.depth]), [['/memories/B/deep', 0]]);
});

test('a walk reads page by page and can be left', async (t) => {
  const store = await memoryStore(t);
  const count = 2_500;
  const many = Array.from({ length: count }, (_, n) => ({ path: `/memories/${String(n).padStart(5, '0')}`, text: 'x' }));
  assert.deepEqual(new Set(await store.files.writeMany(many)), new Set(['written']));
  const paths = (await all(store.files.walk())).map((entry) => entry.path);
  assert.deepEqual(paths, many.map((file) => file.path));
  for await (const entry of store.files.walk()) {
    assert.equal(entry.path, '/memories/00000');
    break;
  }
  // The first page was read before the lock, the second is not.
  let seen = 0;
  await assert.rejects(
    async () => {
      for await (const _ of store.files.walk()) if (seen++ === 0) await store.lock();
    },
    { code: 'Locked' },
  );
  assert(seen > 0 && seen < count);
});

test('many files are written with a result each', async (t) => {
  const { files } = await memoryStore(t);
  await files.write('/memories/kept', 'old');
  const modified = new Date('2020-02-29T12:00:00Z');
  const created = new Date('2019-01-01T00:00:00Z');
  await files.write('/memories/folder/b', 'ü');
  const texts = await files.readMany(['/memories/folder/b', '/memories/gone', '/memories/folder']);
  assert.equal(texts[0], 'ü');
  assert(texts[1] instanceof FileError && texts[1].code === 'NotFound' && texts[2].code === 'IsAFolder');
  await assert.rejects(files.readMany([1]), TypeError);
  await files.remove('/memories/folder');
  const results = await files.writeMany([
    { path: '/memories/a', text: 'x', created, modified },
    { path: '/etc/passwd', text: 'root' },
    { path: '/memories/a', text: 'x' },
    { path: '/memories/kept', text: 'new', replaces: false },
  ]);
  assert.deepEqual([results[0], results[2]], ['written', 'unchanged']);
  assert(results[1] instanceof FileError && results[1].code === 'InvalidPath');
  assert.equal(results[3].code, 'AlreadyExists');
  const metadata = await files.metadata('/memories/a');
  assert.deepEqual([metadata.created, metadata.modified], [created, modified]);
  await assert.rejects(files.writeMany([{ path: '/memories/b', text: 'x', created: new Date(NaN) }]), RangeError);
});

test('a search finds texts and patterns with their places', async (t) => {
  const { files } = await memoryStore(t);
  await files.write('/memories/a', '🫖 Tea and tea\nnone\nTEA\n');
  await files.write('/memories/x/b', 'tea\n');
  const places = async (what, options) =>
    (await all(files.search(what, options))).map((found) => [found.path, found.line, found.ranges]);
  assert.deepEqual(await places('tea'), [
    ['/memories/a', 1, [[11, 14]]],
    ['/memories/x/b', 1, [[0, 3]]],
  ]);
  const [first] = await all(files.search('tea', { ignoreCase: true }));
  assert.deepEqual(first.ranges.map(([start, end]) => first.text.slice(start, end)), ['Tea', 'tea']);
  assert.deepEqual(await places({ regex: '^T[A-Z]+$' }), [['/memories/a', 3, [[0, 3]]]]);
  assert.equal((await places('tea', { path: '/memories/x' })).length, 1);
  assert.equal((await places('tea', { ignoreCase: true, maxMatchesPerFile: 1 })).length, 2);
  assert.throws(() => files.search({ regex: '(' }), { name: 'FileError', code: 'InvalidPattern' });
  await assert.rejects(all(files.search('x', { path: '/memories/none' })), { code: 'NotFound' });
});

test('a change on condition loses no other change', async (t) => {
  const { files } = await memoryStore(t);
  assert.equal(await files.version('/memories/count'), null);
  const first = await files.writeIf('/memories/count', '1', null);
  assert.equal(first.sha256, createHash('sha256').update('1').digest('hex'));
  assert.deepEqual(await files.version('/memories/count'), first);
  const second = await files.writeIf('/memories/count', '2', first);
  await assert.rejects(files.writeIf('/memories/count', '3', first), (error) => {
    assert.deepEqual([error.code, error.current], ['Changed', second]);
    return true;
  });
  await assert.rejects(files.writeIf('/memories/count', '3', null), { code: 'Changed' });
  await files.writeIf('/memories/count', '3', { sha256: second.sha256.toUpperCase() });
  await assert.rejects(files.removeIf('/memories/count', second), { code: 'Changed' });
  const now = await files.version('/memories/count');
  const change = await files.renameIf('/memories/count', '/memories/total', now);
  assert(change > now.version);
  await files.removeIf('/memories/total', { version: (await files.version('/memories/total')).version });
  await assert.rejects(files.writeIf('/memories/none', 'x', { version: 1 }), { code: 'Changed', current: null });
});

test('a condition that was forgotten is not taken for one', async (t) => {
  const { files } = await memoryStore(t);
  for (const condition of [undefined, {}, { version: '1' }, { sha256: 'xyz' }, { sha256: '+'.repeat(64) }]) {
    await assert.rejects(files.writeIf('/memories/a', 'x', condition), TypeError);
  }
  await assert.rejects(files.writeIf('/memories/a', 'x', { version: -1 }), RangeError);
  assert.equal(await files.exists('/memories/a'), false);
});

test('each fact of a file operation has its code', async (t) => {
  const { files } = await memoryStore(t);
  await files.write('/memories/folder/file', 'one\n');
  const facts = [
    [() => files.read('/memories/none'), { code: 'NotFound' }],
    [() => files.read('/memories/folder'), { code: 'IsAFolder', path: '/memories/folder' }],
    [() => files.list('/memories/folder/file'), { code: 'NotAFolder', path: '/memories/folder/file' }],
    [() => files.read('/elsewhere'), { code: 'InvalidPath' }],
    [() => files.read('/memories/../x'), { code: 'InvalidPath' }],
    [() => files.readLines('/memories/folder/file', 7), { code: 'NoSuchLine', lines: 1 }],
    [() => files.remove('/memories'), { code: 'Root' }],
    [() => files.rename('/memories/folder', '/memories/folder/x'), { code: 'IntoItself' }],
    [() => files.rename('/memories/folder/file', '/memories/folder'), { code: 'AlreadyExists' }],
  ];
  for (const [call, fact] of facts) await assert.rejects(async () => call(), { name: 'FileError', ...fact });
  for (const call of [() => files.read(), () => files.write('/memories/a'), () => files.readLines('/memories/a', '1')]) {
    await assert.rejects(call(), TypeError);
  }
});

test('unused files expire', async (t) => {
  const day = 86_400_000;
  const { expiry, files, history } = await memoryStore(t, { historyMs: 30 * day });
  assert.equal((await expiry.status()).isRecording, false);
  assert.equal((await expiry.expire(day)).hindrance, 'not_recording');
  await expiry.set({ record: true, atUnlockMs: 90 * day });
  const { isRecording, atUnlockMs, since, lastExpiry, readings, isDamaged } = await expiry.status();
  assert.deepEqual([isRecording, atUnlockMs, lastExpiry, readings, isDamaged], [true, 90 * day, null, 0, false]);
  assert(since instanceof Date);
  await files.write('/memories/a', 'tea');
  assert.deepEqual((await expiry.expire(day)).files, []);
  const planned = await expiry.expire(0, { dryRun: true });
  assert.deepEqual([planned.files[0].path, planned.files[0].version, planned.bytes, planned.unlisted, planned.hindrance], ['/memories/a', null, 3, 0, null]);
  assert(await files.exists('/memories/a'));
  const [expired] = (await expiry.expire(0)).files;
  assert.equal(typeof expired.version, 'number');
  assert(!(await files.exists('/memories/a')));
  assert.equal((await all(history.log()))[0].channel, 'expiry');
  await expiry.set({ record: false });
  await assert.rejects(expiry.set({ record: false, atUnlockMs: day }), TypeError);
  await assert.rejects(expiry.set({}), TypeError);
  await assert.rejects(expiry.expire(-1), RangeError);
});

test('files are ranked by words', async (t) => {
  const { files } = await memoryStore(t);
  await files.write('/memories/plan.md', 'Paris\nflights to Lisbon are booked\n');
  await files.write('/memories/other.md', 'a book, and much else that says nothing about it\n');
  const ranked = await files.rank('booking a flight');
  assert.deepEqual(ranked.files.map((file) => file.path), ['/memories/plan.md', '/memories/other.md']);
  const [best, second] = ranked.files;
  assert.deepEqual(best.lines, [{ line: 2, text: 'flights to Lisbon are booked' }]);
  assert.ok(best.score > second.score && best.modified instanceof Date);
  assert.equal(ranked.found, 2);
  assert.ok(!inspect(ranked).includes('plan'));
  assert.equal((await files.rank('booking a flight', { limit: 1, skip: 1 })).files[0].path, '/memories/other.md');
  assert.deepEqual((await files.rank('booking', { since: new Date(Date.now() + 86_400_000) })).files, []);
  await assert.rejects(files.rank('?!'), { code: 'EmptySearch' });
  await assert.rejects(files.rank('x', { path: '/memories/none' }), { code: 'NotFound' });
});

test('nothing that was read before a lock is handed out after it', async (t) => {
  const store = await memoryStore(t);
  await store.files.writeMany(Array.from({ length: 50 }, (_, number) => ({ path: `/memories/${number}`, text: 'tea\n' })));
  const found = store.files.search('tea');
  await found.next();
  await store.lock();
  await assert.rejects(found.next(), { code: 'Locked' });
});

test('an empty text is not searched for', async (t) => {
  const { files } = await memoryStore(t);
  assert.throws(() => files.search(''), { code: 'EmptySearch' });
});
