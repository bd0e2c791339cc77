// The memory tool in the AI SDK of Vercel.
//
//   inmost init --store claude.inmost
//   ANTHROPIC_API_KEY=... INMOST_STORE=claude.inmost INMOST_PASSPHRASE=... node ai-sdk.mjs "Remember that I prefer tea."
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, stepCountIs } from 'ai';
import { Store } from 'inmost';
import { memoryTool } from 'inmost/ai-sdk';

const { ANTHROPIC_BASE_URL = 'https://api.anthropic.com', ANTHROPIC_MODEL = 'claude-sonnet-5-5' } = process.env;
const { INMOST_STORE, INMOST_PASSPHRASE } = process.env;
const store = await Store.open(INMOST_STORE, { passphrase: INMOST_PASSPHRASE });
try {
  const anthropic = createAnthropic({ baseURL: `${ANTHROPIC_BASE_URL}/v1` });
  const { text } = await generateText({
    model: anthropic(ANTHROPIC_MODEL),
    tools: { memory: memoryTool(store.memoryTool({ screen: 'redact' })) },
    stopWhen: stepCountIs(50),
    prompt: process.argv[2] ?? 'What do you remember?',
  });
  console.log(text);
} finally {
  await store.close();
}
