// The cases of the SDKs' own suites (sdk-cases/cases.mjs) against `inmost/anthropic`, and against the SDK's own tool, which
// shows that the cases are about what it does.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { Store } from 'inmost';
import { memoryTool } from 'inmost/anthropic';

import { CASES } from './sdk-cases/cases.mjs';
import { DIFFERENCES } from './sdk-cases/differences.mjs';
import { temporaryFolder } from './support.mjs';

/** The SDK's tool, which keeps plain files below `base`. */
async function sdkTool(base) {
  const memories = join(base, 'memories');
  let tool = betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(base));
  return {
    memories,
    run: (input) => tool.run(input),
    init: async (below) => {
      tool = betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(join(base, below)));
      return join(base, below);
    },
    write: async (name, content) => writeFileSync(join(memories, name), content),
    snapshot: async () => {
      const files = readdirSync(memories, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const names = files.map((entry) => join(entry.parentPath, entry.name));
      return Object.fromEntries(names.map((name) => [name.slice(memories.length + 1), readFileSync(name, 'utf8')]));
    },
    close: async () => {},
  };
}

/** Our tool on a store on disk, beside a folder of plain files that it does not know. */
async function inmostTool(base) {
  const memories = join(base, 'memories');
  mkdirSync(memories);
  const store = await Store.create(join(base, 'store'), { rawKey: Buffer.alloc(32, 7) });
  const tool = memoryTool(store);
  return {
    memories,
    run: (input) => tool.run(input),
    init: async () => memories,
    write: (name, content) => store.files.write(`/memories/${name}`, content),
    snapshot: async () => {
      const files = {};
      for await (const entry of store.files.walk()) {
        if (!entry.metadata.isFolder) files[entry.path.slice('/memories/'.length)] = await store.files.read(entry.path);
      }
      return files;
    },
    close: () => store.close(),
  };
}

async function runCase(t, name, makeTool) {
  const base = temporaryFolder(t);
  const tool = await makeTool(base);
  try {
    await CASES[name]({ ...tool, base, fails: (input, message) => fails(tool, input, message) });
  } finally {
    await tool.close();
  }
}

/** As `toThrow` of other test frameworks: what the model would read contains the text. Returns it. */
async function fails(tool, input, message) {
  let error;
  try {
    await tool.run(input);
  } catch (thrown) {
    error = thrown;
  }
  if (error === undefined) assert.fail(`did not fail: ${input.command}`);
  const read = String(error.content ?? error.message);
  assert(read.includes(message), `expected ${message}, got: ${read}`);
  return read;
}

const listed = new Map(DIFFERENCES.flatMap((difference) => difference.cases.map((name) => [name, difference])));

for (const name of Object.keys(CASES)) {
  test(`the SDK’s tool: ${name}`, { skip: process.platform === 'win32' }, (t) => runCase(t, name, sdkTool));

  const difference = listed.get(name);
  if (difference === undefined) {
    test(`our tool: ${name}`, (t) => runCase(t, name, inmostTool));
  } else {
    test(`our tool differs (${difference.kind}): ${name}`, { skip: process.platform === 'win32' }, async (t) => {
      await assert.rejects(
        () => runCase(t, name, inmostTool),
        (error) => difference.shows.some((text) => error.message.includes(text)) || assert.fail(error.message),
      );
    });
  }
}

test('every listed difference is a case', () => {
  assert.deepEqual([...listed.keys()].filter((name) => !(name in CASES)), []);
  const names = DIFFERENCES.flatMap((difference) => difference.cases);
  assert.equal(new Set(names).size, names.length);
  for (const { kind } of DIFFERENCES) assert(['by our contract', 'about real files'].includes(kind));
});
