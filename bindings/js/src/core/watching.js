// The watches of an endpoint in this process.
//
// Each watched transaction is observed after each block that was imported: once, however many watch
// it. Blocks that come in meanwhile cause one more observation.

import { changes, compactStatus, satisfies } from "./changes.js";
import { parseJson } from "./json.js";

/** @import { TransactionChange } from "../../index.js" */
/** @import { Mailbox, WatchRequest } from "./changes.js" */
/** @import { Driver } from "./driver.js" */

/**
 * A watched transaction
 *
 * @typedef {object} Watched
 * @property {Map<Mailbox, WatchRequest>} watches
 * @property {boolean} isObserving
 * @property {boolean} isStale Whether a block came in since the observation started
 */

export class Watches {
  #driver;
  /** @type {Map<string, Watched>} */
  #watched = new Map();
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
  watch(request) {
    return changes(request, (mailbox) => {
      if (this.#failure) mailbox.fail(this.#failure.error);
      else this.#add(mailbox, request);
      return () => this.#remove(mailbox, request.hash);
    });
  }

  /**
   * @param {Mailbox} mailbox
   * @param {WatchRequest} request
   */
  #add(mailbox, request) {
    const { hash } = request;
    const watched = this.#watched.get(hash) ?? { watches: new Map(), isObserving: false, isStale: false };
    watched.watches.set(mailbox, request);
    this.#watched.set(hash, watched);
    this.#observe(hash, watched);
  }

  /**
   * @param {Mailbox} mailbox
   * @param {string} hash
   */
  #remove(mailbox, hash) {
    const watched = this.#watched.get(hash);
    watched?.watches.delete(mailbox);
    if (watched?.watches.size === 0) this.#watched.delete(hash);
  }

  /** A block was imported */
  handleBlock() {
    for (const [hash, watched] of this.#watched) this.#observe(hash, watched);
  }

  /**
   * @param {string} hash
   * @param {Watched} watched
   */
  async #observe(hash, watched) {
    watched.isStale = true;
    if (watched.isObserving) return;
    watched.isObserving = true;
    try {
      while (watched.isStale && watched.watches.size > 0) {
        watched.isStale = false;
        // Those that are added meanwhile are observed next, with their result.
        const watches = [...watched.watches];
        const withResult = watches.some(([, request]) => request.withResult);
        const text = await this.#driver.observe(hash, withResult);
        /** @type {any} */
        const seen = parseJson(text, { bigint: true });
        const { id, status: parsed, result } = seen;
        const status = compactStatus(parsed);
        for (const [mailbox, { waitUntil, withResult }] of watches) {
          const isReached = satisfies(status.final_execution_status, waitUntil);
          const hasResult = isReached && withResult && result;
          mailbox.put({ id, isReached, status: hasResult ? { ...status, result } : status });
        }
      }
    } catch (error) {
      this.#watched.delete(hash);
      for (const mailbox of watched.watches.keys()) mailbox.fail(error);
    } finally {
      watched.isObserving = false;
    }
  }

  /**
   * Ends all watches, and every later one
   *
   * @param {unknown} error
   */
  fail(error) {
    this.#failure ??= { error };
    for (const { watches } of this.#watched.values()) {
      for (const mailbox of watches.keys()) mailbox.fail(error);
    }
    this.#watched.clear();
  }
}
