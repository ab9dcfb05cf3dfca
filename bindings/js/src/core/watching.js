// The watches of an endpoint in this process.
//
// The module has no room for what observes a transaction, so the state of each watched transaction
// is made of its response, after each block that was imported: one response, however many watch it.
// Blocks that come in meanwhile cause one more.

import { changes, satisfies } from "./changes.js";
import { ErrorCode, StorageError } from "./errors.js";

/** @import { CompactStatus, Exact, RpcTransactionResponse } from "../../index.js" */
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
        const result = await this.#result(hash);
        const status = compactStatus(hash, result);
        const id = stateId(status);
        for (const [mailbox, { waitUntil, withResult }] of watched.watches) {
          const isReached = satisfies(status.final_execution_status, waitUntil);
          mailbox.put({ id, isReached, status: isReached && withResult ? { ...status, result } : status });
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
   * The result of a transaction; `undefined` if it is in no block
   *
   * @param {string} hash
   * @returns {Promise<Exact<RpcTransactionResponse> | undefined>}
   */
  async #result(hash) {
    // Any account: a transaction is found by its hash.
    const params = { tx_hash: hash, sender_account_id: "near", wait_until: "NONE" };
    const body = JSON.stringify({ method: "EXPERIMENTAL_tx_status", params });
    const response = await this.#driver.respond(body, undefined);
    const { result, error } = response ?? {};
    if (result || error?.cause?.name === "UNKNOWN_TRANSACTION") return result;
    throw new StorageError(ErrorCode.STORAGE, String(error?.data ?? error?.message));
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

/**
 * The compact status that a result has
 *
 * @param {string} hash
 * @param {any} result
 * @returns {CompactStatus}
 */
function compactStatus(hash, result) {
  if (!result) return { transaction_hash: hash, final_execution_status: "NONE" };
  const { final_execution_status, status, transaction_outcome, receipts_outcome } = result;
  const known = new Set();
  let executed = 0;
  for (const { id, outcome } of [transaction_outcome, ...receipts_outcome]) {
    if (id !== transaction_outcome.id) known.add(id);
    for (const receipt of outcome.receipt_ids) known.add(receipt);
    if (id !== transaction_outcome.id && outcome.status !== "Unknown") executed += 1;
  }
  return {
    transaction_hash: hash,
    final_execution_status,
    status: /** @type {CompactStatus["status"]} */ (typeof status === "string" ? status : Object.keys(status)[0]),
    receipts_known: known.size,
    receipts_executed: executed,
  };
}

/**
 * Equal states have equal ids
 *
 * @param {CompactStatus} status
 */
function stateId({ final_execution_status, status, receipts_known, receipts_executed }) {
  if (final_execution_status === "NONE") return "NONE";
  return `${final_execution_status}-${status}-${receipts_executed}-${receipts_known}`;
}
