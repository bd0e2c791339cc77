import { bytes, count, flag, hostPath, known, optional, secret, text } from './arguments.js';
import type { StoreOptions } from './native.js';

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

export interface RequireFresh {
  /**
   * Refuses a store whose freshness is not known, as `FreshnessUnknown`: its anchor is missing, damaged or older, or there is
   * none.
   */
  requireFresh?: boolean | undefined;
}

export interface AcceptRollback {
  /**
   * Takes a store that is refused as `RolledBack`, `ForeignAnchor` or `RecordsBehindHeader`, or whose freshness is not known, as
   * the newest state, and writes the anchors anew. Give it once, when a person knows the reason, such as a restored backup. The
   * credentials of that state are valid again, also those that were removed since: look at `keyslots.list()`.
   */
  acceptRollback?: boolean | undefined;
}

export type OpenOptions = Credential & Limits & Anchored & AtLeast & RequireFresh & AcceptRollback;
export type CreateOptions = Credential & Limits & Anchored & Kept;
export type InMemoryOptions = Limits & Kept;
export type ConnectOptions = Anchored & Pick<Limits, 'actor'>;

/** The names of the options that are a credential. */
export const CREDENTIAL = ['passphrase', 'keyfile', 'recoveryKey', 'rawKey'];
/** The names of the options that are limits. */
export const LIMITS = ['actor', 'idleLockMs', 'maxFileBytes', 'maxFiles', 'maxStoreBytes'];

/** Checks options, which may have these names. */
export function parse(options: Partial<OpenOptions & Kept>, names: readonly string[]): StoreOptions {
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
    requireFresh: optional(flag, options.requireFresh, 'requireFresh'),
    acceptRollback: optional(flag, options.acceptRollback, 'acceptRollback'),
    actor: optional(text, options.actor, 'actor'),
    idleLockMs: optional(count, options.idleLockMs, 'idleLockMs'),
    maxFileBytes: optional(count, options.maxFileBytes, 'maxFileBytes'),
    maxFiles: optional(count, options.maxFiles, 'maxFiles'),
    maxStoreBytes: optional(count, options.maxStoreBytes, 'maxStoreBytes'),
  };
}
