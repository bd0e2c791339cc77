import { keepInThread, known, location, made, text } from './arguments.js';
import { run } from './errors.js';
import { NativeStore } from './native.js';
import { counted, type WithProgress } from './progress.js';
import { SyncReport, syncStatus, type SyncStatus } from './records.js';

/**
 * A store's part in a circle of devices. They exchange sealed objects in a place that nobody has to trust.
 *
 * A place is a folder that exists, and that a sync program, a network drive or a stick carries between the devices; not the folder
 * of the store. `docs/SYNC.md` says what is promised. Calls on one store wait for each other. They reject with a `SyncError`, whose
 * `code` is `NoFolder` for a store in memory or in a database, or with the error of the store or of a file.
 */
export class Sync {
  readonly #store: NativeStore;

  /** @internal */
  constructor(store: NativeStore) {
    this.#store = made(store, NativeStore, 'Store.open');
    keepInThread(this);
  }

  /** Begins a circle in an empty place. `name` is that of this device: 1 to 32 letters, digits, spaces, `-`, `_` and `.`. */
  async init(place: string | URL, name: string): Promise<void> {
    const at = location(place, 'place');
    return run(() => this.#store.syncInit(at, text(name, 'name')));
  }

  /** Joins the circle of an invitation. Files that the store already has become files of the circle. */
  async join(place: string | URL, invitation: string, name: string): Promise<void> {
    const at = location(place, 'place');
    return run(() => this.#store.syncJoin(at, text(invitation, 'invitation'), text(name, 'name')));
  }

  /** Goes on in a new, empty place with a new key, without the devices of these names. `run` once before and once after it. */
  async remove(names: readonly string[], to: string | URL): Promise<void> {
    if (!Array.isArray(names)) throw new TypeError('names must be an array');
    const removed = names.map((name) => text(name, 'names'));
    const at = location(to, 'to');
    return run(() => this.#store.syncRemove(removed, at));
  }

  /** Follows the other devices into the place that they have gone on in, with its new invitation. */
  async follow(place: string | URL, invitation: string): Promise<void> {
    const at = location(place, 'place');
    return run(() => this.#store.syncFollow(at, text(invitation, 'invitation')));
  }

  /** The invitation for another device: a secret. With it and the place, anyone reads and changes everything. */
  async invitation(): Promise<string> {
    return run(() => this.#store.syncInvitation());
  }

  /**
   * Sends what has changed, reads what the others have sent, and shows both, once.
   *
   * An error loses nothing, and the next run goes on. `progress` gets the number of objects read.
   */
  async run(options: WithProgress = {}): Promise<SyncReport> {
    known(options, ['progress']);
    return new SyncReport(await counted(options, (counter) => this.#store.syncRun(counter)));
  }

  /** The other devices, and what waits. */
  async status(): Promise<SyncStatus> {
    return syncStatus(await run(() => this.#store.syncStatus()));
  }

  /** Leaves the circle. The files stay, here and on the other devices. `run` before it, so that they get all changes. */
  async leave(): Promise<void> {
    return run(() => this.#store.syncLeave());
  }
}
