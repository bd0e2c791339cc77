/**
 * The memory tool for the AI SDK of Vercel, with the models of `@ai-sdk/anthropic`.
 *
 * ```ts
 * import { anthropic } from '@ai-sdk/anthropic';
 * import { generateText, stepCountIs } from 'ai';
 * import { Store } from 'inmost';
 * import { memoryTool } from 'inmost/ai-sdk';
 *
 * const store = await Store.open('claude.inmost', { passphrase });
 * try {
 *   const tools = { memory: memoryTool(store) };
 *   const { text } = await generateText({ model: anthropic(name), tools, stopWhen: stepCountIs(50), prompt });
 * } finally {
 *   await store.close();
 * }
 * ```
 *
 * The tool is the same for each instance of the provider: `anthropic`, and what `createAnthropic` returns.
 *
 * The AI SDK can record traces with OpenTelemetry. It copies the arguments and the results of tool calls into its spans, and
 * so the memory into the place where traces are kept. Without `recordInputs` and `recordOutputs` it leaves them out, but not
 * the texts of failed calls, which can contain a path or a part of a file.
 */

import { jsonSchema, type Tool } from 'ai';

import { runner, type AdapterOptions } from './calls.js';
import type { MemoryTool, Store } from './index.js';

export type { AdapterOptions };

/** The memory tool on an encrypted store, for `tools`. For options of the tool, pass `store.memoryTool({ ... })`. */
export function memoryTool(memory: Store | MemoryTool, options: AdapterOptions = {}): Tool<object, string> {
  const call = runner(memory, options);
  const execute = async (input: unknown): Promise<string> => {
    const { content, isError } = await call(input);
    // The AI SDK sends an exception as a result that is marked as an error, and the loop goes on.
    if (isError) throw new ToolError(content);
    return content;
  };
  return { ...DEFINITION, inputSchema: jsonSchema<object>({ type: 'object' }), execute };
}

// As `anthropic.tools.memory_20250818` makes it, but without its schema, which refuses what the memory tool accepts: a
// `str_replace` without `new_str`, for example. Version 7 of the AI SDK reads `isProviderExecuted`.
const DEFINITION = { type: 'provider', id: 'anthropic.memory_20250818', args: {}, isProviderExecuted: false } as const;

/** Version 6 of the AI SDK sends the message of an error, and version 7 the text, which has the name before it by default. */
class ToolError extends Error {
  override readonly name = 'ToolError';

  override toString(): string {
    return this.message;
  }
}
