// The follower: from the responses of a feed to blocks in the order of the chain.
//
// It takes the optimistic stream. A block whose parent it did not hand out is left aside, and the
// final chain is taken instead, from the last final block up to that height: every block of it
// names the one before, so that an ancestor cannot be missed. The final chain is also what it
// catches up by. A block of it that does not follow what was final ends the follower. The rules are
// those of the follower in Rust, without its archives and its other sources.

import { sleep } from "./abort.js";
import { Ahead } from "./ahead.js";
import { FollowError } from "./error.js";
import { Recent } from "./recent.js";

/** @import { FollowEvent } from "../../follow.js" */
/** @import { Feed } from "./feed.js" */
/** @import { Block } from "./message.js" */
/** @import { Point } from "./recent.js" */

/**
 * @typedef {object} FollowerSettings
 * @property {"resume" | "final" | number} from
 * @property {number} startMargin
 * @property {number} maxCatchUp
 * @property {number} retry
 * @property {number} maxRetry
 * @property {number} frozenAfter
 * @property {number} maxUnfinalized
 * @property {(event: FollowEvent) => void} observe
 */

/**
 * @typedef {{ head: Point, lastFinal: Point }} StoredChain The chain that the host has: its newest
 *   block and its last final one, which is the earliest if nothing is final by its headers
 */

/**
 * The final chain that is taken
 *
 * @typedef {object} FinalChain
 * @property {Point | null} after The block that the next one must follow, if there is one
 * @property {number} first Where it was taken up
 * @property {number} until The height at which the optimistic stream is taken again
 * @property {number} attempts How often the next block was asked for without one that follows
 * @property {boolean} bypassCaches
 */

/** Number of heights behind the last final block from which on the final chain is taken */
const MAX_OPTIMISTIC_LAG = 20;
/** Number of heights that a feed may be behind the store, which is some hours */
const MAX_FEED_LAG = 20_000;
/** Number of heights without a block after which each further one is asked more slowly */
const MAX_QUICK_EMPTY = 20;
/** Maximum number of heights without a block; no chain has had so many */
const MAX_EMPTY = 10_000;
/** How often a missing block of the final chain is asked for, past caches */
const MAX_MISSING = 10;
/** How often the follower goes back to the same last final block */
const MAX_REWINDS = 3;
/** The wait for a feed that is behind the store */
const BEHIND_DELAY = 1_000;

export class Follower {
  #feed;
  #settings;
  #stored;
  #signal;
  #recent = new Recent();
  /** The first height that may be handed out */
  #first = 0;
  /** The next height */
  #next = 0;
  /** @type {FinalChain | null} `null` in the optimistic stream */
  #chain = null;
  /** @type {Ahead | null} `null` before the start */
  #ahead = null;
  /** Number of heights without a block since the last block */
  #empty = 0;
  /** How often the follower went back to the last final block */
  #rewinds = 0;
  /** The wait before the next height */
  #delay = 0;
  #newest = -1;
  #isFrozen = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #frozenTimer;

  /**
   * @param {Feed} feed
   * @param {FollowerSettings} settings
   * @param {StoredChain | null} stored
   * @param {AbortSignal} signal Ends all waiting
   */
  constructor(feed, settings, stored, signal) {
    this.#feed = feed;
    this.#settings = settings;
    this.#stored = stored;
    this.#signal = signal;
  }

  /**
   * The next block; waits until there is one. A block is handed out once and after its parent,
   * except after a start at a stored chain: blocks up to its head can come again.
   *
   * @returns {Promise<Block>}
   */
  async next() {
    for (;;) {
      const block = this.#ahead === null ? await this.#begin() : await this.#step(this.#ahead);
      if (block) return block;
    }
  }

