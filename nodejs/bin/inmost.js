#!/usr/bin/env node
'use strict';
// Runs the native program `inmost` that comes with this package, with the same arguments, streams and exit code.

const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { constants } = require('node:os');
const { join } = require('node:path');

const program = find();
if (program === undefined) {
  console.error(`inmost: this package has no program for ${process.platform} on ${process.arch}`);
  process.exit(1);
}
const args = process.argv.slice(2);
// Node.js 22.15 and newer can become the program. Then there is no second process that signals would have to pass.
if (typeof process.execve === 'function' && process.platform !== 'win32') {
  process.execve(program, [program, ...args], process.env);
}
const child = spawn(program, args, { stdio: 'inherit' });
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'].filter((signal) => signal in constants.signals);
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`inmost: the program cannot be started: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const each of signals) process.removeAllListeners(each);
  process.kill(process.pid, signal);
});

function find() {
  const name = process.platform === 'win32' ? 'inmost.exe' : 'inmost';
  const built = join(__dirname, '..', 'native', name);
  if (existsSync(built)) return built;
  for (const target of targets()) {
    try {
      return require.resolve(`inmost-${target}/${name}`);
    } catch {
      // Not installed: npm installs only the package for this platform.
    }
  }
  return undefined;
}

// The platforms as napi-rs names them.
function targets() {
  const platform = `${process.platform}-${process.arch}`;
  if (process.platform === 'linux') return [`${platform}-gnu`, `${platform}-musl`];
  return [process.platform === 'win32' ? `${platform}-msvc` : platform];
}
