// What the drivers of both kinds of storage share: an instance, its pending calls, and the timer.

import { usageError } from "./errors.js";
import { Instance } from "./load.js";
import { PendingCalls, Timer, now } from "./waiting.js";

/** @import { ErrorClass, PanicError } from "./errors.js" */
/** @import { EngineEndpoint, Glue } from "./load.js" */

export class Driver {
  #isDisposed = false;

  /** @param {(glue: Glue) => EngineEndpoint} createEndpoint */
  constructor(createEndpoint) {
    this.calls = new PendingCalls();
    this.timer = new Timer(() => this.#handleTimeout());
    this.instance = new Instance((error) => this.#handlePanic(error));
    this.endpoint = this.instance.run((glue) => createEndpoint(glue));
  }

  /**
   * Calls `work` with the endpoint in the instance
   *
   * @template T
   * @param {(endpoint: EngineEndpoint, glue: Glue) => T} work
   * @param {ErrorClass} [errorClass]
   * @returns {T}
   */
  run(work, errorClass) {
    if (this.#isDisposed) throw usageError("the endpoint was disposed of");
    return this.instance.run((glue) => work(this.endpoint, glue), errorClass);
  }

  /**
   * Adds a call that stays pending until it is answered or rejected, or until its signal aborts it
   *
   * @param {AbortSignal | undefined} signal
   */
  addCall(signal) {
    return this.calls.add(signal, (handle) => {
      if (this.#isDisposed || this.instance.hasPanicked) return;
      this.run((endpoint) => endpoint.cancel(handle));
      this.setTimer();
    });
  }

  /** Handles the requests that were woken; each subclass does it in its own way */
  pump() {}

  /** Sets the timer; to be called after everything that changes which requests are pending */
  setTimer() {
    this.timer.set(this.run((endpoint) => endpoint.next_timeout()) ?? null);
  }

  #handleTimeout() {
    try {
      this.run((endpoint) => endpoint.handle_timeout(now()));
      this.pump();
    } catch {
      // A panic: the pending calls were rejected.
    }
  }

  get pendingCount() {
    return this.run((endpoint) => endpoint.pending_count());
  }

  shutdown() {
    this.run((endpoint) => endpoint.shutdown());
    this.pump();
  }

  dispose() {
    if (this.#isDisposed) return;
    if (!this.instance.hasPanicked) this.instance.run(() => this.endpoint.free());
    this.#isDisposed = true;
    this.timer.clear();
    // Lets their memory be collected.
    this.endpoint = /** @type {any} */ (null);
    this.instance = /** @type {any} */ (null);
    this.calls.rejectAll(usageError("the endpoint was disposed of"));
  }

  /** @param {PanicError} error */
  #handlePanic(error) {
    this.timer.clear();
    this.calls.rejectAll(error);
  }
}
