import { count, flag, keepInThread, known, made, optional, text, time } from './arguments.js';
import { exception, run, runNow, type FileError, type StoreError } from './errors.js';
import * as native from './native.js';
import { items } from './pages.js';
import {
  FileVersion,
  FolderEntry,
  metadata,
  Ranked,
  SearchMatch,
  WalkEntry,
  type Metadata,
  type NewFile,
  type Precondition,
} from './records.js';

/** Where and how to search. */
export interface SearchOptions {
  /** The folder or file; `/memories` by default. */
  path?: string | undefined;
  ignoreCase?: boolean | undefined;
  maxMatchesPerFile?: number | undefined;
}

/** Where to rank, and what to return. */
export interface RankOptions {
  /** The folder or file; `/memories` by default. */
  path?: string | undefined;
  /** So many files at most; 10 by default, at most 100. */
  limit?: number | undefined;
  /** Leaves out so many of the best files. */
  skip?: number | undefined;
  /** Only files whose text has changed since then. */
  since?: Date | undefined;
}

/**
 * The files of a store, for programs that are not agents. Paths are those of the memory tool: `/memories` or a path below it.
 *
 * Every change is one atomic step and is on disk when its promise resolves. Calls that run at the same time take effect in
 * any order; `await` the first where the order matters.
 */
export class Files {
  readonly #store: native.NativeStore;

  /** @internal */
  constructor(store: native.NativeStore) {
    this.#store = made(store, native.NativeStore, 'Store.open');
    keepInThread(this);
  }

