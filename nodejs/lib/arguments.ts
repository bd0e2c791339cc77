/** Checks of arguments. The messages name the argument and never show its value, which may be a text of the memory. */

import { fileURLToPath } from 'node:url';
import { inspect, type InspectOptions } from 'node:util';
import * as workers from 'node:worker_threads';

/** A string that has a UTF-8 encoding. A lone surrogate has none, and would silently become another character. */
export function text(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`);
  if (!value.isWellFormed()) throw new TypeError(`${name} contains a lone surrogate, which is not valid Unicode`);
  return value;
}

/** A whole number from 0 on, as far as JavaScript counts exactly. */
export function count(value: unknown, name: string): number {
  if (typeof value !== 'number') throw new TypeError(`${name} must be a number`);
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} must be a whole number from 0 on`);
  return value;
}

/** A time in milliseconds. */
export function time(value: unknown, name: string): number {
  if (!(value instanceof Date)) throw new TypeError(`${name} must be a Date`);
  const milliseconds = value.getTime();
  if (Number.isNaN(milliseconds)) throw new RangeError(`${name} is not a valid time`);
  return milliseconds;
}

export function flag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be true or false`);
  return value;
}

/** A path of the host. */
export function hostPath(value: unknown, name: string): string {
  return value instanceof URL ? fileURLToPath(value) : text(value, name);
}

/** A path of the host, or the URL of something that is not a file. */
export function location(value: unknown, name: string): string {
  return value instanceof URL && value.protocol !== 'file:' ? value.href : hostPath(value, name);
}

/** A text or bytes. */
export function secret(value: unknown, name: string): string | Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string or a Buffer`);
  return text(value, name);
}

export function bytes(value: unknown, name: string): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new TypeError(`${name} must be a Buffer`);
  return value;
}

/** Checks an argument that may be absent. */
export function optional<T>(
  check: (value: unknown, name: string) => T,
  value: unknown,
  name: string,
): T | undefined {
  return value === undefined || value === null ? undefined : check(value, name);
}

/** Checks that an object of options has no others than these, so that a misspelt one is noticed. */
export function known(options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) throw new TypeError('options must be an object');
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw new TypeError(`${name} is not an option here; the options are ${names.join(', ')}`);
  }
}

/** What the native half has made. A class that is constructed without it would be a dead object. */
export function made<T extends object>(value: T, kind: new (...never: never[]) => T, maker: string): T {
  if (!(value instanceof kind)) throw new TypeError(`this class has no public constructor; use ${maker}`);
  return value;
}

/**
 * Makes it an error to send an object to another thread. Otherwise an empty object would arrive there.
 * Node.js before 22.10 has no function for that, but refuses to send a function.
 */
export function keepInThread(object: object): void {
  const mark: unknown = Reflect.get(workers, 'markAsUncloneable');
  if (typeof mark === 'function') {
    mark(object);
  } else {
    const cannotBeSentToAnotherThread = (): void => {};
    Object.defineProperty(object, 'cannotBeSentToAnotherThread', {
      value: cannotBeSentToAnotherThread,
      enumerable: true,
    });
    const shown = Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'cannotBeSentToAnotherThread'));
    Object.defineProperty(object, inspect.custom, {
      value: (_depth: number, options: InspectOptions) => `${object.constructor.name} ${inspect(shown, options)}`,
    });
  }
}
