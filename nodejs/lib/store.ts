import { count, flag, hostPath, keepInThread, known, location, made, optional } from './arguments.js';
import { run } from './errors.js';
import { Expiry } from './expiry.js';
import { Files } from './files.js';
import { History } from './history.js';
import { Keyslots } from './keyslots.js';
import { NativeStore, type NativeVault } from './native.js';
import {
  CREDENTIAL,
  LIMITS,
  parse,
  type ConnectOptions,
  type CreateOptions,
  type InMemoryOptions,
  type OpenOptions,
} from './options.js';
import { Vault } from './postgres.js';
import { counted, type WithProgress } from './progress.js';
import { checkReport, type BackupReport, type CheckReport, type Freshness, type SetAside, type StoreStatus } from './records.js';
import { Sync } from './sync.js';
import { MemoryTool, type MemoryToolOptions } from './tool.js';

/** What a backup copies, and which earlier backups of the store stay. */
export interface BackupOptions {
  /** Copies the history too; `false` by default. */
  withVersions?: boolean | undefined;
  /** This many of the newest stay, the new one included; 10 by default. */
  keep?: number | undefined;
  /** Younger ones than this stay as well; 30 days by default. */
  keepWithinMs?: number | undefined;
}

/**
 * An unlocked store. Lock it at the end: with `await using`, or with `close` in a `finally`.
 *
 * Calls run on threads of libuv, so the event loop goes on. A store belongs to the thread that opened it and cannot be sent
 * to another one. If the process ends without `close`, nothing is lost.
 */
export class Store {
  /** The files of the store, for programs that are not agents. */
  readonly files: Files;
  /** The history of the store. */
  readonly history: History;
  /** The expiry of unused files. Off by default. */
  readonly expiry: Expiry;
  /** The credentials that open the store. */
  readonly keyslots: Keyslots;
  /** The part of the store in a circle of devices. */
  readonly sync: Sync;
  readonly #store: NativeStore;

  private constructor(store: NativeStore) {
    this.#store = made(store, NativeStore, 'Store.open');
    this.files = new Files(store);
    this.history = new History(store);
    this.expiry = new Expiry(store);
    this.keyslots = new Keyslots(store);
    this.sync = new Sync(store);
    keepInThread(this);
  }

  /**
   * Creates a store and unlocks it. A crash leaves a complete store or none.
   *
   * `path` is a new or empty folder; the URL of a vault in a PostgreSQL database, `postgres://USER@HOST/DATABASE?vault=ID`; or a
   * vault of `Postgres`, whose stores share their connections.
   */
  static async create(path: string | URL | Vault, options: CreateOptions): Promise<Store> {
    const given = parse(options, [...CREDENTIAL, ...LIMITS, 'anchor', 'historyMs']);
    return new Store(await run(() => NativeStore.create(...place(path), given)));
  }

  /** Unlocks an existing store. */
  static async open(path: string | URL | Vault, options: OpenOptions): Promise<Store> {
    const given = parse(options, [...CREDENTIAL, ...LIMITS, 'anchor', 'atLeast', 'requireFresh', 'acceptRollback']);
    return new Store(await run(() => NativeStore.open(...place(path), given)));
  }

  /** Creates a store that never touches the disk, for tests and for agents that must leave nothing behind. */
  static async inMemory(options: InMemoryOptions = {}): Promise<Store> {
    return new Store(await run(() => NativeStore.inMemory(parse(options, [...LIMITS, 'historyMs']))));
  }

  /**
   * Connects to the key daemon that holds a store since `inmost unlock`. Needs no passphrase.
   *
   * Calls go through one connection, one after the other; connect again for calls in parallel.
   */
  static async connect(path: string | URL, options: ConnectOptions = {}): Promise<Store> {
    return new Store(await run(() => NativeStore.connect(hostPath(path, 'path'), parse(options, ['actor', 'anchor']))));
  }

