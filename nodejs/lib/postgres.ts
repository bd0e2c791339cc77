import { count, keepInThread, known, made, optional, secret, text } from './arguments.js';
import { run, runNow } from './errors.js';
import { NativePostgres, NativeVault } from './native.js';

export interface PostgresOptions {
  /** The most connections at once, for all vaults; 8 by default. */
  size?: number | undefined;
  /**
   * The password of the role. Without it, it comes from `PGPASSWORD`, else from the file that `PGPASSFILE` names, else from
   * `~/.pgpass`.
   */
  password?: string | Uint8Array | undefined;
}

/**
 * A PostgreSQL database with vaults, and the pool of connections to it, which all its stores share. Make one in each process.
 * Connects when a store is first used. `inmost postgres-schema` prints the tables.
 */
export class Postgres {
  readonly #database: NativePostgres;

  /** `url` is `postgres://USER@HOST/DATABASE`. An invalid one is a `TypeError`. */
  constructor(url: string, options: PostgresOptions = {}) {
    known(options, ['size', 'password']);
    const size = optional(count, options.size, 'size');
    const password = optional(secret, options.password, 'password');
    this.#database = runNow(() => new NativePostgres(text(url, 'url'), size, password));
    keepInThread(this);
  }

  /** The vault with this id, 32 hexadecimal digits; one with a new random id if none is given. Asks no server. */
  vault(id?: string): Vault {
    return new Vault(runNow(() => this.#database.vault(optional(text, id, 'id'))));
  }
}

/** The place of one store in a database: what `Store.create` and `Store.open` take. `Postgres.vault` makes it. */
export class Vault {
  /** 32 hexadecimal digits. Keep it with the user's account. It is no secret; the server sees it. */
  readonly id: string;
  readonly #vault: NativeVault;

  /** @internal */
  constructor(vault: NativeVault) {
    this.#vault = made(vault, NativeVault, 'Postgres.vault');
    this.id = vault.id;
    keepInThread(this);
  }

  /** @internal */
  static native(vault: Vault): NativeVault {
    return vault.#vault;
  }

  /**
   * Destroys the store. Needs no passphrase. The server keeps deleted rows until it vacuums them, and longer in its
   * write-ahead log and its backups.
   */
  async destroy(): Promise<void> {
    return run(() => this.#vault.destroy());
  }
}
