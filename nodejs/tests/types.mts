// Compiled, not run: how TypeScript sees the package from a module that is imported.
import Anthropic from '@anthropic-ai/sdk';
import Newest from 'anthropic-sdk-newest';
import { FileError, InmostError, Store, StoreError, TOOL_DEFINITION, type ErrorCode, type Precondition } from 'inmost';
import { memoryTool } from 'inmost/anthropic';

export async function runner(client: Anthropic | Newest, path: URL): Promise<string> {
  await using store = await Store.connect(path);
  const tools = [memoryTool(store), memoryTool(store.memoryTool({ readOnly: true }), { onStoreError: (error: StoreError) => error.code })];
  const message = await client.beta.messages.toolRunner({ model: 'm', max_tokens: 1, messages: [], tools });
  return message.id;
}

export async function credentials(): Promise<void> {
  await Store.open('p', { passphrase: 'a', keyfile: new URL('file:///k') });
  await Store.open('p', { recoveryKey: 'a', anchor: 'b' });
  await Store.create('p', { rawKey: new Uint8Array(32), historyMs: 1 });
  // @ts-expect-error a raw key is bytes
  await Store.open('p', { rawKey: 'a' });
  // @ts-expect-error one credential
  await Store.open('p', { rawKey: new Uint8Array(32), passphrase: 'a' });
  // @ts-expect-error a credential
  await Store.open('p', {});
  // @ts-expect-error only `create` and its like
  new Store();
}

export async function values(store: Store): Promise<void> {
  const text: string = await store.files.read('/memories/a');
  const condition: Precondition = await store.files.version('/memories/a');
  await store.files.writeIf('/memories/a', text, condition);
  for await (const { path, depth, metadata } of store.files.walk()) ((_: [string, number, Date | null]) => {})([path, depth, metadata.modified]);
  for await (const found of store.files.search({ regex: 'a' }, { path: '/memories' })) found.ranges.map(([start, end]) => end - start);
  for await (const version of store.history.log({ kind: 'created', since: new Date() })) version.oldPath?.length;
  const { content, isError }: { content: string; isError: boolean } = await store.memoryTool().call({ command: 'view' });
  const { copies, members }: { copies: readonly string[]; members: readonly { time: Date | null }[] } = { ...(await store.sync.run()), ...(await store.sync.status()) };
  copies.concat(members.map(({ time }) => `${time?.getTime()}`));
  // @ts-expect-error a name is missing
  await store.sync.init('p');
  // @ts-expect-error a kind that does not exist
  store.history.log({ kind: 'invented' });
  // @ts-expect-error a promise
  content.then(isError);
}

export async function anyLoop(client: Anthropic, store: Store): Promise<void> {
  const parameters = { model: 'm', max_tokens: 1, tools: [TOOL_DEFINITION] };
  const reply = await client.messages.create({ ...parameters, messages: [{ role: 'user', content: 'a' }] });
  for (const block of reply.content) {
    if (block.type !== 'tool_use') continue;
    const result = (await store.memoryTool().call(block)).toBlock();
    await client.messages.create({ ...parameters, messages: [{ role: 'user', content: [result] }] });
    await client.beta.messages.create({ ...parameters, messages: [{ role: 'user', content: [result] }] });
  }
}

export async function newestLoop(client: Newest, store: Store): Promise<void> {
  const parameters = { model: 'm', max_tokens: 1, tools: [TOOL_DEFINITION] };
  const content = [(await store.memoryTool().call({})).toBlock()];
  await client.messages.create({ ...parameters, messages: [{ role: 'user', content }] });
  await client.beta.messages.create({ ...parameters, messages: [{ role: 'user', content }] });
}

export function errors(error: unknown): ErrorCode | undefined {
  if (error instanceof FileError && error.code === 'Changed') return (error.current?.sha256, error.code);
  // @ts-expect-error a fact about a store
  if (error instanceof FileError && error.code === 'Locked') return;
  return error instanceof InmostError ? error.code : undefined;
}
