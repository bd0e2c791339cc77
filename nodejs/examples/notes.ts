// Files and history of a store in TypeScript, with `await using`. TypeScript compiles it; Node.js 24 and newer run it.
import { FileError, Store } from 'inmost';

export async function addNote(folder: string, passphrase: Uint8Array, note: string): Promise<number> {
  await using store = await Store.open(folder, { passphrase, actor: 'notes' });
  const path = '/memories/notes.md';
  for (;;) {
    const before = await store.files.version(path);
    const text = before === null ? '# Notes\n' : await store.files.read(path);
    try {
      // Fails if someone else changed the file in between, so no note is lost.
      const after = await store.files.writeIf(path, `${text}- ${note}\n`, before);
      return after.version;
    } catch (error) {
      if (error instanceof FileError && error.code === 'Changed') continue;
      throw error;
    }
  }
}

export async function undoSince(store: Store, since: Date): Promise<number> {
  const plan = await store.history.planUndo({ actor: 'notes', since });
  const undone = await store.history.undo(plan);
  return undone.filter((step) => step.reason === null).length;
}
