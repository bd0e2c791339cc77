/** The part that the adapters for frameworks share: they run a model's calls and report a failing store. */

import type { StoreError } from './errors.js';
import type { ToolResult } from './records.js';
import { Store } from './store.js';
import type { MemoryTool } from './tool.js';

/** Options of an adapter. */
export interface AdapterOptions {
  /** Gets the error if the store fails. The model reads only that its memory is not available. Warns by default. */
  onStoreError?: ((error: StoreError) => void) | undefined;
}

/** A function that runs the `input` of a `tool_use` block, as the framework parsed it. */
export function runner(memory: Store | MemoryTool, options: AdapterOptions): (input: unknown) => Promise<ToolResult> {
  const tool = memory instanceof Store ? memory.memoryTool() : memory;
  const onStoreError = options.onStoreError ?? warn;
  return async (input) => {
    // A string is not taken for the JSON of a call.
    const isObject = typeof input === 'object' && input !== null;
    const result = await tool.call(isObject ? input : (JSON.stringify(input) ?? 'null'));
    if (result.storeError !== null) onStoreError(result.storeError);
    return result;
  };
}

/** No message of a store error contains a path or a text of the memory. */
export function warn(error: StoreError): void {
  process.emitWarning(error.message, { type: 'InmostWarning', code: error.code });
}
