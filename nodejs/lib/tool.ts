import { count, flag, keepInThread, known, made, optional, text } from './arguments.js';
import { exception, run, runNow, type StoreError } from './errors.js';
import * as native from './native.js';
import { ToolResult } from './records.js';

/** Options of a memory tool. */
export interface MemoryToolOptions {
  /** Refuses every change. */
  readOnly?: boolean | undefined;
  /** Shows one folder of the store as the model's `/memories`. */
  subtree?: string | undefined;
  /** Lets `create` replace a file. */
  createOverwrites?: boolean | undefined;
  /** Labels the tool's changes in the history. */
  actor?: string | undefined;
  /** Keeps private keys, API keys, card numbers and IBANs out: `redact` replaces them, `refuse` saves nothing. */
  screen?: 'redact' | 'refuse' | undefined;
  /** A sentence that the model reads after `Error: Memory is locked.` */
  lockedHint?: string | undefined;
  /**
   * Lets an edit forget every earlier version of its file, and a `delete` every version of the path. It cannot
   * be undone. The ciphertext stays until `Store.compact` or `Store.purge`.
   */
  deleteForgets?: boolean | undefined;
  /** The most bytes of one file that the model can write. The quotas of the store hold as well, here and below. */
  maxFileBytes?: number | undefined;
  /** The most files in the whole store with which the model can create another. */
  maxFiles?: number | undefined;
  /** The most bytes of text in the whole store up to which the model can add some. */
  maxStoreBytes?: number | undefined;
  maxViewCharacters?: number | undefined;
  maxRangeCharacters?: number | undefined;
  maxListingEntries?: number | undefined;
}

/** Claude's memory tool (`memory_20250818`) on a store. Calls may run in parallel; no change is lost. */
export class MemoryTool {
  readonly #tool: native.NativeTool;

  /** @internal */
  constructor(store: native.NativeStore, options: MemoryToolOptions) {
    const given: native.ToolOptions = {
      readOnly: optional(flag, options.readOnly, 'readOnly'),
      subtree: optional(text, options.subtree, 'subtree'),
      createOverwrites: optional(flag, options.createOverwrites, 'createOverwrites'),
      actor: optional(text, options.actor, 'actor'),
      screen: optional(text, options.screen, 'screen') as 'redact' | 'refuse' | undefined,
      lockedHint: optional(text, options.lockedHint, 'lockedHint'),
      deleteForgets: optional(flag, options.deleteForgets, 'deleteForgets'),
      maxFileBytes: optional(count, options.maxFileBytes, 'maxFileBytes'),
      maxFiles: optional(count, options.maxFiles, 'maxFiles'),
      maxStoreBytes: optional(count, options.maxStoreBytes, 'maxStoreBytes'),
      maxViewCharacters: optional(count, options.maxViewCharacters, 'maxViewCharacters'),
      maxRangeCharacters: optional(count, options.maxRangeCharacters, 'maxRangeCharacters'),
      maxListingEntries: optional(count, options.maxListingEntries, 'maxListingEntries'),
    };
    known(options, Object.keys(given));
    made(store, native.NativeStore, 'Store.memoryTool');
    this.#tool = runNow(() => store.memoryTool(given));
    keepInThread(this);
  }

  /**
   * Runs a call: the `input` of a `tool_use` block or the whole block, as an object or as JSON.
   *
   * A mistake of the model or a failing store is no exception: the result always has a text for the model.
   */
  async call(call: object | string | Uint8Array): Promise<ToolResult> {
    return result(await run(() => this.#tool.call(json(call))));
  }

  /**
   * Deletes everything in the tool's memory, hidden files included. Each entry is one atomic step; the whole is not. Earlier
   * versions stay in the history, if that is on and the tool does not forget them.
   *
   * A failing store is no exception, as for `call`. If an entry cannot be deleted, the result says why, and the entries before
   * it are gone.
   */
  async clear(): Promise<ToolResult> {
    return result(await run(() => this.#tool.clear()));
  }
}

type Reply = Awaited<ReturnType<native.NativeTool['call']>>;

function result(reply: Reply): ToolResult {
  const storeError = reply.storeError === undefined ? null : (exception(reply.storeError) as StoreError);
  return new ToolResult(reply.content, reply.isError, reply.toolUseId ?? null, storeError);
}

function json(call: unknown): string | Uint8Array {
  if (call instanceof Uint8Array) return call;
  // A lone surrogate has no encoding in UTF-8, but an escape in JSON. That is how JSON.stringify writes it too.
  if (typeof call === 'string') return call.replace(/\p{Surrogate}/gu, escape);
  if (typeof call !== 'object' || call === null) throw new TypeError('a call is an object, or JSON as a string or Buffer');
  return JSON.stringify(call);
}

function escape(surrogate: string): string {
  return `\\u${surrogate.charCodeAt(0).toString(16)}`;
}
