// Compiled, not run: how TypeScript sees the adapters for frameworks from a module that is required.
import ai = require('ai');
import type deepagents = require('deepagents');
import inmost = require('inmost');
import aiSdk = require('inmost/ai-sdk');
import deepFiles = require('inmost/deepagents');
import langchain = require('inmost/langchain');

export function tools(store: inmost.Store): [ai.ToolSet, string] {
  // @ts-expect-error a store or its memory tool
  aiSdk.memoryTool(store.files);
  return [{ memory: aiSdk.memoryTool(store) }, langchain.memoryTool(store).name];
}

export function files(store: inmost.Store): deepagents.BackendProtocolV2 {
  return new deepFiles.InmostBackend(store);
}
