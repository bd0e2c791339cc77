/**
 * Values that calls take and return. Their names, paths and texts are ordinary properties, but printing a value
 * (`console.log`, `util.inspect`, `JSON.stringify`) leaves them out.
 */

import { inspect, type InspectOptions } from 'node:util';

import type { FileError, StoreError } from './errors.js';
import type * as native from './native.js';

/** A value that does not print all of its properties. */
abstract class Value {
  /** @internal The properties that are not printed. */
  static readonly hidden: readonly string[] = [];

  /** The properties that may be printed. */
  toJSON(): Record<string, unknown> {
    const { hidden } = this.constructor as typeof Value;
    return Object.fromEntries(Object.entries(this).filter(([name]) => !hidden.includes(name)));
  }

  /** @internal */
  [inspect.custom](_depth: number, options: InspectOptions): string {
    return `${this.constructor.name} ${inspect(this.toJSON(), options)}`;
  }
}

/** The state of a file: what a later change can be conditional on. */
export class FileVersion extends Value {
  // The hash of a short text confirms a guess of it.
  static override readonly hidden = ['sha256'];

  /** The number of its last change. A rename is a change too. */
  readonly version: number;
  /** Bytes of its text. */
  readonly bytes: number;
  /** The SHA-256 of its bytes, in hexadecimal digits. Not printed. */
  readonly sha256: string;

  /** @internal */
  constructor(version: native.FileVersion) {
    super();
    this.version = version.version;
    this.bytes = version.bytes;
    this.sha256 = version.sha256;
  }
}

/** What must be at a path for a change to be made: the file with this version or this hash; `null` for nothing. */
export type Precondition =
  | FileVersion
  | { readonly version: number; readonly sha256?: undefined }
  | { readonly sha256: string; readonly version?: undefined }
  | null;

/** Metadata of a file or folder. */
export interface Metadata {
  /** Bytes of the file, or of all files below the folder. */
  readonly bytes: number;
  readonly isFolder: boolean;
  /** Lines of text; `null` for a folder. */
  readonly lines: number | null;
  readonly created: Date | null;
  /** The time of the last change to its text. */
  readonly modified: Date | null;
}

/** An entry of a folder. */
export class FolderEntry extends Value {
  static override readonly hidden = ['name'];
  readonly name: string;
  readonly metadata: Metadata;

  /** @internal */
  constructor(entry: native.FolderEntry) {
    super();
    this.name = entry.name;
    this.metadata = metadata(entry.metadata);
  }
}

/** A file or folder found by a walk. */
export class WalkEntry extends Value {
  static override readonly hidden = ['path'];
  readonly path: string;
  /** The number of folders between it and the start of the walk. */
  readonly depth: number;
  readonly metadata: Metadata;

  /** @internal */
  constructor(entry: native.WalkEntry) {
    super();
    this.path = entry.path;
    this.depth = entry.depth;
    this.metadata = metadata(entry.metadata);
  }

  /** The last name of the path. */
  get name(): string {
    return this.path.slice(this.path.lastIndexOf('/') + 1);
  }
}

/** A matching line. */
export class SearchMatch extends Value {
  static override readonly hidden = ['path', 'text'];
  readonly path: string;
  /** The number of the line, from 1. */
  readonly line: number;
  /** The line without its line end. */
  readonly text: string;
  /** The matches in the text: `text.slice(start, end)` for each pair; the first 1,000. */
  readonly ranges: ReadonlyArray<readonly [number, number]>;

  /** @internal */
  constructor(found: native.SearchMatch) {
    super();
    this.path = found.path;
    this.line = found.line;
    this.text = found.text;
    this.ranges = found.ranges;
  }
}

/** A file that holds words of a ranked search. */
export class RankedFile extends Value {
  static override readonly hidden = ['path', 'lines'];
  readonly path: string;
  /** The BM25 score, above 0. It compares files of one search only. */
  readonly score: number;
  /** The last change of the text. */
  readonly modified: Date;
  /** Up to three lines with the rarest words: the number from 1, and the first 400 characters. */
  readonly lines: ReadonlyArray<{ readonly line: number; readonly text: string }>;

  /** @internal */
  constructor(file: native.RankedFile) {
    super();
    this.path = file.path;
    this.score = file.score;
    this.modified = new Date(file.modifiedMs);
    this.lines = file.lines;
  }
}

/** The result of `Files.rank`. */
export class Ranked extends Value {
  static override readonly hidden = ['damaged'];
  /** The best first. */
  readonly files: readonly RankedFile[];
  /** All files that hold a word. */
  readonly found: number;
  /** The paths of files that were not searched, because they are damaged. */
  readonly damaged: readonly string[];

