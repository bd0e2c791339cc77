/**
 * The files of a deep agent (package `deepagents`), encrypted. For any model.
 *
 * ```ts
 * import { CompositeBackend, createDeepAgent, StateBackend } from 'deepagents';
 * import { Store } from 'inmost';
 * import { InmostBackend } from 'inmost/deepagents';
 *
 * const store = await Store.open('claude.inmost', { passphrase });
 * try {
 *   const backend = new CompositeBackend(new StateBackend(), { '/memories/': new InmostBackend(store) });
 *   const agent = createDeepAgent({ model, backend });
 *   await agent.invoke({ messages: [{ role: 'user', content: 'Plan the garden with me.' }] });
 * } finally {
 *   await store.close();
 * }
 * ```
 *
 * With `backend: new InmostBackend(store)`, all files of the agent are in the store, also those that the framework writes
 * itself. LangChain's tracing copies the arguments and the results of tool calls to the place where traces are kept.
 */

import type {
  BackendProtocolV2,
  DeleteResult,
  EditResult,
  FileDownloadResponse,
  FileInfo,
  FileOperationError,
  FileUploadResponse,
  GlobResult,
  GrepMatch,
  GrepResult,
  LsResult,
  ReadRawResult,
  ReadResult,
  WriteResult,
} from 'deepagents';
import micromatch from 'micromatch';

import { flag, known, optional, text } from './arguments.js';
import { warn, type AdapterOptions } from './calls.js';
import { FileError, StoreError, type Metadata, type Store } from './index.js';

/** Options of `InmostBackend`. */
export interface BackendOptions extends AdapterOptions {
  /** Refuses every change. */
  readOnly?: boolean | undefined;
  /** The folder of the store that is the backend's `/`; `/memories` by default. */
  subtree?: string | undefined;
}

/**
 * A backend of the framework in a folder of a store.
 *
 * An edit is conditional on the text that it was made from, in one atomic step, and is repeated if someone else was faster.
 * So no edit of another agent, thread or process is lost. A `write` replaces an existing file, as the protocol demands.
 *
 * A store holds text only: an upload of bytes that are not UTF-8 is refused, and a file is text with any ending of its name.
 * A path that is not in Unicode's form NFC is refused, so that permissions of the framework hold for every spelling of a name.
 */
export class InmostBackend implements BackendProtocolV2 {
  readonly #files: Store['files'];
  readonly #root: string;
  readonly #readOnly: boolean;
  readonly #onStoreError: (error: StoreError) => void;

  constructor(store: Store, options: BackendOptions = {}) {
    known(options, ['onStoreError', 'readOnly', 'subtree']);
    const subtree = optional(text, options.subtree, 'subtree') ?? '/memories';
    // Throws an `InvalidPath` for a path that no folder can have.
    store.memoryTool({ subtree });
    this.#files = store.files;
    this.#root = `/${subtree.split('/').filter(Boolean).join('/')}`;
    this.#readOnly = optional(flag, options.readOnly, 'readOnly') ?? false;
    this.#onStoreError = options.onStoreError ?? warn;
  }

