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

import { Store, type MemoryTool, type StoreError } from './index.js';

/** Options of the adapter. */
export interface AdapterOptions {
  /** Gets the error if the store fails. The model reads only that its memory is not available. Warns by default. */
  onStoreError?: ((error: StoreError) => void) | undefined;
  /** Properties of the tool's definition, such as `cache_control`. */
  definition?: Parameters<typeof betaMemoryTool>[1];
}

/** The memory tool on an encrypted store, for `tools`. For options of the tool, pass `store.memoryTool({ ... })`. */
export function memoryTool(memory: Store | MemoryTool, options: AdapterOptions = {}): ReturnType<typeof betaMemoryTool> {
  const tool = memory instanceof Store ? memory.memoryTool() : memory;
  const onStoreError = options.onStoreError ?? warn;
  const run = async (input: unknown): Promise<string> => {
    // The input as the model sent it, so that an unknown command gets the tool's own error. A string is not taken for JSON.
    const isObject = typeof input === 'object' && input !== null;
    const result = await tool.call(isObject ? input : (JSON.stringify(input) ?? 'null'));
    if (result.storeError !== null) onStoreError(result.storeError);
    if (result.isError) throw new ToolError(result.content);
    return result.content;
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

/** No message of a store error contains a path or a text of the memory. */
function warn(error: StoreError): void {
  process.emitWarning(error.message, { type: 'InmostWarning', code: error.code });
}
