/**
 * The memory tool for LangChain agents on `ChatAnthropic`.
 *
 * ```ts
 * import { ChatAnthropic } from '@langchain/anthropic';
 * import { Store } from 'inmost';
 * import { memoryTool } from 'inmost/langchain';
 * import { createAgent } from 'langchain';
 *
 * const store = await Store.open('claude.inmost', { passphrase });
 * try {
 *   const agent = createAgent({ model: new ChatAnthropic({ model }), tools: [memoryTool(store)] });
 *   await agent.invoke({ messages: [{ role: 'user', content: 'Plan the garden with me.' }] });
 * } finally {
 *   await store.close();
 * }
 * ```
 *
 * LangChain's tracing copies the arguments and the results of tool calls, and so the memory, to the place where traces are kept.
 */

import { ToolMessage } from '@langchain/core/messages';
import { tool, type DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools';

import { runner, type AdapterOptions } from './calls.js';
import type { MemoryTool, Store } from './index.js';

export type { AdapterOptions };

/** The memory tool on an encrypted store, for `tools`. For options of the tool, pass `store.memoryTool({ ... })`. */
export function memoryTool(memory: Store | MemoryTool, options: AdapterOptions = {}): DynamicStructuredTool {
  const call = runner(memory, options);
  const run = async (input: unknown, config: ToolRunnableConfig): Promise<string | ToolMessage> => {
    const { content, isError } = await call(input);
    const id = config.toolCall?.id;
    // After an exception, LangChain adds a request to the message, and with middleware it ends the agent.
    return isError && id !== undefined ? new ToolMessage({ content, name: NAME, status: 'error', tool_call_id: id }) : content;
  };
  // Not `tools.memory_20250818` of @langchain/anthropic: its schema drops the `view_range` of a view.
  return tool(run, {
    name: NAME,
    description: 'The memory of the agent: files below /memories.',
    // The model knows the tool; no schema is sent.
    schema: { type: 'object' },
    extras: { providerToolDefinition: { type: 'memory_20250818', name: NAME } },
  });
}

const NAME = 'memory';