  /** The entries of a folder. A missing folder has none, as in the backends of the framework. */
  async ls(path: string): Promise<LsResult> {
    return this.#answered('', async () => {
      const place = this.#place(path);
      const entries = await unlessMissing(this.#files.list(place), []);
      return { files: entries.map((entry) => this.#info(`${place}/${entry.name}`, entry.metadata)) };
    });
  }

  /** Lines of a file. */
  async read(filePath: string, offset = 0, limit = 500): Promise<ReadResult> {
    return this.#answered('', async () => {
      const content = await this.#files.read(this.#place(filePath));
      if (content === '') return { content: EMPTY, mimeType: TEXT };
      const lines = content.split('\n');
      const totalLines = content.endsWith('\n') ? lines.length - 1 : lines.length;
      const [first, most] = [natural(offset), natural(limit)];
      if (first >= totalLines) return { error: `Line offset ${first} exceeds file length (${totalLines} lines)` };
      const page = { content: lines.slice(first, first + most).join('\n'), mimeType: TEXT };
      const endLine = Math.min(first + most, totalLines);
      if (most === 0) return page;
      return { ...page, totalLines, startLine: first + 1, endLine, ...(endLine < totalLines && { nextOffset: endLine }) };
    });
  }

  /** The whole text of a file, and its times. */
  async readRaw(filePath: string): Promise<ReadRawResult> {
    return this.#answered('', async () => {
      const place = this.#place(filePath);
      const { created, modified } = await this.#files.metadata(place);
      const content = await this.#files.read(place);
      return { data: { content, mimeType: TEXT, created_at: created?.toISOString() ?? '', modified_at: modified?.toISOString() ?? '' } };
    });
  }

  /** Writes a file, replacing an existing one. */
  async write(filePath: string, content: string): Promise<WriteResult> {
    return this.#answered(PREFIX, async () => {
      await this.#files.write(this.#writable(filePath), content);
      return { path: filePath, filesUpdate: null };
    });
  }

  /** Replaces a text that occurs once in a file, or every occurrence of it. */
  async edit(filePath: string, oldString: string, newString: string, replaceAll = false): Promise<EditResult> {
    return this.#answered(PREFIX, async () => {
      const place = this.#writable(filePath);
      for (;;) {
        // In this order: a change between the two calls must be noticed.
        const version = await this.#files.version(place);
        const content = await this.#files.read(place);
        const parts = content.split(oldString);
        // An empty text is found in an empty file only: that is how an agent fills one.
        const occurrences = oldString === '' ? 0 : parts.length - 1;
        if (oldString === '' && content !== '') return { error: 'Error: oldString cannot be empty when file has content' };
        if (oldString !== '' && occurrences === 0) return { error: `Error: String not found in file: '${oldString}'` };
        if (occurrences > 1 && !replaceAll) {
          const advice = 'Use replace_all=True to replace all of them, or provide a longer string';
          return { error: `Error: String '${oldString}' has multiple occurrences (appears ${occurrences} times) in file. ${advice}` };
        }
        try {
          await this.#files.writeIf(place, oldString === '' ? newString : parts.join(newString), version);
          return { path: filePath, filesUpdate: null, occurrences };
        } catch (error) {
          if (!(error instanceof FileError && error.code === 'Changed')) throw error;
        }
      }
    });
  }

  /** Deletes a file, or a folder with everything below it. */
  async delete(filePath: string): Promise<DeleteResult> {
    return this.#answered(PREFIX, async () => {
      await this.#files.remove(this.#writable(filePath));
      return { path: filePath, filesUpdate: null };
    });
  }

  /** The lines that contain a text, in the files below a folder or in one file. */
  async grep(pattern: string, path?: string | null, glob?: string | null, maxCount?: number | null): Promise<GrepResult> {
    return this.#answered(PREFIX, async () => {
      const place = this.#place(path || '/');
      // A pattern without a slash is one for names.
      const isIncluded = glob ? matcher(glob, true) : () => true;
      const matches: GrepMatch[] = [];
      const search = async (): Promise<GrepResult> => {
        for await (const found of this.#files.search(pattern, { path: place })) {
          if (!isIncluded(below(found.path, place))) continue;
          if (maxCount != null && matches.length >= maxCount) return { matches, truncated: true };
          matches.push({ path: this.#shown(found.path), line: found.line, text: found.text });
        }
        return { matches };
      };
      return unlessMissing(search(), { matches });
    });
  }

  /** The files below a folder that a pattern matches. */
  async glob(pattern: string, path?: string): Promise<GlobResult> {
    return this.#answered('', async () => {
      const place = this.#place(path || '/');
      const isMatch = matcher(pattern.replace(/^\//, ''), false);
      const files: FileInfo[] = [];
      const walk = async (): Promise<GlobResult> => {
        for await (const { path: found, metadata } of this.#files.walk(place)) {
          if (!metadata.isFolder && isMatch(below(found, place))) files.push(this.#info(found, metadata));
        }
        return { files };
      };
      return unlessMissing(walk(), { files });
    });
  }

  /** Writes files, replacing existing ones. Each file is one atomic step; the call as a whole is not. */
  async uploadFiles(files: Array<[string, Uint8Array]>): Promise<FileUploadResponse[]> {
    const responses: FileUploadResponse[] = [];
    for (const [path, content] of files) {
      const upload = async (): Promise<void> => this.#files.write(this.#writable(path), UTF8.decode(content));
      responses.push({ path, error: await this.#code(upload) });
    }
    return responses;
  }

  /** The whole texts of files. */
  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    const responses: FileDownloadResponse[] = [];
    for (const path of paths) {
      let content: Uint8Array | null = null;
      const error = await this.#code(async () => {
        content = new TextEncoder().encode(await this.#files.read(this.#place(path)));
      });
      responses.push({ path, content, error });
    }
    return responses;
  }

  /** The path in the store. The store refuses `..` and what else no path may have. */
  #place(path: string): string {
    const [first, ...names] = path.replace(/\/$/, '').split('/');
    if (first !== '' || path === '' || names.includes('') || path.normalize() !== path) throw new Refused('Invalid path', 'invalid_path');
    return [this.#root, ...names].join('/');
  }

  /** The path in the store of what is to be changed. */
  #writable(path: string): string {
    if (this.#readOnly) throw new Refused('Permission denied: the files are read-only', 'permission_denied');
    const place = this.#place(path);
    if (place === this.#root) throw new Refused('The root folder cannot be replaced or deleted', 'is_directory');
    return place;
  }

  /** The path that the agent knows. */
  #shown(place: string): string {
    return `/${below(place, this.#root)}`;
  }

  #info(place: string, { bytes, isFolder, modified }: Metadata): FileInfo {
    const path = this.#shown(place);
    const info: FileInfo = { path: isFolder ? `${path}/` : path, is_dir: isFolder, size: bytes };
    return modified === null ? info : { ...info, modified_at: modified.toISOString() };
  }

  /** Runs an operation, and returns the reason of a failure as a text for the model. */
  async #answered<T extends object>(prefix: string, operation: () => Promise<T>): Promise<T | { error: string }> {
    try {
      return await operation();
    } catch (error) {
      return { error: prefix + this.#reason(error).message };
    }
  }

  /** Runs an operation, and returns the reason of a failure as a code of the framework. */
  async #code(operation: () => Promise<void>): Promise<FileOperationError | null> {
    try {
      await operation();
      return null;
    } catch (error) {
      return this.#reason(error).code;
    }
  }

  /** What the agent gets to know of a failure. Reports a failing store to the application. */
  #reason(error: unknown): Refused {
    if (error instanceof Refused) return error;
    if (error instanceof StoreError) {
      this.#onStoreError(error);
      return new Refused('Memory is unavailable.', 'permission_denied');
    }
    if (error instanceof FileError) return REASONS[error.code] ?? new Refused(error.message, 'permission_denied');
    // A lone surrogate, or bytes that are not UTF-8.
    if (error instanceof TypeError) return new Refused('The text is not valid Unicode', 'permission_denied');
    throw error;
  }
}