  stop() {
    clearTimeout(this.#frozenTimer);
    this.#ahead?.stop();
  }

  /**
   * Takes one height; `null` if it has no block to hand out
   *
   * @param {Ahead} ahead
   */
  async #step(ahead) {
    const delay = this.#delay;
    this.#delay = 0;
    if (delay > 0) await sleep(delay, this.#signal);
    const block = await ahead.take(this.#next);
    if (block === null) return this.#handleEmpty();
    this.#empty = 0;
    this.#arrived(block);
    return this.#chain === null ? this.#handleOptimistic(block) : this.#handleFinal(block, this.#chain);
  }

  /**
   * Notices whether the feed has new blocks
   *
   * @param {Block} block
   */
  #arrived({ height }) {
    if (height <= this.#newest) return;
    this.#newest = height;
    if (this.#isFrozen) this.#settings.observe({ type: "thawed" });
    this.#isFrozen = false;
    this.#watchSilence();
  }

  /** Reports it once if there is no new block for a while */
  #watchSilence() {
    const { frozenAfter, observe } = this.#settings;
    clearTimeout(this.#frozenTimer);
    this.#frozenTimer = setTimeout(() => {
      this.#isFrozen = true;
      observe({ type: "frozen", silence: frozenAfter });
    }, frozenAfter);
  }

  /** Goes on to the next height, as the feed says that there is no block; the next block decides */
  #handleEmpty() {
    this.#empty += 1;
    if (this.#empty > MAX_EMPTY) {
      throw new FollowError("missing", `block ${this.#next}: the feed has no block at ${MAX_EMPTY} heights`);
    }
    this.#next += 1;
    if (this.#empty > MAX_QUICK_EMPTY) this.#delay = this.#settings.retry;
    return null;
  }

  /** @param {Block} block */
  #handleOptimistic(block) {
    this.#next = block.height + 1;
    if (this.#recent.has(block.hash)) return null;
    if (this.#recent.accepts(block)) return this.#handOut(block);
    this.#settings.observe({ type: "linkBroken", height: block.height });
    this.#takeFinalChain(this.#recent.lastFinal, block.height, true);
    return null;
  }

  /**
   * @param {Block} block
   * @param {FinalChain} chain
   */
  async #handleFinal(block, chain) {
    // The lowest height of a block between them, if one is missing.
    const first = chain.after === null ? this.#first : chain.after.height + 1;
    const { height, prevHash, prevHeight } = block;
    const namesMissing = prevHeight === null || prevHeight >= first;
    const follows = chain.after === null ? prevHeight === null || !namesMissing : prevHash === chain.after.hash;
    if (!follows) {
      chain.attempts += 1;
      if (chain.attempts >= (namesMissing ? MAX_MISSING : 2)) {
        this.#handleContradiction(block, chain, namesMissing);
        return null;
      }
      // Caches may have answered what is not so; the feed itself is asked again.
      this.#next = first;
      this.#delay = Math.min(this.#settings.retry * 2 ** chain.attempts, this.#settings.maxRetry);
      this.#take({ isFinal: true, bypassCaches: true });
      return null;
    }
    if (chain.attempts > 0 && !chain.bypassCaches) this.#take({ isFinal: true, bypassCaches: false });
    chain.attempts = 0;
    chain.after = block;
    this.#next = height + 1;
    if (height >= chain.until) {
      // The feed has gone on in the meantime, if it was a long one.
      if (chain.until - chain.first > MAX_OPTIMISTIC_LAG) {
        this.#takeUp(block, (await this.#feed.lastFinal(this.#signal)).height);
      } else {
        this.#takeOptimisticStream(this.#next);
      }
    }
    // It is final when the headers above it say so, not because the feed does.
    return this.#recent.has(block.hash) ? null : this.#handOut(block);
  }

  /**
   * A block of the final chain does not follow the one before
   *
   * @param {Block} block
   * @param {FinalChain} chain
   * @param {boolean} namesMissing
   */
  #handleContradiction({ height, hash, prevHash, prevHeight }, { after, until }, namesMissing) {
    if (after === null) {
      const detail = `block ${prevHeight}: the feed does not have it, and block ${height} names it as its parent`;
      throw new FollowError("missing", detail);
    }
    const known = this.#recent.lastFinal;
    if (!namesMissing && known?.hash !== after.hash && this.#rewinds < MAX_REWINDS) {
      // The block before was not final, whether it was the head of the store or came from a cache:
      // its fork is abandoned.
      this.#rewinds += 1;
      this.#settings.observe({ type: "linkBroken", height });
      this.#takeFinalChain(known, until, true);
      return;
    }
    const what = namesMissing ? "lacks a block between them" : "contradicts what was final";
    throw new FollowError(
      namesMissing ? "missing" : "contradiction",
      `the feed ${what}: its final block ${height} ${hash} has the parent ${prevHash}, ` +
        `and does not follow block ${after.height} ${after.hash}`,
    );
  }

  /** @param {Block} block */
  #handOut(block) {
    if (this.#recent.add(block)) this.#rewinds = 0;
    const { maxUnfinalized } = this.#settings;
    if (this.#recent.size > maxUnfinalized) {
      const detail = `block ${block.height}: more than ${maxUnfinalized} blocks since the last final block`;
      throw new FollowError("unfinalized", detail);
    }
    return block;
  }

