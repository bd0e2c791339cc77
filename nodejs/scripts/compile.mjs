// Builds the TypeScript half of the package.
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..');

// The adapters need a build of each kind: `instanceof` holds only for the classes of a framework's own build of that kind.
for (const adapter of ['ai-sdk', 'anthropic', 'deepagents', 'langchain']) {
  copyFileSync(join(folder, `lib/${adapter}.ts`), join(folder, `lib/${adapter}.mts`));
}
rmSync(join(folder, 'dist'), { recursive: true, force: true });
const compiled = spawnSync('tsc', { cwd: folder, stdio: 'inherit', shell: process.platform === 'win32' });
if (compiled.error) throw compiled.error;
process.exitCode = compiled.status ?? 1;
