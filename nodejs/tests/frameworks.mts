// Compiled, not run: how TypeScript sees the adapters for frameworks from a module that is imported.
import type { ChatAnthropic } from '@langchain/anthropic';
import { generateText, type LanguageModel } from 'ai';
import { CompositeBackend, createDeepAgent, StateBackend, type BackendProtocolV2 } from 'deepagents';
import { Store, type StoreError } from 'inmost';
import * as aiSdk from 'inmost/ai-sdk';
import { InmostBackend } from 'inmost/deepagents';
import * as langchain from 'inmost/langchain';
import { createAgent } from 'langchain';

const options = { onStoreError: (error: StoreError) => error.code };

export async function loop(model: LanguageModel, store: Store): Promise<string[]> {
  const memory = { ...aiSdk.memoryTool(store, options), needsApproval: true };
  const { steps } = await generateText({ model, tools: { memory, other: aiSdk.memoryTool(store.memoryTool()) }, prompt: 'p' });
  // @ts-expect-error a store or its memory tool
  aiSdk.memoryTool(store.files);
  // @ts-expect-error a function
  aiSdk.memoryTool(store, { onStoreError: 'warn' });
  return steps.flatMap((step) => step.toolResults.map((result): string => (result.dynamic ? '' : result.output)));
}

export async function agent(model: ChatAnthropic, store: Store): Promise<string[]> {
  const tools = [langchain.memoryTool(store, options), langchain.memoryTool(store.memoryTool())];
  const { messages } = await createAgent({ model, tools }).invoke({ messages: [] });
  // @ts-expect-error a store or its memory tool
  langchain.memoryTool(store.files);
  // @ts-expect-error a function
  langchain.memoryTool(store, { onStoreError: 'warn' });
  return messages.map((message): string => message.text);
}

export async function deepAgent(model: ChatAnthropic, store: Store): Promise<number> {
  const backend: BackendProtocolV2 = new InmostBackend(store, { ...options, readOnly: true, subtree: '/memories/x' });
  // @ts-expect-error a store
  new InmostBackend(store.memoryTool());
  // @ts-expect-error an option
  new InmostBackend(store, { readonly: true });
  const files = new CompositeBackend(new StateBackend(), { '/memories/': backend });
  return (await createDeepAgent({ model, backend: files }).invoke({ messages: [] })).messages.length;
}
