// An agent that keeps its memory in an encrypted store, with the tool runner of @anthropic-ai/sdk.
//
//   inmost init --store claude.inmost
//   ANTHROPIC_API_KEY=... INMOST_STORE=claude.inmost INMOST_PASSPHRASE=... node agent.mjs "Remember that I prefer tea."
import Anthropic from '@anthropic-ai/sdk';
import { Store } from 'inmost';
import { memoryTool } from 'inmost/anthropic';

const { INMOST_STORE, INMOST_PASSPHRASE, ANTHROPIC_MODEL = 'claude-sonnet-5-5' } = process.env;
const store = await Store.open(INMOST_STORE, { passphrase: INMOST_PASSPHRASE });
try {
  const client = new Anthropic();
  const message = await client.beta.messages.toolRunner({
    model: ANTHROPIC_MODEL,
    max_tokens: 2048,
    messages: [{ role: 'user', content: process.argv[2] ?? 'What do you remember?' }],
    tools: [memoryTool(store.memoryTool({ screen: 'redact' }))],
  });
  for (const block of message.content) if (block.type === 'text') console.log(block.text);
} finally {
  await store.close();
}
