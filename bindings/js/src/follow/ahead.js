// Blocks of one stream that are fetched ahead of the one that is needed next.
//
// Each height is asked once, until it is taken.

import { linkedController } from "./abort.js";

/** @import { Feed } from "./feed.js" */
/** @import { Block } from "./message.js" */

/** Number of heights above the next one */
const LOOKAHEAD = 2;

export class Ahead {
  /** @type {Map<number, Promise<Block | null>>} */
  #requested = new Map();
  #feed;
  #stream;
  #link;

  /**
   * @param {Feed} feed
   * @param {{ isFinal: boolean, bypassCaches: boolean }} stream
   * @param {AbortSignal} signal
   */
  constructor(feed, stream, signal) {
    this.#feed = feed;
    this.#stream = stream;
    this.#link = linkedController(signal);
  }

  /**
   * The block at this height, while those above it are fetched
   *
   * @param {number} height
   * @returns {Promise<Block | null>}
   */
  async take(height) {
    const last = this.#stream.bypassCaches ? height : height + LOOKAHEAD;
    for (let next = height; next <= last; next += 1) {
      if (this.#requested.has(next)) continue;
      const block = this.#feed.block(next, this.#stream, this.#link.control.signal);
      // Its error counts when the height is taken, which may be never.
      block.catch(() => {});
      this.#requested.set(next, block);
    }
    const block = this.#requested.get(height) ?? null;
    this.#requested.delete(height);
    return block;
  }

  /** Ends the requests */
  stop() {
    this.#link.control.abort();
    this.#link.release();
  }
}
