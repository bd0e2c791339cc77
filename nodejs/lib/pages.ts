/** Long results, read page by page. */

import { run, runNow } from './errors.js';
import type { Pages } from './native.js';

/** The items of all pages. A page is read when the loop reaches it. */
export async function* items<Raw, T>(start: () => Pages, convert: (raw: Raw) => T): AsyncGenerator<T, void, undefined> {
  const pages = await run(async () => start());
  for (;;) {
    const page: Raw[] | null = await run(() => pages.next());
    if (page === null) return;
    for (const item of page) {
      runNow(() => pages.check());
      yield convert(item);
    }
  }
}
