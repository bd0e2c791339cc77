import { count, hostPath, keepInThread, made } from './arguments.js';
import { run } from './errors.js';
import { NativeBackups } from './native.js';
import { CREDENTIAL, parse, type Credential } from './options.js';
import { counted, type WithProgress } from './progress.js';
import { checkReport, date, type BackupInfo, type CheckReport, type VerifiedCopy } from './records.js';

/** The backups in a folder, as they were when it was opened. `Store.backupInto` makes them. */
export class Backups {
  readonly #backups: NativeBackups;

  private constructor(backups: NativeBackups) {
    this.#backups = made(backups, NativeBackups, 'Backups.open');
    keepInThread(this);
  }

  /** Lists the backups in a folder. Needs no credential and writes nothing. Rejects with `NotAStore` if it has no backup. */
  static async open(folder: string | URL): Promise<Backups> {
    return new Backups(await run(() => NativeBackups.open(hostPath(folder, 'folder'))));
  }

  /** The backups, the oldest first. */
  list(): BackupInfo[] {
    return this.#backups.list().map(({ number, timeMs, ownBytes, store }) => ({ number, time: date(timeMs), ownBytes, store }));
  }

  /** Reads and authenticates every record of a backup. Rejects with `NotAStore` for a number without a backup. */
  async check(number: number, credential: Credential & WithProgress): Promise<CheckReport> {
    const [which, given] = [count(number, 'number'), parse(credential, [...CREDENTIAL, 'progress'])];
    return checkReport(await counted(credential, (counter) => this.#backups.check(which, given, counter)));
  }

  /**
   * Restores a backup to a new folder. The restored store opens with this credential and with no other. It has a new id and new
   * keys, so an anchor of the old store refuses it. Rejects with `StoreAlreadyExists` and `Tampered`.
   */
  async restore(number: number, path: string | URL, credential: Credential & WithProgress): Promise<VerifiedCopy> {
    const [which, given] = [count(number, 'number'), parse(credential, [...CREDENTIAL, 'progress'])];
    const to = hostPath(path, 'path');
    return counted(credential, (counter) => this.#backups.restore(which, to, given, counter));
  }
}
