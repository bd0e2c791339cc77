import { bytes, count, hostPath, keepInThread, optional, secret, text } from './arguments.js';
import { run } from './errors.js';
import { Expiry } from './expiry.js';
import { Files } from './files.js';
import { History } from './history.js';
import { NativeStore, type StoreOptions } from './native.js';
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

export type OpenOptions = Credential & Limits & Anchored;
export type CreateOptions = OpenOptions & Kept;
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
    this.#store = store;
    this.files = new Files(store);
    this.history = new History(store);
    this.expiry = new Expiry(store);
    keepInThread(this);
  }

  /** Creates a store in a new or empty folder, and unlocks it. A crash leaves a complete store or none. */
  static async create(path: string | URL, options: CreateOptions): Promise<Store> {
    return new Store(await run(() => NativeStore.create(hostPath(path, 'path'), parse(options))));
  }

  /** Unlocks an existing store. */
  static async open(path: string | URL, options: OpenOptions): Promise<Store> {
    return new Store(await run(() => NativeStore.open(hostPath(path, 'path'), parse(options))));
  }

  /** Creates a store that never touches the disk, for tests and for agents that must leave nothing behind. */
  static async inMemory(options: InMemoryOptions = {}): Promise<Store> {
    return new Store(await run(() => NativeStore.inMemory(parse(options))));
  }

  /**
   * Connects to the key daemon that holds a store since `inmost unlock`. Needs no passphrase.
   *
   * Calls go through one connection, one after the other; connect again for calls in parallel.
   */
  static async connect(path: string | URL, options: ConnectOptions = {}): Promise<Store> {
    return new Store(await run(() => NativeStore.connect(hostPath(path, 'path'), parse(options))));
  }

  /** Claude's memory tool on this store. */
  memoryTool(options: MemoryToolOptions = {}): MemoryTool {
    return new MemoryTool(this.#store, options);
  }

  /** Counts and sizes. */
  async status(): Promise<StoreStatus> {
    return run(() => this.#store.status());
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

function parse(options: Partial<OpenOptions & Kept>): StoreOptions {
  if (typeof options !== 'object' || options === null) throw new TypeError('options must be an object');
  const { keyfile } = options;
  return {
    passphrase: optional(secret, options.passphrase, 'passphrase'),
    keyfile: keyfile instanceof URL ? hostPath(keyfile, 'keyfile') : optional(secret, keyfile, 'keyfile'),
    recoveryKey: optional(secret, options.recoveryKey, 'recoveryKey'),
    rawKey: optional(bytes, options.rawKey, 'rawKey'),
    historyMs: optional(count, options.historyMs, 'historyMs'),
    anchor: optional(hostPath, options.anchor, 'anchor'),
    actor: optional(text, options.actor, 'actor'),
    idleLockMs: optional(count, options.idleLockMs, 'idleLockMs'),
    maxFileBytes: optional(count, options.maxFileBytes, 'maxFileBytes'),
    maxFiles: optional(count, options.maxFiles, 'maxFiles'),
    maxStoreBytes: optional(count, options.maxStoreBytes, 'maxStoreBytes'),
  };
}
