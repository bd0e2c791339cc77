// Two stores that are kept in step through a folder.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';

import { Store, StoreError, Sync, SyncError } from 'inmost';

import { memoryStore, temporaryFolder } from './support.mjs';

/** A folder, and a function that creates stores in it, which are closed before it is removed. */
function place(t) {
  const stores = [];
  t.after(() => Promise.all(stores.map((store) => store.close())));
  const folder = realpathSync(temporaryFolder(t));
  const create = async (name) => {
    const store = await Store.create(join(folder, name), { rawKey: randomBytes(32) });
    stores.push(store);
    return store;
  };
  return { folder, create };
}

test('two stores have the same files through a folder', async (t) => {
  const { folder, create } = place(t);
  const [shared, later] = [join(folder, 'shared'), join(folder, 'later')];
  mkdirSync(shared);
  mkdirSync(later);
  const [laptop, desk] = [await create('laptop'), await create('desk')];

  await laptop.files.write('/memories/list.md', 'milk\nbread\n');
  await laptop.sync.init(shared, 'laptop');
  assert.equal((await laptop.sync.run()).sent, 1);
  await desk.sync.join(shared, await laptop.sync.invitation(), 'desk');
  const counts = [];
  assert.equal((await desk.sync.run({ progress: (count) => counts.push(count) })).changed, 1);
  assert.equal(counts.at(-1), 1);
  assert.equal(await desk.files.read('/memories/list.md'), 'milk\nbread\n');

  await laptop.files.write('/memories/list.md', 'rye bread\n');
  await desk.files.write('/memories/list.md', 'eggs\n');
  await laptop.sync.run();
  await desk.sync.run();
  const report = await laptop.sync.run();
  assert.equal(report.copies.length, 1);
  assert(!inspect(report).includes(report.copies[0]) && !JSON.stringify(report).includes('list'));
  assert.equal(await laptop.files.read('/memories/list.md'), await desk.files.read('/memories/list.md'));
  const status = await desk.sync.status();
  assert.deepEqual([status.name, status.place, status.conflicts], ['desk', shared, 1]);
  assert.equal(status.members[0].name, 'laptop');
  assert(Math.abs(status.members[0].time - Date.now()) < 3_600_000);

  await laptop.sync.remove([], later);
  await laptop.sync.run();
  await desk.sync.follow(later, await laptop.sync.invitation());
  await desk.files.write('/memories/late.md', 'late\n');
  await desk.sync.run();
  await laptop.sync.run();
  assert.equal(await laptop.files.read('/memories/late.md'), 'late\n');
  await desk.sync.leave();
  await assert.rejects(desk.sync.status(), { code: 'NotAMember' });
});

test('mistakes are explained and change nothing', async (t) => {
  const { folder, create } = place(t);
  const store = await create('s');
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  await assert.rejects(store.sync.run(), (error) => {
    assert(error instanceof SyncError && error instanceof StoreError);
    assert.equal(error.code, 'NotAMember');
    assert.match(error.advice, /inmost sync init/);
    return true;
  });
  await assert.rejects(store.sync.init(join(folder, 'absent'), 'laptop'), { code: 'PlaceUnavailable' });
  await assert.rejects(store.sync.init(folder, 'laptop'), { code: 'PlaceOverlapsStore' });
  await assert.rejects(store.sync.init(shared, 'a/b'), { code: 'InvalidDeviceName' });
  await assert.rejects(store.sync.join(shared, 'inmost', 'laptop'), { code: 'InvalidInvitation' });
  await assert.rejects(store.sync.remove('desk', shared), { name: 'TypeError', message: 'names must be an array' });
  await assert.rejects(store.sync.status(), { code: 'NotAMember' });
  await assert.rejects((await memoryStore(t)).sync.status(), { code: 'NoFolder' });
  assert.throws(() => new Sync(), { name: 'TypeError', message: /no public constructor/ });
});