  /** Finds the place to start at */
  async #begin() {
    this.#watchSilence();
    const feedFinal = await this.#feed.lastFinal(this.#signal);
    const { from, startMargin, maxCatchUp } = this.#settings;
    const stored = this.#stored;
    if (stored !== null && !(await this.#isChainOf(stored, feedFinal))) return null;
    const isBehind = stored !== null && feedFinal.height - stored.head.height > maxCatchUp;
    if (from === "resume" && stored !== null && !isBehind) {
      this.#recent.startAfter(stored.head, stored.lastFinal);
      this.#takeUp(stored.head, feedFinal.height);
      return null;
    }
    let first = from;
    if (typeof first !== "number" && (stored === null || (isBehind && from === "resume"))) {
      const margin = await this.#availableMargin(feedFinal.height, startMargin);
      if (margin > 0) first = feedFinal.height - margin;
    }
    if (typeof first === "number") {
      this.#first = first;
      this.#takeFinalChain(null, Math.max(feedFinal.height, first), false);
      return null;
    }
    this.#arrived(feedFinal);
    this.#recent.addFinal(feedFinal);
    this.#takeOptimisticStream(feedFinal.height + 1);
    return feedFinal;
  }

  /**
   * How many heights before its last final block the feed has, up to a margin
   *
   * @param {number} feedHeight
   * @param {number} startMargin
   */
  async #availableMargin(feedHeight, startMargin) {
    let margin = Math.min(startMargin, feedHeight);
    while (margin > 0) {
      try {
        await this.#feed.block(feedHeight - margin, { isFinal: true, bypassCaches: false }, this.#signal);
        break;
      } catch (error) {
        if (!(error instanceof FollowError && error.kind === "missing")) throw error;
        margin = Math.floor(margin / 2);
      }
    }
    return margin;
  }

  /**
   * Whether the feed has the last final block of the store; `false` if it may have it later
   *
   * @param {StoredChain} stored
   * @param {Block} feedFinal
   */
  async #isChainOf(stored, feedFinal) {
    const { height, hash } = stored.lastFinal;
    if (feedFinal.height < height) {
      const detail = `the last final block of the feed is ${feedFinal.height}, and the store is at block ${height}`;
      if (height - feedFinal.height > MAX_FEED_LAG) {
        throw new FollowError("contradiction", `the store is not of the feed's chain: ${detail}`);
      }
      this.#settings.observe({ type: "retry", status: null, delay: BEHIND_DELAY, detail });
      await sleep(BEHIND_DELAY, this.#signal);
      return false;
    }
    const find = (/** @type {boolean} */ bypassCaches) =>
      this.#feed.block(height, { isFinal: true, bypassCaches }, this.#signal);
    let found = await find(false);
    if (found?.hash !== hash) found = await find(true);
    if (found?.hash === hash) return true;
    throw new FollowError(
      "contradiction",
      `the store is not of the feed's chain: its final block at height ${height} is ${hash}, ` +
        `and the feed has ${found?.hash ?? "no block"} there`,
    );
  }

  /**
   * Goes on after this block: along the final chain if the feed is far above it
   *
   * @param {Point} tip
   * @param {number} feedHeight
   */
  #takeUp(tip, feedHeight) {
    if (feedHeight > tip.height + MAX_OPTIMISTIC_LAG) this.#takeFinalChain(tip, feedHeight, false);
    else this.#takeOptimisticStream(tip.height + 1);
  }

  /**
   * Takes the final chain after this block, or from the first height on
   *
   * @param {Point | null} after
   * @param {number} until
   * @param {boolean} bypassCaches
   */
  #takeFinalChain(after, until, bypassCaches) {
    const first = after === null ? this.#first : after.height + 1;
    if (until - first > MAX_OPTIMISTIC_LAG) this.#settings.observe({ type: "catchUp", first, until });
    this.#chain = { after, first, until, attempts: 0, bypassCaches };
    this.#next = first;
    this.#empty = 0;
    this.#take({ isFinal: true, bypassCaches });
  }

  /** @param {number} next */
  #takeOptimisticStream(next) {
    this.#chain = null;
    this.#next = next;
    this.#empty = 0;
    this.#take({ isFinal: false, bypassCaches: false });
  }

  /** @param {{ isFinal: boolean, bypassCaches: boolean }} stream */
  #take(stream) {
    this.#ahead?.stop();
    this.#ahead = new Ahead(this.#feed, stream, this.#signal);
  }
}