  /** @internal */
  constructor(ranked: native.Ranked) {
    super();
    this.files = ranked.files.map((file) => new RankedFile(file));
    this.found = ranked.found;
    this.damaged = ranked.damaged;
  }
}

/** A file for `Files.writeMany`. */
export interface NewFile {
  path: string;
  text: string;
  /** The creation time; by default that of the file that it replaces, else the time of the change. */
  created?: Date | undefined;
  /** The time of the last change; now by default. */
  modified?: Date | undefined;
  /** Whether an existing file with another text is replaced; `true` by default. If not, it is an `AlreadyExists`. */
  replaces?: boolean | undefined;
}

/** Counts and sizes of a store. */
export interface StoreStatus {
  readonly files: number;
  /** Bytes of text. */
  readonly bytes: number;
  /** Commits since the store was made. */
  readonly commit: number;
  /** Bytes that the engine's files occupy on disk, without the journal, the headers and the reserve for a full disk. */
  readonly diskBytes: number;
  /** Whether it would be noticed if the newest changes were missing. */
  readonly freshness: Freshness;
}

/**
 * Whether it would be noticed if the newest changes of a store were missing: `known`; `unknown`, because the anchor was missing or
 * damaged; `was_missing`, because the anchor of the application is new; `failing`, because an anchor cannot be used; `none` in
 * memory, and in a database without an anchor.
 */
export type Freshness = 'known' | 'unknown' | 'was_missing' | 'failing' | 'none';

export type SlotKind = 'passphrase' | 'passphrase and keyfile' | 'recovery key' | 'raw key';

/** A keyslot: one credential that opens the store. */
export interface Keyslot {
  /** From 0 to 7. */
  readonly number: number;
  readonly kind: SlotKind;
  /** Chosen by the owner; the kind by default. */
  readonly label: string;
  /** When its credential was added, by the clock of that machine. */
  readonly created: Date;
  /** Whether this store was opened through it. */
  readonly isCurrent: boolean;
}

/** Records in the folder of a store that the store no longer uses. They may be the only copy of what they hold. */
export interface SetAside {
  readonly number: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** The name of their folder, in the folder of the store. */
  readonly name: string;
}

/** A copy that was read back. */
export interface VerifiedCopy {
  /** Records that were read and authenticated. */
  readonly records: number;
  readonly files: number;
  /** Bytes of text. */
  readonly bytes: number;
}

/** A backup that was made and read back. */
export interface BackupReport {
  /** Its number in the folder. */
  readonly number: number;
  readonly verified: VerifiedCopy;
  /** Bytes that it added to the folder. */
  readonly addedBytes: number;
  /** The numbers of the earlier backups that were removed by age and count. */
  readonly removed: readonly number[];
  /** Whether the records of removed backups are gone. If not, a file of the folder is damaged, of another version, or cannot be removed. */
  readonly isCleared: boolean;
}

/** What a synchronisation did. Its paths are not printed. */
export class SyncReport extends Value {
  static override readonly hidden = ['copies', 'held', 'kept'];

  /** Objects that were put into the place. */
  readonly sent: number;
  /** Objects of other devices that were read. */
  readonly received: number;
  /** Changes of files in the store. */
  readonly changed: number;
  /** Objects that cannot be read yet, because an earlier one is missing or they are not whole. */
  readonly waiting: number;
  /** Paths of conflict copies that are shown, below `/memories/`. */
  readonly copies: readonly string[];
  /** Paths of files that the store does not take, below `/memories/`. */
  readonly held: readonly string[];
  /** Objects in the place that may have forgotten texts. They go as the other devices synchronise. */
  readonly unforgotten: number;
  /** Paths of files that were changed while another device forgot texts of them, below `/memories/`. Their texts stay. */
  readonly kept: readonly string[];

  /** @internal */
  constructor(report: native.SyncReport) {
    super();
    this.sent = report.sent;
    this.received = report.received;
    this.changed = report.changed;
    this.waiting = report.waiting;
    this.copies = report.copies;
    this.held = report.held;
    this.unforgotten = report.unforgotten;
    this.kept = report.kept;
  }
}

/** Another device of a circle. Both are claims. */
export interface SyncMember {
  readonly name: string;
  /** The time of its clock when it published last. */
  readonly time: Date | null;
}

/** What is known of a circle of devices. */
export interface SyncStatus {
  /** The name of this device. */
  readonly name: string;
  readonly place: string;
  /** The other devices. One that was restored or copied is there several times. */
  readonly members: readonly SyncMember[];
  /** Objects that the place or the other devices may not have. */
  readonly outbox: number;
  /** Files with several texts or paths that nobody has chosen from. */
  readonly conflicts: number;
  /** Logs that copies of one device have written to. */
  readonly forks: number;
}

