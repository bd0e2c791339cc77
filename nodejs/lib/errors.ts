/**
 * Exceptions: one code for each fact, on classes below `InmostError`.
 *
 * No message contains a path or a text of the memory, so that a log shows neither. Where an error is about a path, the
 * path is a property that is not enumerable.
 */

import type * as native from './native.js';
import { FileVersion } from './records.js';

/** Facts about a store, which the application or its user must act on. */
export type StoreErrorCode =
  | 'AnchorUnavailable'
  | 'ClockBefore1970'
  | 'CommitUnknown'
  | 'CopyNotVerified'
  | 'Damaged'
  | 'DiskFull'
  | 'EngineNotBuilt'
  | 'FilesReplaced'
  | 'ForeignAnchor'
  | 'Forked'
  | 'FreshnessUnknown'
  | 'Halted'
  | 'HeaderDamaged'
  | 'HeaderRolledBack'
  | 'InMemory'
  | 'InUse'
  | 'Io'
  | 'KdfOutOfBounds'
  | 'KeyDaemon'
  | 'LastSlot'
  | 'Locked'
  | 'NoKeyDaemon'
  | 'NoSuchSlot'
  | 'NotAStore'
  | 'OldRecordsRemain'
  | 'OtherOwner'
  | 'OutcomeUnknown'
  | 'OutOfMemory'
  | 'PassphraseNotOneLine'
  | 'RandomnessFailed'
  | 'RecordsBehindHeader'
  | 'RolledBack'
  | 'SlotsFull'
  | 'Storage'
  | 'StoreAlreadyExists'
  | 'StoreError'
  | 'SubtreeIsFile'
  | 'Tampered'
  | 'TooLarge'
  | 'Unavailable'
  | 'UnknownFormat'
  | 'UntrustedFile'
  | 'WrongKey'
  | 'WrongPassphrase';

/** Facts about a file operation that changed nothing. */
export type FileErrorCode =
  | 'AlreadyExists'
  | 'Changed'
  | 'EmptySearch'
  | 'FileError'
  | 'FileTooLarge'
  | 'IntoItself'
  | 'InvalidPath'
  | 'InvalidPattern'
  | 'IsAFolder'
  | 'NoMatch'
  | 'NoSuchLine'
  | 'NoSuchVersion'
  | 'NotAFolder'
  | 'NotFound'
  | 'PathBelow'
  | 'Root'
  | 'SeveralMatches'
  | 'TooManyFiles'
  | 'TooMuchText'
  | 'VersionGone';

/** Facts about a store that did not synchronise, or whose circle of devices refuses something. */
export type SyncErrorCode =
  | 'AlreadyMember'
  | 'ChangeTooLarge'
  | 'InvalidDeviceName'
  | 'InvalidInvitation'
  | 'KeptChanging'
  | 'NoFolder'
  | 'NotAMember'
  | 'OtherCircle'
  | 'PlaceNotEmpty'
  | 'PlaceOverlapsStore'
  | 'PlaceUnavailable'
  | 'StateUnavailable'
  | 'StateUnreadable'
  | 'UnknownDevice';

export type ErrorCode = StoreErrorCode | SyncErrorCode | FileErrorCode | 'InvalidCredential';

/** What the native half rejects with. */
interface Failure {
  family: 'store' | 'file' | 'sync' | 'credential' | 'argument';
  code: ErrorCode;
  message: string;
  advice: string;
  details: Record<string, unknown>;
}

/** An operation of this package failed. */
export class InmostError extends Error {
  /** The fact. */
  readonly code: ErrorCode;
  /** One sentence that says what to do; may be empty. It is the end of the message too. */
  declare readonly advice: string;

  /** `IsAFolder`, `NotAFolder`: the path in the memory. */
  declare readonly path?: string;
  /** `Changed`: what is there now; `null` if there is no file. */
  declare readonly current?: FileVersion | null;
  /** `FileTooLarge`, `TooManyFiles`, `TooMuchText`: the maximum. */
  declare readonly limit?: number;
  /** `NoSuchLine`: the lines that the file has. `SeveralMatches`: the lines of the first matches. */
  declare readonly lines?: number | number[];
  /** `SeveralMatches`: the number of matches that are not listed. */
  declare readonly more?: number;
  /** `NoSuchVersion`, `VersionGone`: the version. `UnknownFormat`: the version of the format. */
  declare readonly version?: number;
  /** `RolledBack`, `HeaderRolledBack`, `RecordsBehindHeader`: the counter that was expected. */
  declare readonly expected?: number;
  /** The counter that was found instead. */
  declare readonly found?: number;
  /** `InUse`: the process that holds the store; `null` if it is not known. */
  declare readonly process?: number | null;
  /** `Io`: the number of the operating system's error. */
  declare readonly errno?: number | null;
  /** `NoSuchSlot`: the number of the keyslot. */
  declare readonly slot?: number;
  /** `WrongKey`: the kind of keyslot. */
  declare readonly kind?: string;
  /** `CopyNotVerified`: where the copy is. */
  declare readonly copy?: string;

  /** @internal */
  constructor(failure: Failure) {
    super(failure.advice === '' ? failure.message : `${failure.message} ${failure.advice}`);
    this.code = failure.code;
    // Not enumerable: `advice` is in the message already, and a path must not be printed.
    Object.defineProperty(this, 'advice', { value: failure.advice });
    for (const [name, detail] of Object.entries(failure.details)) {
      const isVersion = name === 'current' && detail !== null;
      const value = isVersion ? new FileVersion(detail as native.FileVersion) : detail;
      Object.defineProperty(this, name, { value, enumerable: name !== 'path' && name !== 'copy' });
    }
  }

  static {
    this.prototype.name = 'InmostError';
  }
}

/** An operation on a store failed. */
export class StoreError extends InmostError {
  declare readonly code: StoreErrorCode | SyncErrorCode;

  static {
    this.prototype.name = 'StoreError';
  }
}

/** A store did not synchronise, or its circle of devices refuses something. Nothing is lost: the next round goes on. */
export class SyncError extends StoreError {
  declare readonly code: SyncErrorCode;

  static {
    this.prototype.name = 'SyncError';
  }
}

/** A file operation failed and changed nothing. */
export class FileError extends InmostError {
  declare readonly code: FileErrorCode;

  static {
    this.prototype.name = 'FileError';
  }
}

/** Waits for a call of the native half, and makes an exception of a failure. */
export async function run<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (failure) {
    throw exception(failure);
  }
}

/** As `run`, for a call that returns at once. */
export function runNow<T>(call: () => T): T {
  try {
    return call();
  } catch (failure) {
    throw exception(failure);
  }
}

/** The exception for a failure of the native half. */
export function exception(failure: unknown): unknown {
  if (!isFailure(failure)) return failure;
  switch (failure.family) {
    case 'store':
      return new StoreError(failure);
    case 'file':
      return new FileError(failure);
    case 'sync':
      return new SyncError(failure);
    case 'credential':
      return new InmostError(failure);
    case 'argument':
      return new TypeError(failure.message);
  }
}

export function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null && 'family' in value && 'details' in value;
}
