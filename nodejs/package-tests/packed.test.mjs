// The tarball that `npm pack` makes: installed in an empty folder, imported, required, bundled, and its program run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'node:test';

import { temporaryFolder } from '../tests/support.mjs';

const PACKAGE = join(import.meta.dirname, '..');
const PROGRAM = `
  const store = await Store.inMemory();
  await store.files.write('/memories/a.md', 'tea');
  console.log(await store.files.read('/memories/a.md'), version);
  await store.close();
`;

test('the tarball works in an empty folder, and in what bundlers make of a program', async (t) => {
  const folder = temporaryFolder(t);
  const run = (file, args, cwd = folder) =>
    execFileSync(file, args, { cwd, encoding: 'utf8', shell: process.platform === 'win32', stdio: ['ignore', 'pipe', 'ignore'] });
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--silent', '--pack-destination', folder], PACKAGE));
  const files = packed.files.map((file) => file.path);
  assert(files.includes('dist/index.js') && files.some((file) => file.endsWith('.node')) && !files.some((file) => /^(src|lib|tests)\//.test(file)));

  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  // Without its peers, which are optional: the package itself needs nothing, so nothing is fetched.
  run('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', '--omit=peer', `./${packed.filename}`]);
  writeFileSync(join(folder, 'a.mjs'), `import { Store, version } from 'inmost';${PROGRAM}`);
  writeFileSync(join(folder, 'a.cjs'), `const { Store, version } = require('inmost'); (async () => {${PROGRAM}})();`);
  for (const program of ['a.mjs', 'a.cjs']) assert.equal(run(process.execPath, [program]), `tea ${packed.version}\n`);
  assert.match(run('npx', ['--offline', 'inmost', '--version']), /^inmost /);

  // The adapter takes the SDK that the program has.
  mkdirSync(join(folder, 'node_modules', '@anthropic-ai'));
  symlinkSync(join(PACKAGE, 'node_modules', 'anthropic-sdk-newest'), join(folder, 'node_modules', '@anthropic-ai', 'sdk'), 'junction');
  const mistake = `
    import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
    import { Store } from 'inmost';
    import { memoryTool } from 'inmost/anthropic';
    const tool = memoryTool(await Store.inMemory());
    await tool.run({ command: 'view' }).catch((error) => console.log(error instanceof ToolError, error.content));`;
  writeFileSync(join(folder, 'sdk.mjs'), mistake);
  assert.equal(run(process.execPath, ['sdk.mjs']), 'true Error: Missing required parameter `path` for command view\n');

  // A native addon cannot be in a bundle, so the package stays outside it.
  mkdirSync(join(folder, 'out'));
  const require = createRequire(import.meta.url);
  await require('esbuild').build({
    entryPoints: [join(folder, 'a.mjs')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['inmost'],
    outfile: join(folder, 'out', 'esbuild.mjs'),
    logLevel: 'silent',
  });
  const webpack = require('webpack');
  const done = await promisify(webpack)({
    mode: 'production',
    target: 'node',
    entry: join(folder, 'a.mjs'),
    experiments: { outputModule: true },
    externalsType: 'module',
    externals: ['inmost'],
    output: { path: join(folder, 'out'), filename: 'webpack.mjs', library: { type: 'module' } },
  });
  assert(!done.hasErrors(), done.toString());
  for (const bundle of ['esbuild.mjs', 'webpack.mjs']) {
    assert(existsSync(join(folder, 'out', bundle)));
    assert.equal(run(process.execPath, [join('out', bundle)]), `tea ${packed.version}\n`, bundle);
  }
  t.diagnostic(`${packed.filename}: ${packed.size} bytes, ${packed.unpackedSize} unpacked`);
});