export function syncStatus({ members, ...status }: native.SyncStatus): SyncStatus {
  return { ...status, members: members.map(({ name, timeMs }) => ({ name, time: date(timeMs) })) };
}

/** A backup in a folder. Nothing of it is authenticated yet. */
export interface BackupInfo {
  readonly number: number;
  /** When it was made; `null` if its manifest is damaged or of a version that this build does not know. */
  readonly time: Date | null;
  /** Bytes of the files that only this backup brought. Later ones use them too. */
  readonly ownBytes: number;
  /** The id of its store, in hexadecimal digits. */
  readonly store: string;
}

/** A problem in a store. */
export class StoreProblem extends Value {
  static override readonly hidden = ['names'];
  /** The names on the way from the root; empty for what has no path. */
  readonly names: readonly string[];
  /** What is affected, in general words. */
  readonly what: string;
  /** The problem, in general words. */
  readonly how: string;

  /** @internal */
  constructor(problem: native.StoreProblem) {
    super();
    this.names = problem.names;
    this.what = problem.what;
    this.how = problem.how;
  }
}

/** The result of a check. */
export interface CheckReport {
  /** Whether the check found no problem. */
  readonly isClean: boolean;
  /** Records read. */
  readonly records: number;
  readonly files: number;
  /** Bytes of text. */
  readonly bytes: number;
  /** Intact records without a reference to them. They are harmless; `compact` removes them. */
  readonly orphans: number;
  /** The problems in the order in which they were found; the first 10,000. */
  readonly problems: readonly StoreProblem[];
  /** The number of further problems. */
  readonly unlisted: number;
}

export type VersionKind =
  | 'created'
  | 'modified'
  | 'renamed'
  | 'deleted'
  | 'restored'
  | 'expired'
  | 'imported'
  | 'forgotten';

/** The part of the program that made a change: `tool` is a model. */
export type VersionChannel = 'tool' | 'files' | 'program' | 'import' | 'expiry';

/**
 * Whether the text of a version can still be read: `gone` if it was forgotten, dropped for lack of room or lost to damage; `none`
 * for a deletion and for a folder; `unknown` in an undo plan, where damage hides it, and far back in a long history.
 */
export type VersionText = 'kept' | 'gone' | 'none' | 'unknown';

/** One change, and the version that it made. */
export class VersionInfo extends Value {
  static override readonly hidden = ['actor', 'path', 'oldPath'];
  readonly number: number;
  readonly time: Date;
  readonly kind: VersionKind;
  readonly channel: VersionChannel;
  /** Who made it, as the caller claimed; empty without a label. */
  readonly actor: string;
  /** The file, by the number of the change that created it; `null` for a folder. */
  readonly file: number | null;
  /** The number of the file's previous version. */
  readonly previous: number | null;
  /** The path after the change; for a deletion, the path before it. `null` for a note of what was forgotten. */
  readonly path: string | null;
  /** The path before a rename; `null` if everything before it was forgotten. */
  readonly oldPath: string | null;
  readonly bytes: number;
  readonly lines: number;
  readonly text: VersionText;
  /** For the deletion of a folder: the change that moved it back. */
  readonly restored: number | null;

  /** @internal */
  constructor(version: native.VersionInfo) {
    super();
    this.number = version.number;
    this.time = new Date(version.timeMs);
    this.kind = version.kind as VersionKind;
    this.channel = version.channel as VersionChannel;
    this.actor = version.actor;
    this.file = version.file ?? null;
    this.previous = version.previous ?? null;
    this.path = version.path ?? null;
    this.oldPath = version.oldPath ?? null;
    this.bytes = version.bytes;
    this.lines = version.lines;
    this.text = version.text as VersionText;
    this.restored = version.restored ?? null;
  }
}

/** The settings of a history, and what it holds. */
export interface HistoryStatus {
  /** How long versions are kept, in milliseconds; `null` if they are not. */
  readonly keepMs: number | null;
  readonly maxBytes: number;
  readonly entries: number;
  /** Bytes of earlier texts that are kept. */
  readonly bytes: number;
  readonly isDamaged: boolean;
  /** Entries that cannot be read, because records of the history are damaged. */
  readonly unreadable: number;
  readonly lostBefore: number | null;
}

/** Why no file could expire. */
export type ExpiryHindrance = 'not_recording' | 'ledger_damaged' | 'clock_in_doubt';

