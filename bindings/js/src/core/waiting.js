// The calls that wait for a response: their promises, their abort signals, and one timer.
//
// The engine decides which requests are woken; this module resolves their promises. Only this
// module reads the clock. The timer keeps a program running while a request is pending, unless the
// request waits for ever.

/** @import { EndpointResponse } from "./response.js" */

/**
 * @typedef {object} CallOptions
 * @property {string | undefined} urlMethod
 * @property {number} timeout
 * @property {AbortSignal | undefined} signal
 */

/** Maximum delay of `setTimeout`, which fires at once for longer ones */
const MAX_DELAY = 2 ** 31 - 1;

/** Whole milliseconds of a monotonic clock */
export function now() {
  return Math.floor(performance.now());
}

/** A request without a response so far */
export class PendingCall {
  /**
   * Handle of the pending request, once the engine has suspended it
   *
   * @type {bigint | null}
   */
  handle = null;
  isDone = false;
  /** @type {AbortSignal | undefined} */
  #signal;
  #abort;

  /**
   * @param {AbortSignal | undefined} signal
   * @param {(call: PendingCall) => void} cancel
   */
  constructor(signal, cancel) {
    /** @type {Promise<EndpointResponse>} */
    this.promise = new Promise((resolve, reject) => {
      this.resolve = (/** @type {EndpointResponse} */ response) => this.#complete(resolve, response);
      this.reject = (/** @type {unknown} */ error) => this.#complete(reject, error);
    });
    this.#signal = signal;
    this.#abort = () => {
      // First, so that the request is no longer pending when the promise is rejected.
      cancel(this);
      this.reject(signal?.reason);
    };
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /**
   * @template T
   * @param {(value: T) => void} complete
   * @param {T} value
   */
  #complete(complete, value) {
    if (this.isDone) return;
    this.isDone = true;
    this.#signal?.removeEventListener("abort", this.#abort);
    complete(value);
  }
}

/** All calls of an endpoint that wait for a response */
export class PendingCalls {
  /** @type {Set<PendingCall>} */
  #calls = new Set();
  /** @type {Map<bigint, PendingCall>} */
  #byHandle = new Map();

  /**
   * Adds a call; `cancel` is called if its signal aborts it while the engine holds its request
   *
   * @param {AbortSignal | undefined} signal
   * @param {(handle: bigint) => void} cancel
   */
  add(signal, cancel) {
    const call = new PendingCall(signal, (call) => {
      this.#remove(call);
      if (call.handle !== null) cancel(call.handle);
    });
    if (!call.isDone) this.#calls.add(call);
    return call;
  }

  /**
   * Records that the engine suspended the request of a call
   *
   * @param {PendingCall} call
   * @param {bigint} handle
   */
  suspend(call, handle) {
    call.handle = handle;
    this.#byHandle.set(handle, call);
  }

  /**
   * @param {PendingCall} call
   * @param {EndpointResponse} response
   */
  resolve(call, response) {
    this.#remove(call);
    call.resolve(response);
  }

  /**
   * Resolves the call whose request has this handle
   *
   * @param {bigint} handle
   * @param {EndpointResponse} response
   */
  resolveHandle(handle, response) {
    const call = this.#byHandle.get(handle);
    if (call) this.resolve(call, response);
  }

  /**
   * @param {PendingCall} call
   * @param {unknown} error
   */
  reject(call, error) {
    this.#remove(call);
    call.reject(error);
  }

  /** @param {unknown} error */
  rejectAll(error) {
    const calls = [...this.#calls];
    this.#calls.clear();
    this.#byHandle.clear();
    for (const call of calls) call.reject(error);
  }

  /** @param {PendingCall} call */
  #remove(call) {
    this.#calls.delete(call);
    if (call.handle !== null) this.#byHandle.delete(call.handle);
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
    this.#timeout = setTimeout(() => {
      this.#deadline = null;
      this.#onTimeout();
    }, Math.min(delay, MAX_DELAY));
    if (delay > MAX_DELAY) this.#timeout.unref?.();
  }

  clear() {
    clearTimeout(this.#timeout);
    this.#deadline = null;
  }
}
