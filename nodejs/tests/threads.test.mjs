// Threads, many calls at once, and processes that end without closing the store.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';

import { Store } from 'inmost';

import { memoryStore, storeOnDisk } from './support.mjs';

const STORE_WORKER = join(import.meta.dirname, 'store-worker.mjs');

test('400 changes at once are all kept', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const store = await Store.open(path, { rawKey });
  await store.files.write('/memories/log', '');
  const tool = store.memoryTool();
  const calls = Array.from({ length: 400 }, (_, n) =>
    tool.call({ command: 'insert', path: '/memories/log', insert_line: 0, insert_text: `${n}\n` }),
  );
  const results = await Promise.all(calls);
  assert(results.every((result) => !result.isError));
  await store.close();
  const again = await Store.open(path, { rawKey });
  const numbers = (await again.files.read('/memories/log')).trimEnd().split('\n').map(Number);
  assert.deepEqual(numbers.sort((a, b) => a - b), Array.from({ length: 400 }, (_, n) => n));
  await again.close();
});

test('a store is used in the thread that opened it', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const worker = new Worker(STORE_WORKER, { workerData: { path, rawKey } });
  t.after(() => worker.terminate());
  assert.deepEqual(await reply(worker), 'open');
  // The same process, but another thread.
  await assert.rejects(Store.open(path, { rawKey }), (error) => {
    assert.equal(error.code, 'InUse');
    assert.match(error.message, /other part of this program/);
    return true;
  });
  worker.postMessage({ write: ['/memories/a', 'from the worker\n'] });
  assert.deepEqual(await reply(worker), 'written');
  worker.postMessage({ close: true });
  await once(worker, 'exit');
  const store = await Store.open(path, { rawKey });
  assert.equal(await store.files.read('/memories/a'), 'from the worker\n');
  await store.close();
});

test('a thread that is terminated loses nothing and releases the store', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const worker = new Worker(STORE_WORKER, { workerData: { path, rawKey } });
  assert.deepEqual(await reply(worker), 'open');
  worker.postMessage({ write: ['/memories/a', 'kept\n'] });
  assert.deepEqual(await reply(worker), 'written');
  await worker.terminate();
  const store = await Store.open(path, { rawKey });
  assert.equal(await store.files.read('/memories/a'), 'kept\n');
  await store.close();
});

test('a store cannot be sent to another thread', async (t) => {
  const store = await memoryStore(t);
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  for (const object of [store, store.files, store.history, store.sync, store.memoryTool(), await store.history.planUndo()]) {
    assert.throws(() => port1.postMessage(object), { name: 'DataCloneError' });
    assert.throws(() => structuredClone({ object }), { name: 'DataCloneError' });
  }
  port2.close();
});

test('a process that ends without closing the store loses nothing', async (t) => {
  const { path, rawKey } = await storeOnDisk(t);
  const ways = ['process.exit(0)', 'process.kill(process.pid, "SIGKILL")', 'throw new Error("on purpose")', ''];
  for (const [number, way] of ways.entries()) {
    const program = `
      import { Store } from 'inmost';
      const store = await Store.open(${JSON.stringify(path)}, { rawKey: Buffer.from('${rawKey.toString('hex')}', 'hex') });
      await store.files.write('/memories/${number}', 'kept');
      store.files.write('/memories/not-awaited', 'x');
      ${way}`;
    const options = { cwd: import.meta.dirname, encoding: 'utf8' };
    const done = spawnSync(process.execPath, ['--input-type=module', '--eval', program], options);
    assert.equal(done.signal, way.includes('KILL') ? 'SIGKILL' : null, done.stderr);
    assert.equal(done.status, way.includes('KILL') ? null : way.includes('throw') ? 1 : 0, done.stderr);
    const store = await Store.open(path, { rawKey });
    assert.equal(await store.files.read(`/memories/${number}`), 'kept');
    await store.close();
  }
});

/** The next message of a worker, or its error. */
function reply(worker) {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
