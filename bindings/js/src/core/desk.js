// What both kinds of engines share: an instance, those who wait at it, and the timer.

import { usage } from "./errors.js";
import { Instance } from "./load.js";
import { Timer, Waiting, now } from "./waiting.js";

/** @import { PanicError, Refused } from "./errors.js" */
/** @import { Glue, Host } from "./load.js" */

export class Desk {
  /** Set when the engine was disposed of */
  #over = false;

  /** @param {(glue: Glue) => Host} setUp */
  constructor(setUp) {
    this.waiting = new Waiting();
    this.timer = new Timer(() => this.#ring());
    this.instance = new Instance((error) => this.#panicked(error));
    this.host = this.instance.run((glue) => setUp(glue));
  }

  /**
   * Works with the engine
   *
   * @template T
   * @param {(host: Host, glue: Glue) => T} work
   * @param {Refused} [Wanted]
   * @returns {T}
   */
  run(work, Wanted) {
    if (this.#over) throw usage("the engine was disposed of");
    return this.instance.run((glue) => work(this.host, glue), Wanted);
  }

  /**
   * A call that is open until it is told, or until its signal says so
   *
   * @param {AbortSignal | undefined} signal
   */
  open(signal) {
    return this.waiting.open(signal, (ticket) => {
      if (this.#over || this.instance.isOutOfOrder) return;
      this.run((host) => host.cancel(ticket));
      this.arm();
    });
  }

  /** Sees to those who were woken: each kind of engine does it its own way */
  pump() {}

  /** To be called after anything that changes who waits */
  arm() {
    this.timer.set(this.run((host) => host.next_deadline()) ?? null);
  }

  #ring() {
    try {
      this.run((host) => host.handle_time(now()));
      this.pump();
    } catch {
      // A panic: those who wait were told.
    }
  }

  get places() {
    return this.run((host) => host.open());
  }

  stop() {
    this.run((host) => host.handle_stop());
    this.pump();
  }

  dispose() {
    if (this.#over) return;
    const isSound = !this.instance.isOutOfOrder;
    if (isSound) this.instance.run(() => this.host.free());
    this.#over = true;
    this.timer.clear();
    // Nothing looks for them any more, and their memory can be collected.
    this.host = /** @type {any} */ (null);
    this.instance = /** @type {any} */ (null);
    this.waiting.rejectAll(usage("the engine was disposed of"));
  }

  /** @param {PanicError} error */
  #panicked(error) {
    this.timer.clear();
    this.waiting.rejectAll(error);
  }
}
