// A long conversation: the API clears old tool results from the context, and summarises what is left when it is still too
// long. What matters is in the memory by then. The memory's own calls are kept, so that the model knows what it has saved.
//
// The store is one that `inmost unlock` holds, so the program needs no passphrase.
import Anthropic from '@anthropic-ai/sdk';
import { Store } from 'inmost';
import { memoryTool } from 'inmost/anthropic';

const { INMOST_STORE, ANTHROPIC_MODEL = 'claude-sonnet-5-5' } = process.env;
const store = await Store.connect(INMOST_STORE, { actor: 'context-editing' });
try {
  const client = new Anthropic();
  const runner = client.beta.messages.toolRunner({
    model: ANTHROPIC_MODEL,
    max_tokens: 2048,
    betas: ['context-management-2025-06-27', 'compact-2026-01-12'],
    context_management: {
      edits: [
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 30_000 },
          keep: { type: 'tool_uses', value: 3 },
          exclude_tools: ['memory'],
        },
        { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 100_000 } },
      ],
    },
    messages: [{ role: 'user', content: process.argv[2] ?? 'Go on with your plan.' }],
    tools: [memoryTool(store)],
  });
  for await (const message of runner) {
    for (const edit of message.context_management?.applied_edits ?? []) console.log(`applied: ${edit.type}`);
    for (const block of message.content) if (block.type === 'text') console.log(block.text);
  }
} finally {
  await store.close();
}
