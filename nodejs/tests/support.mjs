// What several tests need.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';

import { Store } from 'inmost';

export const PROGRAM = join(import.meta.dirname, '..', 'native', process.platform === 'win32' ? 'inmost.exe' : 'inmost');
export const LAUNCHER = join(import.meta.dirname, '..', 'bin', 'inmost.js');
export const PASSPHRASE = 'correct horse battery staple';

/** A folder that is removed after the test. The path is short, because the name of a socket has a length limit. */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'im'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store in memory that is closed after the test. */
export async function memoryStore(t, options) {
  const store = await Store.inMemory(options);
  t.after(() => store.close());
  return store;
}

/** The path of a store on disk and the raw key that opens it without key derivation. */
export async function storeOnDisk(t) {
  const path = join(temporaryFolder(t), 'claude.inmost');
  const rawKey = randomBytes(32);
  await (await Store.create(path, { rawKey })).close();
  return { path, rawKey };
}

/** The path of a store that a key daemon holds. */
export async function heldStore(t) {
  const before = process.env.XDG_RUNTIME_DIR;
  const [folder, sockets] = [mkdtempSync(join(tmpdir(), 'im')), mkdtempSync(join(tmpdir(), 'im'))];
  const [path, phrase] = [join(folder, 's'), join(folder, 'phrase')];
  // Hooks run in their order, and the daemon must end before its folder goes.
  t.after(() => {
    spawnSync(PROGRAM, ['lock', '--store', path], { stdio: 'ignore' });
    if (before === undefined) delete process.env.XDG_RUNTIME_DIR;
    else process.env.XDG_RUNTIME_DIR = before;
    for (const each of [folder, sockets]) rmSync(each, { recursive: true, force: true });
  });
  writeFileSync(phrase, PASSPHRASE);
  await (await Store.create(path, { passphrase: PASSPHRASE })).close();
  process.env.XDG_RUNTIME_DIR = sockets;
  execFileSync(PROGRAM, ['unlock', '--store', path, '--passphrase-file', phrase], { stdio: 'ignore' });
  return path;
}

export async function all(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}

/** A block with which the model calls the memory tool. */
export function call(id, input) {
  return { type: 'tool_use', id, name: 'memory', input };
}

export function text(content) {
  return { type: 'text', text: content };
}

/**
 * A model server that follows a script: it returns one reply after the other and records the requests.
 *
 * A step of the script is the content of a reply.
 */
export async function scriptedServer(t, script) {
  const scripted = { requests: [], onRequest: async () => {}, url: '', results: () => [] };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const number = scripted.requests.push(JSON.parse(body)) - 1;
    await scripted.onRequest(number);
    const content = script[number];
    const { stream } = scripted.requests[number];
    const calls = content.some((block) => block.type === 'tool_use');
    const message = {
      id: `msg_${number}`,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content,
      stop_reason: calls ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
    response.end(stream ? events(message) : JSON.stringify(message));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  scripted.url = `http://127.0.0.1:${server.address().port}`;
  scripted.results = () => scripted.requests.slice(1).map((request) => request.messages.at(-1).content);
  return scripted;
}

/** A reply as server-sent events. */
function events({ content, stop_reason, stop_sequence, usage, ...message }) {
  const blocks = content.flatMap((block, index) => {
    const isCall = block.type === 'tool_use';
    const delta = isCall
      ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
      : { type: 'text_delta', text: block.text };
    return [
      { type: 'content_block_start', index, content_block: isCall ? { ...block, input: {} } : text('') },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ];
  });
  const all = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence, usage } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ];
  return all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
