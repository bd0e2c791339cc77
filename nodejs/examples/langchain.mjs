// The memory tool in LangChain: @langchain/anthropic has the tool, and a function runs its calls.
//
//   inmost init claude.inmost
//   ANTHROPIC_API_KEY=... INMOST_STORE=claude.inmost INMOST_PASSPHRASE=... node langchain.mjs "Remember that I prefer tea."
import { ChatAnthropic, tools } from '@langchain/anthropic';
import { Store } from 'inmost';
import { createAgent } from 'langchain';

const { INMOST_STORE, INMOST_PASSPHRASE, ANTHROPIC_BASE_URL, ANTHROPIC_MODEL = 'claude-sonnet-5-5' } = process.env;
const store = await Store.open(INMOST_STORE, { passphrase: INMOST_PASSPHRASE });
try {
  const tool = store.memoryTool({ screen: 'redact' });
  const memory = tools.memory_20250818({
    execute: async (action) => {
      const { content, storeError } = await tool.call(action);
      if (storeError !== null) console.error(storeError.message);
      // The text of a mistake begins with `Error: ` or says what went wrong, so that the model can go on.
      return content;
    },
  });
  const model = new ChatAnthropic({ model: ANTHROPIC_MODEL, anthropicApiUrl: ANTHROPIC_BASE_URL });
  const agent = createAgent({ model, tools: [memory] });
  const content = process.argv[2] ?? 'What do you remember?';
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content }] });
  console.log(messages.at(-1).text);
} finally {
  await store.close();
}
