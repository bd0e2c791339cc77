// Builds the package in place: the native half, the program `inmost` and the TypeScript half.
//
// INMOST_PROFILE is the profile of cargo, `release` by default. cargo is called here and not by `napi build`, which names
// the target and so would compile everything a second time beside the other builds of the workspace.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { generateTypeDef, writeJsBinding } from '@napi-rs/cli';

const folder = join(import.meta.dirname, '..');
const native = join(folder, 'native');
const profile = process.env.INMOST_PROFILE ?? 'release';
const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

const { target_directory: target } = JSON.parse(run('cargo', ['metadata', '--format-version=1', '--no-deps', '--locked'], 'pipe'));
const types = join(target, 'napi-types');
// Without the types, the crate must be compiled again. cargo notices that the name of the folder is another one.
const fresh = existsSync(join(types, 'inmost-nodejs')) ? types : `${types}/.`;
mkdirSync(types, { recursive: true });
const cargo = ['build', '--locked', '--profile', profile, '--package', 'inmost-nodejs', '--lib'];
cargo.push('--package', 'inmost-cli', '--features', 'inmost-cli/postgres', '--bin', 'inmost', '--message-format=json-render-diagnostics');
const built = run('cargo', cargo, 'pipe', { NAPI_TYPE_DEF_TMP_FOLDER: fresh });
const messages = built.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
const addon = messages.find((message) => message.target?.name === 'inmost_nodejs')?.filenames[0];
const program = messages.find((message) => message.executable)?.executable;
if (!addon || !program) throw new Error('cargo did not name the addon and the program');

mkdirSync(native, { recursive: true });
copy(addon, join(native, `inmost.${platform()}.node`));
// MCP clients start the program, and the key daemon is always the program, never node.
copy(program, join(native, basename(program)));
const { exports, dts } = await generateTypeDef({ typeDefDir: types, cwd: folder });
writeFileSync(join(native, 'native.d.ts'), dts);
await writeJsBinding({
  platform: true,
  idents: exports,
  jsBinding: 'native.js',
  binaryName: 'inmost',
  packageName: name,
  version,
  outputDir: native,
});

run('node', ['scripts/compile.mjs']);

/** A file in use cannot be overwritten, but it can be removed. */
function copy(from, to) {
  rmSync(to, { force: true });
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}

/** This platform, as napi-rs names it. */
function platform() {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32') return `${base}-msvc`;
  if (process.platform !== 'linux') return base;
  return `${base}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`;
}

function run(program, args, stdout = 'inherit', variables = {}) {
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', stdout, 'inherit'], maxBuffer: 1 << 28 };
  const env = { ...process.env, ...variables };
  const done = spawnSync(program, args, { ...options, env, shell: process.platform === 'win32' });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
  return done.stdout ?? '';
}
