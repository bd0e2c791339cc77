/**
 * The memory tool for `toolRunner` of the package `@anthropic-ai/sdk`.
 *
 * ```ts
 * import Anthropic from '@anthropic-ai/sdk';
 * import { Store } from 'inmost';
 * import { memoryTool } from 'inmost/anthropic';
 *
 * const store = await Store.open('claude.inmost', { passphrase });
 * try {
 *   const client = new Anthropic();
 *   const tools = [memoryTool(store)];
 *   const message = await client.beta.messages.toolRunner({ model, max_tokens, messages, tools });
 * } finally {
 *   await store.close();
 * }
 * ```
 *
 * The SDK can record traces with OpenTelemetry. If they include content, it copies the arguments and the results of tool
 * calls into its spans, and so the memory into the place where traces are kept.
 */

import { betaMemoryTool, type MemoryToolHandlers } from '@anthropic-ai/sdk/helpers/beta/memory';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';

import * as calls from './calls.js';
import type { MemoryTool, Store } from './index.js';

/** Options of the adapter. */
export interface AdapterOptions extends calls.AdapterOptions {
  /** Properties of the tool's definition, such as `cache_control`. */
  definition?: Parameters<typeof betaMemoryTool>[1];
  /**
   * The class `ToolError` of the SDK, from `@anthropic-ai/sdk/lib/tools/ToolError`. Needed only where this package finds another
   * copy of the SDK than the program, as in a monorepo with two versions: the runner knows its own class only, and writes
   * `Error: ` before a mistake whose text does not begin so.
   */
  ToolError?: new (content: string) => Error;
}

/** The memory tool on an encrypted store, for `tools`. For options of the tool, pass `store.memoryTool({ ... })`. */
export function memoryTool(memory: Store | MemoryTool, options: AdapterOptions = {}): ReturnType<typeof betaMemoryTool> {
  const call = calls.runner(memory, options);
  const Failure = options.ToolError ?? ToolError;
  // The input as the model sent it, so that an unknown command gets the tool's own error.
  const run = async (input: unknown): Promise<string> => {
    const { content, isError } = await call(input);
    if (!isError) return content;
    const failure = new Failure(content);
    // A runner that does not know the class writes `Error: ` before the message.
    failure.message = content.replace(/^Error: /, '');
    throw failure;
  };
  const handlers: MemoryToolHandlers = {
    view: run,
    create: run,
    str_replace: run,
    insert: run,
    delete: run,
    rename: run,
  };
  return { ...betaMemoryTool(handlers, options.definition), run };
}
