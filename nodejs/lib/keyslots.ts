import { count, keepInThread, made, optional, text } from './arguments.js';
import { run } from './errors.js';
import { NativeStore } from './native.js';
import { CREDENTIAL, parse, type Credential } from './options.js';
import { counted, type WithProgress } from './progress.js';
import { keyslot, type Keyslot } from './records.js';

export interface Labelled {
  /** At most 63 bytes; the kind of credential by default. */
  label?: string | undefined;
}

/** The keyslots of a store: up to eight credentials, each of which opens it. */
export class Keyslots {
  readonly #store: NativeStore;

  /** @internal */
  constructor(store: NativeStore) {
    this.#store = made(store, NativeStore, 'Store.open');
    keepInThread(this);
  }

  /** The keyslots in use, in the order of their numbers. */
  async list(): Promise<Keyslot[]> {
    return (await run(() => this.#store.slots())).map(keyslot);
  }

  /** Adds a keyslot for a credential. Returns its number. Rejects with `SlotsFull`, or `InMemory` for a store without keyslots. */
  async add(credential: Credential & Labelled): Promise<number> {
    const given = parse(credential, [...CREDENTIAL, 'label']);
    return run(() => this.#store.addSlot(given, optional(text, credential.label, 'label')));
  }

  /** Replaces the credential of a keyslot: this is how a passphrase is changed. Rejects with `NoSuchSlot`. */
  async replace(number: number, credential: Credential & Labelled): Promise<void> {
    const given = parse(credential, [...CREDENTIAL, 'label']);
    return run(() => this.#store.replaceSlot(count(number, 'number'), given, optional(text, credential.label, 'label')));
  }

  /**
   * Removes a keyslot. Rejects with `NoSuchSlot` and `LastSlot`.
   *
   * Someone who has the credential and an older copy of the store's header can still get the keys; `rotate` ends that.
   */
  async remove(number: number): Promise<void> {
    return run(() => this.#store.removeSlot(count(number, 'number')));
  }

  /**
   * Replaces every key of the store, for when one may have leaked, and rewrites the store like `Store.compact`.
   *
   * The credential must already open the store, and is kept. All other keyslots are dropped and returned, so that they can be
   * added again. Rejects with `WrongPassphrase` and `WrongKey`.
   */
  async rotate(credential: Credential & WithProgress): Promise<Keyslot[]> {
    const given = parse(credential, [...CREDENTIAL, 'progress']);
    return (await counted(credential, (counter) => this.#store.rotate(given, counter))).map(keyslot);
  }
}