/** A failure as the agent gets to know it. The framework has these four codes only. */
class Refused extends Error {
  constructor(
    message: string,
    readonly code: FileOperationError,
  ) {
    super(message);
  }
}

/** The path below a folder; the name of a file that is itself the place of a search. */
function below(place: string, folder: string): string {
  // Names are counted and not compared, because the store normalizes them.
  const names = place.split('/');
  return names.slice(folder.split('/').length).join('/') || (names.at(-1) ?? '');
}

async function unlessMissing<T>(found: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof FileError && error.code === 'NotFound') return otherwise;
    throw error;
  }
}

/** The matcher of the framework's own backends. */
function matcher(pattern: string, basename: boolean): (path: string) => boolean {
  try {
    return micromatch.matcher(pattern, { dot: true, basename });
  } catch {
    // It is empty, or longer than 65,536 characters.
    throw new Refused('Invalid pattern', 'invalid_path');
  }
}

function natural(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.floor(value)) : 0;
}

/** The framework compares with this text, and shows it without a line number. */
const EMPTY = 'System reminder: File exists but has empty contents';
const TEXT = 'text/plain';
/** The framework adds none to the errors of these operations. */
const PREFIX = 'Error: ';
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const IS_FOLDER = new Refused('Path is a directory', 'is_directory');
const REASONS: Partial<Record<FileError['code'], Refused>> = {
  InvalidPath: new Refused('Invalid path', 'invalid_path'),
  AlreadyExists: IS_FOLDER,
  IsAFolder: IS_FOLDER,
  // The framework looks for these words.
  NotAFolder: new Refused('Path is not a directory', 'invalid_path'),
  NotFound: new Refused('File not found', 'file_not_found'),
};
