import { count, flag, keepInThread, known, made, optional } from './arguments.js';
import { run } from './errors.js';
import * as native from './native.js';
import { counted, type WithProgress } from './progress.js';
import { date, ExpiredFile, type ExpiryHindrance, type ExpiryReport, type ExpiryStatus } from './records.js';

/**
 * The expiry of files that were neither read nor changed for long. Off by default.
 *
 * A store that records readings keeps, for each file, the day of its last reading: a `view` of one file by a tool that may
 * write, or a `read`. A reading is written along with the next change. A file that expires becomes a version of the history; if
 * the store keeps no versions, it is gone.
 */
export class Expiry {
  readonly #store: native.NativeStore;

  /** @internal */
  constructor(store: native.NativeStore) {
    this.#store = made(store, native.NativeStore, 'Store.open');
    keepInThread(this);
  }

  /** The settings, and what is recorded. */
  async status(): Promise<ExpiryStatus> {
    const { isRecording, atUnlockMs, sinceMs, lastExpiryMs, readings, isDamaged } = await run(() => this.#store.expiryStatus());
    const [since, lastExpiry] = [date(sinceMs), date(lastExpiryMs)];
    return { isRecording, atUnlockMs: atUnlockMs ?? null, since, lastExpiry, readings, isDamaged };
  }

  /**
   * Sets whether readings are recorded. With `atUnlockMs`, at an unlock, once a day at most, the files expire that were unused
   * for this long, a day at least. Stored, so it holds for every program that opens the store.
   *
   * Copies of the store then hold the days on which files were last read, encrypted like everything else.
   */
  async set(settings: { record: boolean; atUnlockMs?: number | undefined }): Promise<void> {
    known(settings, ['record', 'atUnlockMs']);
    const record = flag(settings.record, 'record');
    return run(() => this.#store.setExpiry(record, optional(count, settings.atUnlockMs, 'atUnlockMs')));
  }

  /**
   * Deletes the files that were neither read nor changed for this many milliseconds, or only lists them.
   *
   * No file counts as unused for longer than readings are recorded. Each file is deleted in a change of its own, unless it was
   * used meanwhile. If nothing can expire, `hindrance` says why.
   */
  async expire(unusedForMs: number, options: { dryRun?: boolean | undefined } & WithProgress = {}): Promise<ExpiryReport> {
    known(options, ['dryRun', 'progress']);
    const dryRun = optional(flag, options.dryRun, 'dryRun') ?? false;
    const unusedFor = count(unusedForMs, 'unusedForMs');
    const report = await counted(options, (counter) => this.#store.expire(unusedFor, dryRun, counter));
    const { unlisted, bytes } = report;
    const hindrance = (report.hindrance ?? null) as ExpiryHindrance | null;
    return { files: report.files.map((file) => new ExpiredFile(file)), unlisted, bytes, hindrance };
  }
}
