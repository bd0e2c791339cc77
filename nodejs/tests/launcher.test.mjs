// The command `inmost` that npm puts on the path.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { Store } from 'inmost';

import { heldStore, LAUNCHER, PASSPHRASE, PROGRAM, temporaryFolder } from './support.mjs';

const run = (args, options) => spawnSync(process.execPath, [LAUNCHER, ...args], { encoding: 'utf8', ...options });

test('it has the output, the exit code and the input of the native program', async (t) => {
  const native = (args, options) => spawnSync(PROGRAM, args, { encoding: 'utf8', ...options });
  const calls = [
    { args: ['--version'], status: 0, stdout: /^inmost \d+\.\d+\.\d+\n$/, stderr: /^$/ },
    { args: ['--help'], status: 0, stdout: /unlock/, stderr: /^$/ },
    { args: ['no-such-command'], status: 2, stdout: /^$/, stderr: /no-such-command/ },
    { args: ['ls', '--store', '/nonexistent'], status: 10, stdout: /^$/, stderr: /no store/ },
  ];
  for (const { args, status, stdout, stderr } of calls) {
    const [launched, expected] = [run(args), native(args)];
    assert.deepEqual([launched.status, launched.stdout, launched.stderr], [expected.status, expected.stdout, expected.stderr]);
    assert.equal(launched.status, status);
    assert.match(launched.stdout, stdout);
    assert.match(launched.stderr, stderr);
  }
  const path = await heldStore(t);
  const input = 'from standard input\n';
  const written = run(['write', '--store', path, '/memories/a'], { input });
  assert.equal(written.status, 0, written.stderr);
  assert.equal(native(['cat', '--store', path, '/memories/a']).stdout, input);
});

test('a signal ends it as it ends the native program', { skip: process.platform === 'win32' }, async (t) => {
  const path = await heldStore(t);
  const child = spawn(process.execPath, [LAUNCHER, 'mcp', '--store', path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const request = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } } };
  child.stdin.write(`${JSON.stringify(request)}\n`);
  const [reply] = await once(child.stdout, 'data');
  assert.equal(JSON.parse(reply).result.serverInfo.name, 'inmost');
  child.kill('SIGTERM');
  const [code, signal] = await once(child, 'exit');
  const expected = spawn(PROGRAM, ['mcp', '--store', path], { stdio: ['pipe', 'pipe', 'inherit'] });
  expected.stdin.write(`${JSON.stringify(request)}\n`);
  await once(expected.stdout, 'data');
  expected.kill('SIGTERM');
  assert.deepEqual([code, signal], await once(expected, 'exit'));
});

test('an MCP server ends when its client closes the connection', { skip: process.platform === 'win32' }, async (t) => {
  const path = await heldStore(t);
  const child = spawn(process.execPath, [LAUNCHER, 'mcp', '--store', path], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end();
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});

test('the key daemon is the native program, not node', { skip: process.platform !== 'linux' }, async (t) => {
  const folder = temporaryFolder(t);
  const [path, phrase] = [join(folder, 's'), join(folder, 'phrase')];
  writeFileSync(phrase, PASSPHRASE);
  await (await Store.create(path, { passphrase: PASSPHRASE })).close();
  const env = { ...process.env, XDG_RUNTIME_DIR: temporaryFolder(t) };
  const unlocked = run(['unlock', '--store', path, '--passphrase-file', phrase], { env });
  assert.equal(unlocked.status, 0, unlocked.stderr);
  try {
    const error = await Store.open(path, { passphrase: PASSPHRASE }).then(() => assert.fail(), (error) => error);
    assert.equal(error.code, 'InUse');
    assert.equal(readlinkSync(`/proc/${error.process}/exe`), realpathSync(PROGRAM));
  } finally {
    assert.equal(run(['lock', '--store', path], { env }).status, 0);
  }
});
