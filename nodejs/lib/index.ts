/**
 * Encrypted memory for AI agents: Claude's memory tool, with nothing readable on disk.
 *
 * ```ts
 * import { Store } from 'inmost';
 *
 * const store = await Store.open('claude.inmost', { passphrase });
 * try {
 *   const memory = store.memoryTool();
 *   const result = await memory.call({ command: 'view', path: '/memories' });
 *   send(result.content);
 * } finally {
 *   await store.close();
 * }
 * ```
 *
 * `inmost/anthropic` has the same tool for `toolRunner` of the package `@anthropic-ai/sdk`.
 *
 * Keys are wiped when a store is locked. JavaScript strings cannot be wiped: a passphrase that was given as a string, and
 * every text that a call returned, stay in memory until the engine uses that memory again. A passphrase in a `Buffer` can be
 * overwritten by its owner; a store that a key daemon holds (`Store.connect`) needs none.
 */

import { runNow } from './errors.js';
import * as native from './native.js';

export { FileError, InmostError, StoreError, SyncError } from './errors.js';
export type { ErrorCode, FileErrorCode, StoreErrorCode, SyncErrorCode } from './errors.js';
export { Backups } from './backups.js';
export { Expiry } from './expiry.js';
export { Files } from './files.js';
export type { RankOptions, SearchOptions } from './files.js';
export { History, UndoPlan } from './history.js';
export type { VersionQuery } from './history.js';
export { Keyslots } from './keyslots.js';
export type { ConnectOptions, CreateOptions, Credential, InMemoryOptions, Limits, OpenOptions } from './options.js';
export { ExpiredFile, FileVersion, FolderEntry, Ranked, RankedFile, SearchMatch, StoreProblem, SyncReport, ToolResult, UndoStep, VersionInfo, WalkEntry } from './records.js';
export type {
  BackupInfo,
  BackupReport,
  CheckReport,
  ExpiryHindrance,
  ExpiryReport,
  ExpiryStatus,
  Freshness,
  HistoryStatus,
  Keyslot,
  Metadata,
  NewFile,
  Precondition,
  SlotKind,
  SetAside,
  StoreStatus,
  SyncMember,
  SyncStatus,
  Undone,
  VerifiedCopy,
  VersionChannel,
  VersionKind,
  VersionText,
} from './records.js';
export { Postgres, Vault } from './postgres.js';
export type { PostgresOptions } from './postgres.js';
export { Store } from './store.js';
export type { BackupOptions } from './store.js';
export { Sync } from './sync.js';
export { MemoryTool } from './tool.js';
export type { MemoryToolOptions } from './tool.js';

/** The memory tool's entry in the `tools` of a request. */
export const TOOL_DEFINITION: Readonly<{ type: 'memory_20250818'; name: 'memory' }> = Object.freeze(
  JSON.parse(native.TOOL_DEFINITION),
);

/** The version of the package. */
export const version: string = native.VERSION;

/** A new recovery key, as text for paper. Anyone who sees it can open the store. */
export function generateRecoveryKey(): string {
  return runNow(() => native.generateRecoveryKey());
}

/** The content of a new keyfile. Keep the file apart from the store, readable for its owner only. */
export function generateKeyfile(): Buffer {
  return runNow(() => native.generateKeyfile());
}
