// The adapter for the AI SDK of Vercel, with the real loop against a scripted server.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { createAnthropic } from '@ai-sdk/anthropic';
import * as ai from 'ai';
import { memoryTool } from 'inmost/ai-sdk';

import { checkLock, checkParallelCalls, checkSession, ROOT } from './adapter.mjs';
import { call, memoryStore, scriptedServer, text } from './support.mjs';

const request = (server, tool, provider = createAnthropic) => ({
  model: provider({ apiKey: 'none', baseURL: `${server.url}/v1` })('scripted'),
  tools: { memory: tool },
  stopWhen: ai.stepCountIs(50),
  maxRetries: 0,
  maxOutputTokens: 1000,
  prompt: 'Go.',
});

const run = async (server, memory, options) =>
  (await ai.generateText(request(server, memoryTool(memory, options)))).text;

test('a loop gets the exact results', (t) => checkSession(t, run));

test('a loop gets the exact results from modules that were required', (t) => {
  const require = createRequire(import.meta.url);
  const [adapter, provider] = [require('inmost/ai-sdk').memoryTool, require('@ai-sdk/anthropic').createAnthropic];
  return checkSession(t, async (server, memory) => (await require('ai').generateText(request(server, adapter(memory), provider))).text);
});

test('a loop that streams gets the exact results', (t) =>
  checkSession(t, async (server, memory) => await ai.streamText(request(server, memoryTool(memory))).text));

test('parallel calls have a result each, in their order', (t) => checkParallelCalls(t, run));

test('a lock in the middle is the application’s error', (t) => checkLock(t, run));

test('a call that the schema of the AI SDK refuses reaches the memory', async (t) => {
  const store = await memoryStore(t);
  await store.files.write(`${ROOT}/a`, 'Tea and coffee.\n');
  const server = await scriptedServer(t, [
    [call('t1', { command: 'str_replace', path: `${ROOT}/a`, old_str: ' and coffee' })],
    [text('Done.')],
  ]);
  await run(server, store.memoryTool({ maxFileBytes: 100 }));
  assert.equal(await store.files.read(`${ROOT}/a`), 'Tea.\n');
});