/** The settings of the expiry of unused files, and what is recorded. */
export interface ExpiryStatus {
  /** Whether the store records which files are read. */
  readonly isRecording: boolean;
  /** How long a file must have been unused to expire at an unlock, in milliseconds; `null` if no file does. */
  readonly atUnlockMs: number | null;
  /** No file counts as unused for longer than since this time. */
  readonly since: Date | null;
  /** When files last expired at an unlock. */
  readonly lastExpiry: Date | null;
  /** Files with a recorded reading. */
  readonly readings: number;
  /** Whether the record cannot be read. No file expires then; the next change begins a new one. */
  readonly isDamaged: boolean;
}

/** A file that expired, or would expire. */
export class ExpiredFile extends Value {
  static override readonly hidden = ['path'];

  readonly path: string;
  readonly bytes: number;
  /** When it was last read or changed, as far as the store knows. A reading is known to the day. */
  readonly lastUse: Date;
  /** The number of the change that deleted it, for `History.restore`; `null` in a dry run. */
  readonly version: number | null;

  /** @internal */
  constructor(file: native.ExpiredFile) {
    super();
    this.path = file.path;
    this.bytes = file.bytes;
    this.lastUse = new Date(file.lastUseMs);
    this.version = file.version ?? null;
  }
}

/** What expired, or would expire. */
export interface ExpiryReport {
  /** The files in the order of their paths; the first 10,000. */
  readonly files: readonly ExpiredFile[];
  /** The number of further files. */
  readonly unlisted: number;
  /** Bytes of text in all of them. */
  readonly bytes: number;
  /**
   * Why no file could expire: the store records no readings; its record is damaged; or the clock is far from the time of the
   * last change, so it may be wrong, or the store was not used for long.
   */
  readonly hindrance: ExpiryHindrance | null;
}

/** One step of an undo: one file or folder goes back. */
export class UndoStep extends Value {
  static override readonly hidden = ['path'];
  /** The newest change of the file, which the step undoes. If there is a newer one by then, it changes nothing. */
  readonly newest: VersionInfo;
  /** The version that the file goes back to; `null` if it did not exist. */
  readonly to: number | null;
  /** The path that it goes back to; `null` if it is not known any more. */
  readonly path: string | null;

  /** @internal */
  constructor(step: native.UndoStep) {
    super();
    this.newest = new VersionInfo(step.newest);
    this.to = step.to ?? null;
    this.path = step.path ?? null;
  }
}

/** What became of a step of an undo. */
export interface Undone {
  /** The version that it made; `null` if it changed nothing. */
  readonly version: number | null;
  /** Why it changed nothing. */
  readonly reason: FileError | null;
}

/** The result of a call of the memory tool. */
export class ToolResult extends Value {
  static override readonly hidden = ['content', 'toolUseId', 'storeError'];
  /** The text for the model. */
  readonly content: string;
  /** Whether the result must be marked as an error. */
  readonly isError: boolean;
  /** The id of the `tool_use` block, if a whole block was sent. */
  readonly toolUseId: string | null;
  /** Why the store failed, for the application. The model reads only that its memory is not available. */
  readonly storeError: StoreError | null;

  /** @internal */
  constructor(content: string, isError: boolean, toolUseId: string | null, storeError: StoreError | null) {
    super();
    this.content = content;
    this.isError = isError;
    this.toolUseId = toolUseId;
    this.storeError = storeError;
  }

  /**
   * The result as a `tool_result` block. If only the `input` of the `tool_use` block was called, `toolUseId` is the id of the
   * block.
   */
  toBlock(toolUseId = this.toolUseId): { type: 'tool_result'; tool_use_id: string; content: string; is_error: boolean } {
    if (toolUseId === null) throw new TypeError('the call had no id; toolUseId must be that of the tool_use block');
    return { type: 'tool_result', tool_use_id: toolUseId, content: this.content, is_error: this.isError };
  }
}

export function metadata(metadata: native.Metadata): Metadata {
  return {
    bytes: metadata.bytes,
    isFolder: metadata.isFolder,
    lines: metadata.lines ?? null,
    created: date(metadata.createdMs),
    modified: date(metadata.modifiedMs),
  };
}

export function keyslot({ number, kind, label, createdMs, isCurrent }: native.Keyslot): Keyslot {
  return { number, kind: kind as SlotKind, label, created: new Date(createdMs), isCurrent };
}

export function checkReport(report: native.CheckReport): CheckReport {
  const problems = report.problems.map((problem) => new StoreProblem(problem));
  return { isClean: problems.length === 0, ...report, problems };
}

export function date(milliseconds: number | undefined | null): Date | null {
  const time = new Date(milliseconds ?? NaN);
  // The clock of another device may be beyond all dates.
  return Number.isNaN(time.getTime()) ? null : time;
}
