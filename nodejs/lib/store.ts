import { bytes, count, hostPath, keepInThread, known, made, optional, secret, text } from './arguments.js';
import { run } from './errors.js';
import { Expiry } from './expiry.js';
import { Files } from './files.js';
import { History } from './history.js';
import { NativeStore, type NativeVault, type StoreOptions } from './native.js';
import { Vault } from './postgres.js';
import type { StoreStatus } from './records.js';
import { MemoryTool, type MemoryToolOptions } from './tool.js';

/** What opens a store. Bytes are copied before the call returns its promise, so that they can be overwritten then. */
export type Credential =
  | {
      passphrase: string | Uint8Array;
      /** A second secret beside the passphrase: the path of a keyfile, or its bytes. */
      keyfile?: string | URL | Uint8Array | undefined;
      recoveryKey?: undefined;
      rawKey?: undefined;
    }
  | { recoveryKey: string | Uint8Array; passphrase?: undefined; keyfile?: undefined; rawKey?: undefined }
  | {
      /** 32 random bytes. */
      rawKey: Uint8Array;
      passphrase?: undefined;
      keyfile?: undefined;
      recoveryKey?: undefined;
    };

/** Limits of an open store. */
export interface Limits {
  /** Labels the changes of `files` in the history. */
  actor?: string | undefined;
  /** Locks the store once it was unused for this long. */
  idleLockMs?: number | undefined;
  maxFileBytes?: number | undefined;
  maxFiles?: number | undefined;
  maxStoreBytes?: number | undefined;
}

export interface Anchored {
  /** A file outside the store that detects an older copy of it. */
  anchor?: string | URL | undefined;
}

export interface Kept {
  /** How long earlier versions of files are kept; they are not by default. */
  historyMs?: number | undefined;
}

export interface AtLeast {
  /** What `mark` returned earlier, here or in another process: a store that has not come that far is `RolledBack`. */
  atLeast?: Uint8Array | undefined;
}

export type OpenOptions = Credential & Limits & Anchored & AtLeast;
export type CreateOptions = Credential & Limits & Anchored & Kept;
export type InMemoryOptions = Limits & Kept;
export type ConnectOptions = Anchored & Pick<Limits, 'actor'>;

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
  readonly #store: NativeStore;

  private constructor(store: NativeStore) {
    this.#store = made(store, NativeStore, 'Store.open');
    this.files = new Files(store);
    this.history = new History(store);
    this.expiry = new Expiry(store);
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
    const given = parse(options, [...CREDENTIAL, ...LIMITS, 'anchor', 'atLeast']);
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
    return run(() => this.#store.status());
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

const CREDENTIAL = ['passphrase', 'keyfile', 'recoveryKey', 'rawKey'];
const LIMITS = ['actor', 'idleLockMs', 'maxFileBytes', 'maxFiles', 'maxStoreBytes'];

/** A path or URL, or a vault. A `URL` object of a database is not a file. */
function place(path: string | URL | Vault): [string, NativeVault | undefined] {
  if (path instanceof Vault) return ['', Vault.native(path)];
  const isFile = !(path instanceof URL) || path.protocol === 'file:';
  return [isFile ? hostPath(path, 'path') : path.href, undefined];
}

function parse(options: Partial<OpenOptions & Kept>, names: readonly string[]): StoreOptions {
  known(options, names);
  const { keyfile } = options;
  return {
    passphrase: optional(secret, options.passphrase, 'passphrase'),
    keyfile: keyfile instanceof URL ? hostPath(keyfile, 'keyfile') : optional(secret, keyfile, 'keyfile'),
    recoveryKey: optional(secret, options.recoveryKey, 'recoveryKey'),
    rawKey: optional(bytes, options.rawKey, 'rawKey'),
    historyMs: optional(count, options.historyMs, 'historyMs'),
    anchor: optional(hostPath, options.anchor, 'anchor'),
    atLeast: optional(bytes, options.atLeast, 'atLeast'),
    actor: optional(text, options.actor, 'actor'),
    idleLockMs: optional(count, options.idleLockMs, 'idleLockMs'),
    maxFileBytes: optional(count, options.maxFileBytes, 'maxFileBytes'),
    maxFiles: optional(count, options.maxFiles, 'maxFiles'),
    maxStoreBytes: optional(count, options.maxStoreBytes, 'maxStoreBytes'),
  };
}
