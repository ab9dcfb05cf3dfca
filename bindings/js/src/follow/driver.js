// Drives the rules in the module by `fetch` and timers.
//
// After each response, timer and block that is taken, the rules say which requests are due. An
// error of the rules or of the host ends the driver, and `next` throws it.

import { ErrorCode, PanicError } from "../core/index.js";
import { FollowError } from "./error.js";
import { clock, exchange } from "./exchange.js";

/** @import { FollowErrorKind, FollowEvent } from "../../follow.js" */
/** @import { FeedResponse, FeedAddress } from "./exchange.js" */

/** @typedef {InstanceType<ReturnType<typeof import("../../build/follow/glue.js").glue>["Follower"]>} Rules */

/** The longest wait of a timer */
const MAX_DELAY = 2 ** 31 - 1;

export class Driver {
  #rules;
  #memory;
  #feeds;
  #observe;
  #signal;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {{ cause: unknown } | null} Why it ended */
  #end = null;
  #wake = () => {};

  /**
   * @param {Rules} rules
   * @param {WebAssembly.Memory} memory That of the module
   * @param {FeedAddress[]} feeds
   * @param {(event: FollowEvent) => void} observe
   * @param {AbortSignal} signal Ends all requests and waits
   */
  constructor(rules, memory, feeds, observe, signal) {
    this.#rules = rules;
    this.#memory = memory;
    this.#feeds = feeds;
    this.#observe = observe;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#stop(signal.reason), { once: true });
  }

  /**
   * The next block; waits until there is one. A block is handed out once and after its parent,
   * except after a start at a stored chain: blocks up to its head can come again.
   */
  async next() {
    for (;;) {
      this.#step(() => {});
      const block = this.#take();
      if (block) return block;
      await new Promise((resolve) => (this.#wake = () => resolve(undefined)));
    }
  }

  /**
   * Begins again after the stored chain, which cannot import the block that was handed out last
   *
   * @param {string} stored
   * @param {string} reason
   */
  refuse(stored, reason) {
    this.#step(() => this.#rules.block_refused(stored, reason, clock()));
  }

  #take() {
    /** @type {Uint8Array | undefined} */
    let message;
    /** @type {string | undefined} */
    let error;
    const rules = this.#rules;
    // A block that is taken makes room for the next ones.
    this.#step(() => (message = rules.poll_block()));
    this.#step(() => (error = rules.error()));
    if (this.#end) throw this.#end.cause;
    if (message) return { message, height: rules.block_height(), timestamp: rules.block_timestamp() || null };
    if (error === undefined) return null;
    const [kind] = error.split(" ", 1);
    throw new FollowError(/** @type {FollowErrorKind} */ (kind), error.slice(kind.length + 1));
  }

  /**
   * Calls the rules, and sends the requests that they have then
   *
   * @param {() => void} work
   */
  #step(work) {
    if (this.#end) return;
    try {
      work();
      this.#run();
    } catch (error) {
      const isPanic = error instanceof WebAssembly.RuntimeError;
      this.#stop(isPanic ? new PanicError(ErrorCode.PANIC, "the follower panicked", { cause: error }) : error);
    }
  }

  #run() {
    const rules = this.#rules;
    const now = clock();
    rules.handle_timeout(now);
    for (let text; (text = rules.poll_request(now)) !== undefined; ) this.#send(text);
    clearTimeout(this.#timer);
    const delay = Math.min(Math.max(rules.poll_timeout() - now, 1), MAX_DELAY);
    this.#timer = setTimeout(() => this.#step(() => {}), delay);
    // The host may abort the signal.
    for (let event; !this.#end && (event = rules.poll_event()) !== undefined; ) this.#observe(JSON.parse(event));
    this.#wake();
  }

  /** @param {string} text As the module writes a request */
  #send(text) {
    const [id, feed, deadline, bypassCaches, ...paths] = text.split(" ");
    const request = {
      paths,
      bypassCaches: bypassCaches === "1",
      deadline: Number(deadline),
      requestMore: () => this.#rules.request_more(Number(id), clock()),
    };
    exchange(this.#feeds[Number(feed)], request, this.#signal).then(
      (answer) => this.#step(() => this.#handOver(Number(id), answer)),
      (error) => this.#step(() => this.#rules.handle_failure(Number(id), error.message, clock())),
    );
  }

  /**
   * Writes a body to the memory of the module, and hands it in
   *
   * @param {number} id
   * @param {FeedResponse} answer
   */
  #handOver(id, { path, status, retryAfter, chunks }) {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    let offset = this.#rules.reserve(length);
    const bytes = new Uint8Array(this.#memory.buffer);
    for (const chunk of chunks) {
      bytes.set(chunk, offset);
      offset += chunk.length;
    }
    this.#rules.handle_response(id, path, status, retryAfter, clock());
  }

  /** @param {unknown} cause */
  #stop(cause) {
    clearTimeout(this.#timer);
    this.#end ??= { cause };
    this.#wake();
  }
}
