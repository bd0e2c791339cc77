// The memory tool in LangChain.
//
//   inmost init --store claude.inmost
//   ANTHROPIC_API_KEY=... INMOST_STORE=claude.inmost INMOST_PASSPHRASE=... node langchain.mjs "Remember that I prefer tea."
import { ChatAnthropic } from '@langchain/anthropic';
import { Store } from 'inmost';
import { memoryTool } from 'inmost/langchain';
import { createAgent } from 'langchain';

const { INMOST_STORE, INMOST_PASSPHRASE, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL = 'claude-sonnet-5-5' } = process.env;
const store = await Store.open(INMOST_STORE, { passphrase: INMOST_PASSPHRASE });
try {
  const model = new ChatAnthropic({ model: ANTHROPIC_MODEL, anthropicApiUrl: ANTHROPIC_BASE_URL });
  const agent = createAgent({ model, tools: [memoryTool(store.memoryTool({ screen: 'redact' }))] });
  const content = process.argv[2] ?? 'What do you remember?';
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] });
  console.log(messages.at(-1).text);
} finally {
  await store.close();
}
