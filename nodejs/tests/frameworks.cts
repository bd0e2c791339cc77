// Compiled, not run: how TypeScript sees the adapters for frameworks from a module that is required.
import ai = require('ai');
import inmost = require('inmost');
import aiSdk = require('inmost/ai-sdk');
import langchain = require('inmost/langchain');

export function tools(store: inmost.Store): [ai.ToolSet, string] {
  // @ts-expect-error a store or its memory tool
  aiSdk.memoryTool(store.files);
  return [{ memory: aiSdk.memoryTool(store) }, langchain.memoryTool(store).name];
}
