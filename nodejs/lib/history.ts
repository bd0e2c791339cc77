import { count, flag, keepInThread, known, made, optional, text, time } from './arguments.js';
import { exception, isFailure, run, type FileError } from './errors.js';
import * as native from './native.js';
import { items } from './pages.js';
import { counted, type WithProgress } from './progress.js';
import {
  UndoStep,
  VersionInfo,
  type HistoryStatus,
  type Undone,
  type VersionChannel,
  type VersionKind,
} from './records.js';

/** Which changes; all of them without a property. */
export interface VersionQuery {
  /** Changes at or below this path. */
  path?: string | undefined;
  /** Leaves out changes with a path outside the folder `path`. */
  confined?: boolean | undefined;
  /** Changes of this file, by the number of the change that created it. */
  file?: number | undefined;
  actor?: string | undefined;
  kind?: VersionKind | undefined;
  channel?: VersionChannel | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

/** The history of a store. While it is on, every change of a file leaves a version behind, encrypted. */
export class History {
  readonly #store: native.NativeStore;

  /** @internal */
  constructor(store: native.NativeStore) {
    this.#store = made(store, native.NativeStore, 'Store.open');
    keepInThread(this);
  }

  /**
   * The changes, the newest first. Reads the store page by page. Entries that cannot be read, because the history is damaged,
   * are left out: `status()` counts them.
   */
  log(query: VersionQuery = {}): AsyncGenerator<VersionInfo, void, undefined> {
    const checked = parse(query);
    return items(() => this.#store.log(checked), (raw: native.VersionInfo) => new VersionInfo(raw));
  }

  /** The text of a file as the change of this number made it. */
  async text(version: number): Promise<string> {
    return run(() => this.#store.versionText(count(version, 'version')));
  }

  /** Brings a version back, to its path then or to another. Returns the number of the new version. */
  async restore(version: number, to?: string): Promise<number> {
    return run(() => this.#store.restore(count(version, 'version'), optional(text, to, 'to')));
  }

  /** Plans to undo the changes that `log` lists with the same query. Changes nothing. */
  async planUndo(query: VersionQuery = {}): Promise<UndoPlan> {
    return new UndoPlan(await run(() => this.#store.planUndo(parse(query))));
  }

  /** Makes the steps of a plan. A step whose file has changed since the plan changes nothing. */
  async undo(plan: UndoPlan, options: WithProgress = {}): Promise<Undone[]> {
    known(options, ['progress']);
    if (!(plan instanceof UndoPlan)) throw new TypeError('plan must be an UndoPlan');
    const results = await counted(options, (counter) => this.#store.undo(plan.native(), counter));
    return results.map((result) =>
      isFailure(result)
        ? { version: null, reason: exception(result) as FileError }
        : { version: result, reason: null },
    );
  }

  /**
   * Removes versions of what is or was at or below a path: all, or those up to and including the version `until`. Returns how
   * many entries.
   *
   * The ciphertext stays in the store's files until `Store.compact` or `Store.purge`.
   */
  async forget(path: string, options: { until?: number | undefined } & WithProgress = {}): Promise<number> {
    known(options, ['until', 'progress']);
    const [at, until] = [text(path, 'path'), optional(count, options.until, 'until')];
    return counted(options, (counter) => this.#store.forget(at, until, counter));
  }

  /** The settings, and what the history holds. */
  async status(): Promise<HistoryStatus> {
    const status = await run(() => this.#store.historyStatus());
    return { ...status, keepMs: status.keepMs ?? null, lostBefore: status.lostBefore ?? null };
  }

  /** Sets how long versions are kept; `keepMs: null` keeps none and drops those that are kept. */
  async set(settings: { keepMs: number | null; maxBytes?: number | undefined }): Promise<void> {
    known(settings, ['keepMs', 'maxBytes']);
    if (settings.keepMs === undefined) throw new TypeError('keepMs must be a number, or null to keep none');
    const keep = optional(count, settings.keepMs, 'keepMs');
    return run(() => this.#store.setHistory(keep, optional(count, settings.maxBytes, 'maxBytes')));
  }
}

/** What an undo would do. */
export class UndoPlan {
  readonly #plan: native.NativeUndoPlan;

  /** @internal */
  constructor(plan: native.NativeUndoPlan) {
    this.#plan = made(plan, native.NativeUndoPlan, 'History.planUndo');
    keepInThread(this);
  }

  /** The steps, the newest change first. */
  get steps(): UndoStep[] {
    return this.#plan.steps().map((step) => new UndoStep(step));
  }

  /** Files that someone else changed afterwards, by their newest change. An undo leaves them. */
  get left(): VersionInfo[] {
    return this.#plan.left().map((version) => new VersionInfo(version));
  }

  /**
   * Files that cannot go back, by their newest change: the text before was forgotten or dropped for lack of room, is
   * damaged, or the history does not have every change in between. An undo leaves them.
   */
  get gone(): VersionInfo[] {
    return this.#plan.gone().map((version) => new VersionInfo(version));
  }

  /** Entries of the history that cannot be read, among those that the plan had to look at. */
  get unreadable(): number {
    return this.#plan.unreadable();
  }

  /** @internal */
  native(): native.NativeUndoPlan {
    return this.#plan;
  }
}

function parse(query: VersionQuery): native.Query {
  known(query, ['path', 'confined', 'file', 'actor', 'kind', 'channel', 'since', 'until']);
  return {
    path: optional(text, query.path, 'path'),
    confined: optional(flag, query.confined, 'confined'),
    file: optional(count, query.file, 'file'),
    actor: optional(text, query.actor, 'actor'),
    kind: optional(text, query.kind, 'kind'),
    channel: optional(text, query.channel, 'channel'),
    sinceMs: optional(time, query.since, 'since'),
    untilMs: optional(time, query.until, 'until'),
  };
}
