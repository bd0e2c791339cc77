// Makes the folders of a release's npm packages: `inmost`, and completes `inmost-PLATFORM`, which has the native half and the program.
//
//   node dist/npm.mjs OUTPUT PLATFORM...
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [output, ...platforms] = process.argv.slice(2);
const source = join(import.meta.dirname, '..', 'nodejs');
const { devDependencies, scripts, napi, ...main } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
main.files = ['bin', 'dist', 'native', 'LICENSE-*'];
// npm installs the one for its platform and leaves out the others.
main.optionalDependencies = Object.fromEntries(platforms.map((platform) => [`inmost-${platform}`, main.version]));

const folder = join(output, 'inmost');
rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'native'), { recursive: true });
for (const name of ['bin', 'dist', 'native/native.js', 'native/native.d.ts', 'README.md', '../LICENSE-APACHE', '../LICENSE-MIT']) {
  cpSync(join(source, name), join(folder, name.replace('../', '')), { recursive: true });
}
write(folder, main);

for (const platform of platforms) {
  const [os, cpu, libc] = platform.split('-');
  write(join(output, `inmost-${platform}`), {
    name: `inmost-${platform}`,
    version: main.version,
    description: `The native half of inmost for ${platform}`,
    license: main.license,
    engines: main.engines,
    os: [os],
    cpu: [cpu],
    // npm's name of the GNU C library.
    ...(os === 'linux' && { libc: [libc === 'gnu' ? 'glibc' : libc] }),
    main: `inmost.${platform}.node`,
    files: ['*.node', 'inmost', 'LICENSE-*', 'THIRD-PARTY'],
  });
}

function write(folder, description) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(description, undefined, 2)}\n`);
}
