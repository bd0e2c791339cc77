// The history: what changed, the texts then, going back and forgetting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';

import { FileError, UndoPlan, VersionInfo } from 'inmost';

import { all, memoryStore } from './support.mjs';

const HOUR = 3_600_000;

test('a log tells who changed what, and when', async (t) => {
  const store = await memoryStore(t, { historyMs: HOUR, actor: 'me' });
  const before = new Date(Date.now() - 1000);
  await store.files.write('/memories/a', '1\n');
  await store.memoryTool({ actor: 'agent' }).call({ command: 'rename', old_path: '/memories/a', new_path: '/memories/b' });
  const [newest, oldest] = await all(store.history.log());
  assert(newest instanceof VersionInfo);
  assert.deepEqual([newest.kind, newest.actor, newest.channel], ['renamed', 'agent', 'tool']);
  assert.deepEqual([newest.path, newest.oldPath], ['/memories/b', '/memories/a']);
  assert.deepEqual([oldest.kind, oldest.actor, oldest.channel, oldest.previous], ['created', 'me', 'files', null]);
  assert.deepEqual([oldest.bytes, oldest.lines, oldest.file], [2, 1, newest.file]);
  assert(newest.time instanceof Date && newest.time > before);
  const numbers = async (query) => (await all(store.history.log(query))).map((version) => version.number);
  assert.deepEqual(await numbers({ actor: 'agent' }), [newest.number]);
  assert.deepEqual(await numbers({ kind: 'created' }), [oldest.number]);
  assert.deepEqual(await numbers({ channel: 'program' }), []);
  assert.deepEqual(await numbers({ since: before }), [newest.number, oldest.number]);
  assert.deepEqual(await numbers({ until: before }), []);
  assert.deepEqual(await numbers({ file: oldest.file }), await numbers({}));
  assert.deepEqual(await numbers({ path: '/memories/b' }), [newest.number]);
  await assert.rejects(all(store.history.log({ kind: 'invented' })), TypeError);
  assert.throws(() => store.history.log({ since: 5 }), TypeError);
});

test('a version is read and brought back', async (t) => {
  const { files, history } = await memoryStore(t, { historyMs: HOUR });
  await files.write('/memories/a', 'old');
  await files.write('/memories/a', 'new');
  const [newest] = await all(history.log());
  assert.equal(await history.text(newest.previous), 'old');
  const restored = await history.restore(newest.previous);
  assert(restored > newest.number);
  assert.equal(await files.read('/memories/a'), 'old');
  await history.restore(newest.number, '/memories/copy');
  assert.equal(await files.read('/memories/copy'), 'new');
  await assert.rejects(history.text(9999), { name: 'FileError', code: 'NoSuchVersion', version: 9999 });
  await assert.rejects(history.restore('1'), TypeError);
});

test('an undo takes back what one actor did, and leaves what others changed since', async (t) => {
  const store = await memoryStore(t, { historyMs: HOUR });
  await store.files.write('/memories/a', 'mine');
  await store.files.write('/memories/b', 'mine');
  const tool = store.memoryTool({ actor: 'agent', createOverwrites: true });
  for (const name of ['a', 'b', 'c']) {
    await tool.call({ command: 'create', path: `/memories/${name}`, file_text: 'agent' });
  }
  await store.files.write('/memories/b', 'mine again');
  const plan = await store.history.planUndo({ actor: 'agent' });
  assert(plan instanceof UndoPlan);
  assert.deepEqual(plan.steps.map((step) => [step.newest.path, step.to === null]), [
    ['/memories/c', true],
    ['/memories/a', false],
  ]);
  assert.deepEqual(plan.left.map((version) => version.path), ['/memories/b']);
  assert.deepEqual([plan.gone, plan.unreadable], [[], 0]);
  await store.files.write('/memories/c', 'meanwhile');
  const [left, done] = await store.history.undo(plan);
  assert(left.reason instanceof FileError && left.reason.code === 'Changed' && left.version === null);
  assert(typeof done.version === 'number' && done.reason === null);
  assert.equal(await store.files.read('/memories/a'), 'mine');
  assert.equal(await store.files.read('/memories/c'), 'meanwhile');
  await assert.rejects(store.history.undo({ steps: [] }), TypeError);
  assert.doesNotMatch(inspect(plan), /memories/);
});

test('versions are forgotten', async (t) => {
  const { files, history } = await memoryStore(t, { historyMs: HOUR });
  for (const text of ['secret', 'public', 'third']) await files.write('/memories/a', text);
  const [, open, secret] = await all(history.log());
  await assert.rejects(history.forget('/memories/a', { until: secret.number + 64_000 }), { code: 'NoSuchVersion' });
  await assert.rejects(history.forget('/memories/a', { until: -1 }), RangeError);
  assert.equal(await history.forget('/memories/a', { until: secret.number }), 1);
  await assert.rejects(history.text(secret.number), { code: 'VersionGone', version: secret.number });
  assert.equal(await history.text(open.number), 'public');
  await files.remove('/memories/a');
  assert((await history.forget('/memories/a')) > 0);
  assert.deepEqual(await all(history.log({ path: '/memories/a' })), []);
});

test('how long versions are kept can be set', async (t) => {
  const { files, history } = await memoryStore(t);
  assert.equal((await history.status()).keepMs, null);
  await history.set({ keepMs: HOUR, maxBytes: 1_000_000 });
  await files.write('/memories/a', '1');
  await files.write('/memories/a', '2');
  const { keepMs, maxBytes, entries, bytes, isDamaged, unreadable, lostBefore } = await history.status();
  const found = [keepMs, maxBytes, entries, bytes, isDamaged, unreadable, lostBefore];
  assert.deepEqual(found, [HOUR, 1_000_000, 2, 1, false, 0, null]);
  await assert.rejects(history.set({}), TypeError);
  await assert.rejects(history.set({ keepMs: -1 }), RangeError);
  await history.set({ keepMs: null });
  assert.equal((await history.status()).keepMs, null);
});
