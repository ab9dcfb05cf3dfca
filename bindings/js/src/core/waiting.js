// The calls that wait for a result: their promises, their abort signals, and one timer.
//
// The engine decides which requests are woken; this module completes the calls. Only this module
// reads the clock. The timer keeps a program running while a request is pending, unless the request
// waits for ever.

import { onAbort } from "./on-abort.js";

/** @import { ErrorClass } from "./errors.js" */
/** @import { EngineEndpoint } from "./load.js" */
/** @import { RowMap, Snapshot } from "./versioned-storage.js" */

/**
 * @typedef {object} CallOptions
 * @property {string | undefined} urlMethod
 * @property {number} [timeout] Without it the request does not wait
 * @property {AbortSignal} [signal]
 */

/**
 * A call without a result so far
 *
 * @typedef {object} PendingCall
 * @property {(result: any) => void} resolve With a response, or with JSON text; with `null` for a
 *   request that would have to wait
 * @property {(error: unknown) => void} reject
 * @property {boolean} [waits] Whether it is a request that may wait
 * @property {(endpoint: EngineEndpoint) => string} [take] Takes the result of its operation
 * @property {AbortSignal} [signal]
 * @property {() => void} [onAbort]
 * @property {() => void} [release] Ends that `onAbort` may be called
 * @property {ErrorClass} [errorClass] Of the engine's errors
 * @property {Snapshot} [snapshot] What its operation reads at the moment
 * @property {RowMap} [readRows] The rows that were read, for an import
 * @property {unknown} [storageError] Why the storage failed
 */

/** Maximum delay of `setTimeout`, which fires at once for longer ones */
const MAX_DELAY = 2 ** 31 - 1;

/** Whole milliseconds of a monotonic clock */
export function now() {
  return Math.floor(performance.now());
}

/** All calls of an endpoint that wait for a result, by the handles of their operations */
export class PendingCalls {
  /** @type {Map<bigint, PendingCall>} */
  #calls = new Map();

  /**
   * @param {bigint} handle
   * @param {PendingCall} call
   */
  add(handle, call) {
    this.#calls.set(handle, call);
    if (call.onAbort) call.release = onAbort(call.signal, call.onAbort);
  }

  /** @param {bigint} handle */
  get(handle) {
    return this.#calls.get(handle);
  }

  /**
   * Removes the call of an operation that has ended
   *
   * @param {bigint} handle
   */
  remove(handle) {
    const call = this.#calls.get(handle);
    this.#calls.delete(handle);
    call?.release?.();
    call?.snapshot?.close();
  }

  /** @param {unknown} error */
  rejectAll(error) {
    for (const [handle, call] of [...this.#calls]) {
      this.remove(handle);
      call.reject(error);
    }
  }
}

/** One timer for the earliest deadline */
export class Timer {
  /** @type {any} */
  #timeout = null;
  /** @type {number | null} */
  #deadline = null;
  /** @type {() => void} */
  #onTimeout;

  /** @param {() => void} onTimeout */
  constructor(onTimeout) {
    this.#onTimeout = onTimeout;
  }

  /**
   * Sets the timer to this time, or clears it
   *
   * @param {number | null} deadline
   */
  set(deadline) {
    if (deadline === this.#deadline) return;
    this.clear();
    if (deadline === null) return;
    this.#deadline = deadline;
    const delay = Math.max(0, deadline - now());
    this.#timeout = setTimeout(
      () => {
        this.#deadline = null;
        this.#onTimeout();
      },
      Math.min(delay, MAX_DELAY),
    );
    if (delay > MAX_DELAY) this.#timeout.unref?.();
  }

  clear() {
    clearTimeout(this.#timeout);
    this.#deadline = null;
  }
}
