// The blocks that were handed out since the last final one.
//
// The highest of them is the head, as in the engine; at equal heights the first. A block belongs
// here if its parent does, and if it does not start a branch below the last final block that would
// become canonical. Blocks below the last final one are forgotten.

import { ZERO_HASH } from "./message.js";

/** @import { Block } from "./message.js" */

/** @typedef {{ height: number, hash: string }} Point The height and the hash of a block */

export class Recent {
  /** @type {Map<string, { height: number, prevHash: string }>} */
  #entries = new Map();
  /** @type {Point | null} */
  #head = null;
  /** @type {Point | null} */
  lastFinal = null;

  /**
   * A chain that is known by its head and its last final block
   *
   * @param {Point} head
   * @param {Point} lastFinal
   */
  startAfter(head, lastFinal) {
    this.#head = head;
    this.lastFinal = lastFinal;
    for (const { height, hash } of [head, lastFinal]) {
      this.#entries.set(hash, { height, prevHash: ZERO_HASH });
    }
  }

  get size() {
    return this.#entries.size;
  }

  /** @param {string} hash */
  has(hash) {
    return this.#entries.has(hash);
  }

  /**
   * Whether the block can follow what is here
   *
   * @param {Block} block
   */
  accepts({ height, prevHash, prevHeight }) {
    const parent = this.#entries.get(prevHash);
    if (!parent || parent.height >= height) return false;
    if (prevHeight !== null && prevHeight !== parent.height) return false;
    return !(this.#becomesHead(height) && this.#isBelowFinal(prevHash));
  }

  /**
   * Adds a block whose parent is here, or the first one; returns whether there is a new last final
   * block
   *
   * @param {Block} block
   */
  add({ height, hash, prevHash, lastFinal }) {
    this.#entries.set(hash, { height, prevHash });
    if (!this.#becomesHead(height)) return false;
    this.#head = { height, hash };
    const named = lastFinal === null ? undefined : this.#entries.get(lastFinal);
    // An ancestor of the block, or the block itself would not be accepted later.
    if (!named || lastFinal === null || this.#ancestorAt(prevHash, named.height) !== lastFinal) return false;
    return this.#finalize({ height: named.height, hash: lastFinal });
  }

  /**
   * Adds the block that the chain starts with, which is final
   *
   * @param {Block} block
   */
  addFinal({ height, hash, prevHash }) {
    this.#entries.set(hash, { height, prevHash });
    this.#head = { height, hash };
    this.#finalize(this.#head);
  }

  /** @param {number} height */
  #becomesHead(height) {
    return this.#head === null || height > this.#head.height;
  }

  /**
   * The block at this height, going back from another one
   *
   * @param {string} hash
   * @param {number} height
   */
  #ancestorAt(hash, height) {
    let entry;
    while ((entry = this.#entries.get(hash)) && entry.height > height) hash = entry.prevHash;
    return entry?.height === height ? hash : null;
  }

  /**
   * Whether a branch that ends here is known to leave the last final block out
   *
   * @param {string} hash
   */
  #isBelowFinal(hash) {
    if (this.lastFinal === null) return false;
    for (let entry; (entry = this.#entries.get(hash)); hash = entry.prevHash) {
      if (entry.height <= this.lastFinal.height) return hash !== this.lastFinal.hash;
      // The stored head is on the chain of the stored final block, with unknown blocks in between.
      if (entry.prevHash === ZERO_HASH) return false;
    }
    return true;
  }

  /**
   * Makes a block the last final one, unless a higher one is
   *
   * @param {Point} point
   */
  #finalize(point) {
    if (this.lastFinal !== null && point.height <= this.lastFinal.height) return false;
    this.lastFinal = point;
    for (const [hash, { height }] of this.#entries) {
      if (height < point.height) this.#entries.delete(hash);
    }
    return true;
  }
}