  /** The whole text of a file. */
  async read(path: string): Promise<string> {
    return run(() => this.#store.read(text(path, 'path')));
  }

  /** The lines `first` to `last`, counted from 1, with their line ends; to the end without `last`. */
  async readLines(path: string, first: number, last?: number): Promise<string> {
    return run(() => this.#store.read(text(path, 'path'), count(first, 'first'), optional(count, last, 'last')));
  }

  /** The metadata of a file or folder. Does not read its text. */
  async metadata(path: string): Promise<Metadata> {
    return metadata(await run(() => this.#store.metadata(text(path, 'path'))));
  }

  /** Whether there is a file or folder. */
  async exists(path: string): Promise<boolean> {
    try {
      await this.metadata(path);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** Writes a file, replacing an existing one. */
  async write(path: string, content: string): Promise<void> {
    return run(() => this.#store.write(text(path, 'path'), text(content, 'content')));
  }

  /** Appends text to a file, character for character; creates a missing one. */
  async append(path: string, content: string): Promise<void> {
    return run(() => this.#store.append(text(path, 'path'), text(content, 'content')));
  }

  /**
   * The whole texts of files, in the order of their paths, or why one cannot be read: a `StoreError` for a damaged one.
   *
   * In a store that hosts share, this makes far fewer round trips than single calls, if the paths are in the order of a walk.
   */
  async readMany(paths: Iterable<string>): Promise<Array<string | FileError | StoreError>> {
    const given = Array.from(paths, (path) => text(path, 'path'));
    const results = await run(() => this.#store.readMany(given));
    return results.map((result) => (typeof result === 'string' ? result : (exception(result) as FileError | StoreError)));
  }

  /**
   * Writes files in their order, several in a commit, and returns the result of each.
   *
   * Each file is one atomic step; the call as a whole is not. A file that already has the text is `unchanged`.
   */
  async writeMany(files: Iterable<NewFile>): Promise<Array<'written' | 'unchanged' | FileError | StoreError>> {
    const given = Array.from(files, (file) => {
      known(file, ['path', 'text', 'created', 'modified', 'replaces']);
      return {
        path: text(file.path, 'path'),
        text: text(file.text, 'text'),
        createdMs: optional(time, file.created, 'created'),
        modifiedMs: optional(time, file.modified, 'modified'),
        replaces: optional(flag, file.replaces, 'replaces'),
      };
    });
    const results = await run(() => this.#store.writeMany(given));
    return results.map((result) => (typeof result === 'string' ? (result as 'written' | 'unchanged') : (exception(result) as FileError | StoreError)));
  }

  /** The entries of a folder in code-point order, hidden ones included. */
  async list(path = '/memories'): Promise<FolderEntry[]> {
    const entries = await run(() => this.#store.list(text(path, 'path')));
    return entries.map((entry) => new FolderEntry(entry));
  }

  /** Everything below a folder, depth first, a folder before its entries. Reads the store page by page. */
  walk(path = '/memories', options: { maxDepth?: number | undefined } = {}): AsyncGenerator<WalkEntry, void, undefined> {
    known(options, ['maxDepth']);
    const depth = optional(count, options.maxDepth, 'maxDepth');
    const folder = text(path, 'path');
    return items((): native.Pages => this.#store.walk(folder, depth), (raw: native.WalkEntry) => new WalkEntry(raw));
  }

  /**
   * The lines that contain a text, or that match a regular expression, in the files below a folder or in one file.
   *
   * A regular expression is run by Rust's crate `regex`, in time linear in the text: `{ regex: 'ab+c' }`. It has no
   * backreferences and no lookaround.
   */
  search(what: string | { regex: string }, options: SearchOptions = {}): AsyncGenerator<SearchMatch, void, undefined> {
    known(options, ['path', 'ignoreCase', 'maxMatchesPerFile']);
    const isRegex = typeof what !== 'string';
    const search = {
      pattern: text(isRegex ? what.regex : what, isRegex ? 'regex' : 'text'),
      isRegex,
      ignoreCase: optional(flag, options.ignoreCase, 'ignoreCase') ?? false,
      maxMatchesPerFile: optional(count, options.maxMatchesPerFile, 'maxMatchesPerFile'),
    };
    const path = optional(text, options.path, 'path') ?? '/memories';
    // An invalid pattern is reported here, not in the loop.
    const pages = runNow(() => this.#store.search(path, search));
    return items(() => pages, (raw: native.SearchMatch) => new SearchMatch(raw));
  }

  /**
   * The files that say most about some words, by BM25: in other forms of the same stem, in any case, with or without accents.
   *
   * A file need not have all of the words; those of its path count too. The first search reads every text, later ones only what
   * has changed. Rejects with `EmptySearch` if there is no word.
   */
  async rank(words: string, options: RankOptions = {}): Promise<Ranked> {
    known(options, ['path', 'limit', 'skip', 'since']);
    const path = optional(text, options.path, 'path') ?? '/memories';
    const rank = {
      limit: optional(count, options.limit, 'limit'),
      skip: optional(count, options.skip, 'skip'),
      sinceMs: optional(time, options.since, 'since'),
    };
    return new Ranked(await run(() => this.#store.rank(path, text(words, 'words'), rank)));
  }

  /** Deletes a file, or a folder with everything below it. */
  async remove(path: string): Promise<void> {
    return run(() => this.#store.remove(text(path, 'path')));
  }

  /** Moves a file, or a folder with everything below it. */
  async rename(from: string, to: string): Promise<void> {
    return run(() => this.#store.rename(text(from, 'from'), text(to, 'to')));
  }

  /** The state of a file, for a later change that is conditional on it; `null` if there is no file. */
  async version(path: string): Promise<FileVersion | null> {
    const version = await run(() => this.#store.version(text(path, 'path')));
    return version === null ? null : new FileVersion(version);
  }

  /**
   * Writes a file if the condition holds, in one atomic step; `null` means that there must be nothing yet. Returns the
   * new state of the file.
   *
   * ```ts
   * const before = await files.version(path);
   * await files.writeIf(path, edited(await files.read(path)), before);
   * ```
   *
   * If someone else changed the file, it throws a `FileError` with the code `Changed` and the present state in `current`.
   */
  async writeIf(path: string, content: string, condition: Precondition): Promise<FileVersion> {
    const given = () => this.#store.writeIf(text(path, 'path'), text(content, 'content'), precondition(condition));
    return new FileVersion(await run(given));
  }

  /** Deletes a file if the condition holds. */
  async removeIf(path: string, condition: Exclude<Precondition, null>): Promise<void> {
    return run(() => this.#store.removeIf(text(path, 'path'), precondition(condition)));
  }

  /** Moves a file if the condition holds for the old path. Returns the number of the change. */
  async renameIf(from: string, to: string, condition: Exclude<Precondition, null>): Promise<number> {
    return run(() => this.#store.renameIf(text(from, 'from'), text(to, 'to'), precondition(condition)));
  }
}

function precondition(condition: unknown): native.Condition {
  if (condition === null) return {};
  const { version, sha256 } = (condition ?? {}) as { version?: unknown; sha256?: unknown };
  if (version !== undefined) return { version: count(version, 'version') };
  // Forgetting the condition must not mean that there must be nothing.
  if (sha256 === undefined) throw new TypeError('a condition is a version, a hash, or null for no file');
  return { sha256: text(sha256, 'sha256') };
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'NotFound';
}
