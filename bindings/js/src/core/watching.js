// The watches of an endpoint in this process.
//
// What is next for a reader is decided by the engine when it reads on, from the newest rows and the
// last event that it has, so nothing is kept for it. Without an event it waits for a block.

import { compactStatus, isLast } from "./changes.js";
import { parseJson } from "./json.js";
import { onAbort } from "./on-abort.js";

/** @import { TransactionChange } from "../../index.js" */
/** @import { WatchRequest } from "./changes.js" */
/** @import { Driver } from "./driver.js" */

/**
 * A watch
 *
 * @typedef {object} Watch
 * @property {{ error: unknown } | undefined} failure Why it has ended
 * @property {(error: unknown) => void} reject Rejects what it waits for
 * @property {() => void} wake A block was imported
 */

export class Watches {
  #driver;
  /** @type {Set<Watch>} */
  #watches = new Set();
  /** Number of blocks that were imported */
  #blocks = 0;
  /** @type {{ error: unknown } | undefined} */
  #failure;

  /** @param {Driver} driver */
  constructor(driver) {
    this.#driver = driver;
  }

  /**
   * @param {WatchRequest} request
   * @returns {AsyncGenerator<TransactionChange, void, undefined>}
   */
  async *watch(request) {
    const { signal } = request;
    signal?.throwIfAborted();
    /** @type {Watch} */
    const watch = { failure: this.#failure, reject: () => {}, wake: () => {} };
    this.#watches.add(watch);
    const release = onAbort(signal, () => end(watch, signal?.reason));
    try {
      for (let lastId = ""; ; ) {
        const blocks = this.#blocks;
        const text = await until(watch, (resolve, reject) => {
          this.#driver.observe(request, lastId).then(resolve, reject);
        });
        if (text) {
          const { event, id, status } = /** @type {any} */ (parseJson(text, { bigint: true }));
          lastId = id;
          yield { event, id, status: compactStatus(status) };
          if (isLast(event)) return;
        } else if (blocks === this.#blocks) {
          await until(watch, (resolve) => (watch.wake = () => resolve("")));
        }
      }
    } finally {
      release();
      this.#watches.delete(watch);
    }
  }

  /** A block was imported */
  handleBlock() {
    this.#blocks += 1;
    for (const watch of this.#watches) watch.wake();
  }

  /**
   * Ends all watches, and every later one
   *
   * @param {unknown} error
   */
  fail(error) {
    this.#failure ??= { error };
    for (const watch of this.#watches) end(watch, error);
  }
}

/**
 * @param {Watch} watch
 * @param {unknown} error
 */
function end(watch, error) {
  watch.failure ??= { error };
  watch.reject(error);
}

/**
 * The result of what `start` starts, unless the watch ends before
 *
 * @param {Watch} watch
 * @param {(resolve: (text: string) => void, reject: (error: unknown) => void) => void} start
 * @returns {Promise<string>}
 */
function until(watch, start) {
  return new Promise((resolve, reject) => {
    watch.reject = reject;
    if (watch.failure) reject(watch.failure.error);
    else start(resolve, reject);
  });
}
