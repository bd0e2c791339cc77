// Wrong arguments: each error names its argument or option, and none shows the value or the insides of an engine or a compiler.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';

import { Backups, InmostError, Postgres, Store, Vault } from 'inmost';

import { temporaryFolder } from './support.mjs';

const INTERNAL = /napi|Rust|undefined|\[object|InvalidArg|Failed to|convert|os error|Cannot read|not iterable|is not a function/;
const WRONG = [Symbol('bluebird'), () => 'bluebird', -1, 1.5, [Symbol('bluebird')], 'bluebird \ud800', new Date(NaN), new Map()];
const GOOD = {
  path: '/memories/a',
  from: '/memories/a',
  place: '/absent',
  name: 'laptop',
  names: [],
  invitation: 'inmost-1',
  to: '/memories/b',
  paths: [],
  files: [],
  content: 'tea',
  words: 'tea',
  what: 'tea',
  first: 1,
  number: 1,
  version: 1,
  unusedForMs: 86_400_000,
  condition: null,
  id: '0'.repeat(32),
  call: { command: 'view', path: '/memories' },
};

test('an error names the argument and shows no value', async (t) => {
  const folder = temporaryFolder(t);
  const rawKey = randomBytes(32);
  const store = await Store.create(join(folder, 's'), { rawKey });
  await store.backupInto(join(folder, 'backups'));
  const good = { ...GOOD, plan: await store.history.planUndo(), folder: join(folder, 'backups'), credential: { rawKey } };
  const parts = [store, store.files, store.history, store.expiry, store.keyslots, store.sync, store.memoryTool(), await Backups.open(good.folder)];
  parts.push(new Postgres('postgres://u@localhost/d'), Store, Backups);
  let tried = 0;
  for (const part of parts) {
    const isClass = typeof part === 'function';
    const source = isClass ? part : Object.getPrototypeOf(part);
    for (const name of Object.getOwnPropertyNames(source)) {
      const method = isClass || name !== 'constructor' ? Object.getOwnPropertyDescriptor(source, name).value : undefined;
      if (typeof method !== 'function' || ['close', 'lock'].includes(name)) continue;
      const title = `${isClass ? part.name : part.constructor.name}.${name}`;
      const names = parameters(method);
      const takesKey = ['create', 'open'].includes(name);
      good.settings = part === store.history ? { keepMs: 1 } : { record: true };
      const given = names.map((each) => (part === Store && each === 'options' && takesKey ? { rawKey } : good[each]));
      if (part === Store) given[0] = names[0] === 'path' ? join(folder, 'absent', 's') : given[0];
      for (const [place, argument] of names.entries()) {
        for (const wrong of WRONG) {
          tried += 1;
          const message = await failure(part, method, given.with(place, wrong));
          if (message === undefined) continue;
          assert(!INTERNAL.test(message) && !message.includes('bluebird'), `${title}: ${message}`);
          const isNamed = new RegExp(`\\b${argument}\\b|^options must be|^a call is|^Give one credential|^a condition is|is not an option here`).test(message);
          assert(isNamed || ['credential', 'settings', 'query', 'what', 'files', 'paths'].includes(argument), `${title}(${argument}): ${message}`);
        }
      }
      const last = names.at(-1);
      if (!['options', 'query', 'settings', 'credential'].includes(last)) continue;
      const unknown = await failure(part, method, given.with(-1, { ...given.at(-1), bluebirds: 1 }));
      assert.match(unknown, /^bluebirds is not an option here; the options are /, title);
      for (const option of unknown.replace(/^.* options are /, '').split(', ')) {
        for (const wrong of WRONG) {
          tried += 1;
          const message = await failure(part, method, given.with(-1, { ...given.at(-1), [option]: wrong }));
          if (message === undefined) continue;
          assert(!INTERNAL.test(message) && !message.includes('bluebird \ud800'), `${title}: ${message}`);
          assert(message.includes(option) || message.startsWith('Give one credential'), `${title}({ ${option} }): ${message}`);
        }
      }
    }
  }
  assert(tried > 700, String(tried));
  await store.close();
  assert.throws(() => new Vault(), { message: /no public constructor/ });
});

/** The names of a method's parameters, from its source. */
function parameters(method) {
  const [, list] = /^[^(]*\(([^)]*)\)/.exec(method.toString());
  return list.split(',').map((part) => part.trim().split(/[ =]/)[0]).filter(Boolean);
}

/** The message of the error about an argument; nothing if the call succeeds, or fails for another reason. */
async function failure(part, method, given) {
  try {
    const result = await method.apply(part, given);
    if (typeof result?.next === 'function') await result.next();
  } catch (error) {
    if (error instanceof InmostError) {
      assert(!error.message.includes('bluebird'), error.message);
      return undefined;
    }
    assert(error instanceof TypeError || error instanceof RangeError, String(error));
    return error.message;
  }
}
