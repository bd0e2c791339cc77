// Compiled, not run: how TypeScript sees the package from a module that is required.
import inmost = require('inmost');
import adapter = require('inmost/anthropic');

export async function tool(store: inmost.Store): Promise<string> {
  const { name } = adapter.memoryTool(store);
  const result: inmost.ToolResult = await store.memoryTool().call('{}');
  return name + result.content + inmost.generateKeyfile().toString('hex');
}
