// Measures what calls cost the event loop: the delay of the loop with and without calls, in one run.
//
//   node scripts/event-loop.mjs [SECONDS]
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';

import { Store } from 'inmost';

const seconds = Number(process.argv[2] ?? 5);
const folder = mkdtempSync(join(tmpdir(), 'inmost-loop'));
const store = await Store.create(join(folder, 'store'), { rawKey: randomBytes(32) });
try {
  const tool = store.memoryTool();
  await store.files.write('/memories/notes', 'x'.repeat(63).concat('\n').repeat(32));
  const view = { command: 'view', path: '/memories/notes' };
  const insert = { command: 'insert', path: '/memories/log', insert_line: 0, insert_text: 'x\n' };
  await store.files.write('/memories/log', '');
  const loads = { 'no calls': undefined, 'views of 2 KiB': view, 'durable inserts': insert, 'no calls again': undefined };
  console.log('load             calls/s   p50 ms   p99 ms  p99.9 ms   max ms');
  for (const [name, call] of Object.entries(loads)) {
    let calls = 0;
    let running = true;
    const histogram = monitorEventLoopDelay({ resolution: 1 });
    const callers = Array.from({ length: call ? 8 : 0 }, async () => {
      while (running) {
        await tool.call(call);
        calls += 1;
      }
    });
    histogram.enable();
    await setTimeout(seconds * 1000);
    histogram.disable();
    running = false;
    await Promise.all(callers);
    const milliseconds = [50, 99, 99.9, 100].map((percentile) => (histogram.percentile(percentile) / 1e6).toFixed(2).padStart(8));
    console.log(`${name.padEnd(16)} ${String(Math.round(calls / seconds)).padStart(7)} ${milliseconds.join(' ')}`);
  }
} finally {
  await store.close();
  rmSync(folder, { recursive: true });
}
