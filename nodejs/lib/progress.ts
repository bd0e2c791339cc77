/** The option `progress` of long calls. */

import { run } from './errors.js';
import { NativeProgress } from './native.js';

export interface WithProgress {
  /**
   * Gets a count while the call runs, about ten times a second, and at its end. If it throws, the call goes on, and then rejects
   * with what it threw first.
   */
  progress?: ((records: number) => void) | undefined;
}

/** Runs a call that reports its progress. */
export async function counted<T>(options: WithProgress, call: (counter?: NativeProgress) => Promise<T>): Promise<T> {
  const { progress } = options;
  if (progress === undefined || progress === null) return run(() => call());
  if (typeof progress !== 'function') throw new TypeError('progress must be a function');
  const counter = new NativeProgress();
  const thrown: unknown[] = [];
  let last = 0;
  const report = (): void => {
    const { count } = counter;
    if (count === last || thrown.length > 0) return;
    last = count;
    try {
      progress(count);
    } catch (error) {
      thrown.push(error);
    }
  };
  const timer = setInterval(report, 100);
  try {
    const value = await run(() => call(counter));
    report();
    if (thrown.length > 0) throw thrown[0];
    return value;
  } finally {
    clearInterval(timer);
  }
}
