// A thread that holds a store and does what it is told.
import { parentPort, workerData } from 'node:worker_threads';

import { Store } from 'inmost';

const store = await Store.open(workerData.path, { rawKey: workerData.rawKey });
parentPort.postMessage('open');
parentPort.on('message', async ({ write, close }) => {
  if (write) {
    await store.files.write(...write);
    parentPort.postMessage('written');
  }
  if (close) {
    await store.close();
    parentPort.close();
  }
});
