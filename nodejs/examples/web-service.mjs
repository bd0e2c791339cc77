// A web service that keeps the memory of each of its users in a vault of its own, in one PostgreSQL database. Any number of its
// processes can serve the same users.
//
//   export PGPASSWORD=...
//   node web-service.mjs setup postgres://inmost_app@db.example/memories accounts.json 20
//   node web-service.mjs serve postgres://inmost_app@db.example/memories accounts.json 127.0.0.1:8000 [WORKERS]
//
// `setup` makes the users `user-0`, `user-1` and so on, each with a vault, and writes the file of accounts. It stands for the
// service's own table of users: it holds the id and the key of each vault, so its place is not the database that holds the
// vaults. `serve` answers `POST /memory/USER` in one process or in WORKERS processes. The body is the `input` of a `tool_use`
// block; the reply is the `tool_result` block for the model, or the status 503 and a reason if the store failed.
import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

import express from 'express';
import { Postgres, Store, StoreError } from 'inmost';

const [command, url, accounts, last, workers] = process.argv.slice(2);

/** Makes the users. A raw key needs no key derivation, so a vault opens in a few round trips. */
async function setup(database, users) {
  const made = {};
  for (let number = 0; number < users; number += 1) {
    const [vault, rawKey] = [database.vault(), randomBytes(32)];
    await (await Store.create(vault, { rawKey })).close();
    made[`user-${number}`] = [vault.id, rawKey.toString('hex')];
  }
  writeFileSync(accounts, JSON.stringify(made), { mode: 0o600 });
}

/** A user's vault. It stays open: opening it costs some round trips to the database. */
class User {
  constructor(vault, rawKey) {
    Object.assign(this, { vault, rawKey, store: undefined, opening: undefined });
  }

  /** The open store. One that was locked, for example by a rotation of the keys elsewhere, is opened anew. */
  async open() {
    if (this.store !== undefined && !(await this.store.isLocked())) return this.store;
    // Requests that come meanwhile wait for the same store.
    this.opening ??= Store.open(this.vault, { rawKey: this.rawKey }).finally(() => (this.opening = undefined));
    return (this.store = await this.opening);
  }
}

function serve(database) {
  const app = express();
  const entries = Object.entries(JSON.parse(readFileSync(accounts, 'utf8')));
  const users = new Map(entries.map(([name, [id, key]]) => [name, new User(database.vault(id), Buffer.from(key, 'hex'))]));
  app.post('/memory/:name', express.json({ type: () => true, limit: '20mb' }), async (request, response) => {
    const user = users.get(request.params.name);
    if (user === undefined) return response.status(404).json({ error: 'there is no such user' });
    const result = await (await user.open()).memoryTool().call(request.body);
    if (result.storeError !== null) throw result.storeError;
    response.json({ type: 'tool_result', content: result.content, is_error: result.isError });
  });
  app.use((error, _request, response, _next) => {
    if (!(error instanceof StoreError)) return response.status(error.status ?? 500).json({ error: 'the request is not valid' });
    response.status(503).json({ error: error.code });
  });
  const [host, port] = last.split(':');
  const server = app.listen(Number(port), host, () => console.log(`listening on ${host}:${server.address().port}`));
}

// Each process has a pool of its own.
if (workers !== undefined && cluster.isPrimary) {
  for (let worker = 0; worker < Number(workers); worker += 1) cluster.fork();
  cluster.on('exit', () => cluster.fork());
} else {
  const database = new Postgres(url, { size: 16 });
  if (command === 'setup') await setup(database, Number(last));
  else serve(database);
}
