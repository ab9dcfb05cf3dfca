// Those who wait for an answer: their promises, their signals, and the one timer.
//
// Who is woken by what is the engine's affair; here is kept who has to be told. The clock is read here
// and nowhere else. A timer keeps a program running while a request waits, as any request under way
// does; a request that waits for ever does not.

/** @import { Answer } from "./answer.js" */

/** @typedef {{ pathMethod: string | undefined, timeout: number, signal: AbortSignal | undefined }} Asked How a call is asked */

/** The longest delay of a timer: what is longer would be none at all */
const LONGEST_DELAY = 2 ** 31 - 1;

/** Whole milliseconds of a clock that only goes forward */
export function now() {
  return Math.floor(performance.now());
}

/** A request that is not answered yet */
export class Call {
  /**
   * Where it waits, once it does
   *
   * @type {bigint | null}
   */
  ticket = null;
  done = false;
  /** @type {AbortSignal | undefined} */
  #signal;
  #abort;

  /**
   * @param {AbortSignal | undefined} signal
   * @param {(call: Call) => void} cancel
   */
  constructor(signal, cancel) {
    /** @type {Promise<Answer>} */
    this.promise = new Promise((resolve, reject) => {
      this.resolve = (/** @type {Answer} */ answer) => this.#end(resolve, answer);
      this.reject = (/** @type {unknown} */ error) => this.#end(reject, error);
    });
    this.#signal = signal;
    this.#abort = () => {
      // First, so that the place is free when the caller hears of it.
      cancel(this);
      this.reject(signal?.reason);
    };
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /**
   * @template T
   * @param {(value: T) => void} tell
   * @param {T} value
   */
  #end(tell, value) {
    if (this.done) return;
    this.done = true;
    this.#signal?.removeEventListener("abort", this.#abort);
    tell(value);
  }
}

/** The calls that are open */
export class Waiting {
  /** @type {Set<Call>} */
  #calls = new Set();
  /** @type {Map<bigint, Call>} */
  #byTicket = new Map();

  /**
   * A call that is open until it is told
   *
   * @param {AbortSignal | undefined} signal
   * @param {(ticket: bigint) => void} cancel
   */
  open(signal, cancel) {
    const call = new Call(signal, (call) => {
      this.#forget(call);
      if (call.ticket !== null) cancel(call.ticket);
    });
    if (!call.done) this.#calls.add(call);
    return call;
  }

  /**
   * The call waits at the engine
   *
   * @param {Call} call
   * @param {bigint} ticket
   */
  wait(call, ticket) {
    call.ticket = ticket;
    this.#byTicket.set(ticket, call);
  }

  /**
   * The call is answered
   *
   * @param {Call} call
   * @param {Answer} answer
   */
  answer(call, answer) {
    this.#forget(call);
    call.resolve(answer);
  }

  /**
   * The call that waits with this ticket is answered
   *
   * @param {bigint} ticket
   * @param {Answer} answer
   */
  answerTicket(ticket, answer) {
    const call = this.#byTicket.get(ticket);
    if (call) this.answer(call, answer);
  }

  /**
   * @param {Call} call
   * @param {unknown} error
   */
  reject(call, error) {
    this.#forget(call);
    call.reject(error);
  }

  /** @param {unknown} error */
  rejectAll(error) {
    const calls = [...this.#calls];
    this.#calls.clear();
    this.#byTicket.clear();
    for (const call of calls) call.reject(error);
  }

  /** @param {Call} call */
  #forget(call) {
    this.#calls.delete(call);
    if (call.ticket !== null) this.#byTicket.delete(call.ticket);
  }
}

/** One timer, set to what is due next */
export class Timer {
  /** @type {any} */
  #handle = null;
  /** @type {number | null} */
  #due = null;
  /** @type {() => void} */
  #ring;

  /** @param {() => void} ring */
  constructor(ring) {
    this.#ring = ring;
  }

  /**
   * Sets the timer to this moment; without one it is taken off
   *
   * @param {number | null} due
   */
  set(due) {
    if (due === this.#due) return;
    this.clear();
    if (due === null) return;
    this.#due = due;
    const delay = Math.max(0, due - now());
    this.#handle = setTimeout(() => {
      this.#due = null;
      this.#ring();
    }, Math.min(delay, LONGEST_DELAY));
    if (delay > LONGEST_DELAY) this.#handle.unref?.();
  }

  clear() {
    clearTimeout(this.#handle);
    this.#due = null;
  }
}