  /** Claude's memory tool on this store. */
  memoryTool(options: MemoryToolOptions = {}): MemoryTool {
    return new MemoryTool(this.#store, options);
  }

  /** Counts and sizes. */
  async status(): Promise<StoreStatus> {
    const status = await run(() => this.#store.status());
    return { ...status, freshness: status.freshness as Freshness };
  }

  /**
   * Checks the whole store: authenticates every record and compares it with the references to it. Changes nothing.
   *
   * Damage is not an error here; the report lists it. Writers wait meanwhile, readers do not. `progress` gets the number of
   * records read so far; each record is read twice.
   */
  async check(options: WithProgress = {}): Promise<CheckReport> {
    known(options, ['progress']);
    return checkReport(await counted(options, (counter) => this.#store.check(counter)));
  }

  /**
   * Rewrites the store under a fresh data key, with the versions that it keeps. Deleted and overwritten content is then gone from
   * its files, and its space is free. `progress` gets the number of records written.
   *
   * Rejects with `Tampered` if a live record is damaged. After another error nothing has changed, unless the store has halted.
   */
  async compact(options: WithProgress = {}): Promise<void> {
    known(options, ['progress']);
    return counted(options, (counter) => this.#store.compact(counter));
  }

  /** As `compact`, and drops every version that the history keeps. Backups are not purged. */
  async purge(options: WithProgress = {}): Promise<void> {
    known(options, ['progress']);
    return counted(options, (counter) => this.#store.purge(counter));
  }

  /** Whether `compact` is worth its cost: the store takes more than four times the live bytes plus 16 MiB on disk. */
  async compactionDue(): Promise<boolean> {
    return run(() => this.#store.compactionDue());
  }

  /**
   * Makes a backup in a folder that may have earlier ones, and reads it back. `Backups` lists and restores them.
   *
   * What has not changed since the newest backup is shared with it. `progress` gets the number of records copied, then the number
   * read back. The backups open with the credentials that the store had when they were made.
   *
   * Rejects with `StoreAlreadyExists` if the folder holds something else, and with `InUse` while another process makes a backup
   * there.
   */
  async backupInto(folder: string | URL, options: BackupOptions & WithProgress = {}): Promise<BackupReport> {
    known(options, ['withVersions', 'keep', 'keepWithinMs', 'progress']);
    const path = hostPath(folder, 'folder');
    const withVersions = optional(flag, options.withVersions, 'withVersions') ?? false;
    const keep = optional(count, options.keep, 'keep');
    const keepWithin = optional(count, options.keepWithinMs, 'keepWithinMs');
    return counted(options, (counter) => this.#store.backupInto(path, withVersions, keep, keepWithin, counter));
  }

  /**
   * Copies the store with its versions to a new place, and reads the copy back: a new or empty folder, the URL of a new vault, or a
   * new vault of `Postgres`. It opens with the same credentials. Writers wait meanwhile. The old store stays as it is; use one of
   * the two from then on. `progress` gets the number of records written, then the number read.
   *
   * Rejects with `StoreAlreadyExists`, `CopyNotVerified`, `Tampered` if a live record is damaged, and `InMemory`; for a vault also
   * with `Unavailable`, and with `KeyDaemon` if a key daemon holds the store.
   */
  async migrate(to: string | URL | Vault, options: WithProgress = {}): Promise<void> {
    known(options, ['progress']);
    const [path, vault] = place(to, 'to');
    return counted(options, (counter) => this.#store.migrate(path, vault, counter));
  }

  /**
   * Records in the folder of the store that the store no longer uses: damaged files that a repair kept, or those of a newer store
   * that an older copy was put over. No unlock and no rewrite removes them.
   */
  async setAside(): Promise<SetAside[]> {
    return run(() => this.#store.setAside());
  }

  /** Removes records that were set aside. They cannot be restored. An absent number is not an error. */
  async discardSetAside(number: number): Promise<void> {
    return run(() => this.#store.discardSetAside(count(number, 'number')));
  }

  /**
   * How far the store has come, sealed: what `atLeast` of a later `open` takes. Keep it with the user's account, and a database
   * that goes back behind it is noticed.
   */
  async mark(): Promise<Buffer> {
    return run(() => this.#store.mark());
  }

  /** Whether the store is locked. */
  async isLocked(): Promise<boolean> {
    return run(() => this.#store.isLocked());
  }

  /** Locks the store and wipes its keys. A store that a key daemon holds is locked for all programs. */
  async lock(): Promise<void> {
    return run(() => this.#store.lock());
  }

  /** Locks a store that this process opened; disconnects from a key daemon, which goes on. Can be repeated. */
  async close(): Promise<void> {
    return run(() => this.#store.close());
  }

  /** As `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A path or URL, or a vault. */
function place(path: string | URL | Vault, name = 'path'): [string, NativeVault | undefined] {
  return path instanceof Vault ? ['', Vault.native(path)] : [location(path, name), undefined];
}
