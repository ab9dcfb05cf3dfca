// The changes of a watched transaction, as a server sends them.
//
// A reader gets the newest state: one that it has not read is replaced, so a slow reader costs no
// memory. That a fork took away the block of the state that was read last is not replaced. A state
// is read once, until another one was.

import { usageError } from "./errors.js";
import { onAbort } from "./on-abort.js";
import { checkOptions, oneOf, typeName } from "./options.js";

/** @import { CompactStatus, TransactionChange } from "../../index.js" */
/** @import { TxExecutionStatus, WatchOptions } from "../../index.js" */

/** @type {TxExecutionStatus[]} */
const MILESTONES = ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"];
const WATCH_OPTIONS = ["waitUntil", "include", "signal"];

/**
 * What to watch, and until when
 *
 * @typedef {object} WatchRequest
 * @property {string} hash
 * @property {TxExecutionStatus} waitUntil
 * @property {boolean} withResult
 * @property {AbortSignal} [signal]
 */

/**
 * Whether an event is the last one of its watch
 *
 * @param {string} event
 */
export const isLast = (event) => ["reached", "forgotten", "timeout"].includes(event);

/**
 * Checks what a caller passes
 *
 * @param {string} hash
 * @param {WatchOptions} [options]
 * @returns {WatchRequest}
 */
export function watchRequest(hash, options = {}) {
  checkOptions(options, "options", WATCH_OPTIONS);
  if (typeof hash !== "string") throw usageError(`hash: ${typeName(hash)}, expected a string`);
  const { waitUntil = "FINAL", include, signal } = options;
  oneOf(waitUntil, "waitUntil", MILESTONES);
  if (include !== undefined) oneOf(include, "include", ["status"]);
  return { hash, waitUntil, withResult: include === "status", signal };
}

/** The changes of a transaction that its reader has not read */
export class Mailbox {
  /** @type {TransactionChange | undefined} */
  #unIncluded;
  /** @type {TransactionChange | undefined} */
  #newest;
  /** The id of the state that was read last */
  #lastId = "NONE-";
  /** @type {{ error: unknown } | undefined} */
  #failure;
  #wake = () => {};

  /** @param {TransactionChange} change */
  put(change) {
    if (change.event !== "un-included") this.#newest = change;
    // The block that a fork took away was not read.
    else if (this.#lastId.startsWith("NONE-")) this.#newest = { ...change, event: "status" };
    else [this.#unIncluded, this.#newest] = [change, undefined];
    this.#wake();
  }

  /** @param {unknown} error */
  fail(error) {
    this.#failure ??= { error };
    this.#wake();
  }

  /** @returns {Promise<TransactionChange>} */
  async take() {
    for (;;) {
      const change = this.#unIncluded ?? this.#newest;
      if (change === this.#newest) this.#newest = undefined;
      this.#unIncluded = undefined;
      if (change && (change.event !== "status" || change.id !== this.#lastId)) {
        this.#lastId = change.id;
        return change;
      }
      if (this.#failure) throw this.#failure.error;
      if (!change) await new Promise((resolve) => (this.#wake = () => resolve(undefined)));
    }
  }
}

/**
 * The changes of a transaction, which `start` puts into a mailbox until what it returned is called
 *
 * @param {WatchRequest} request
 * @param {(mailbox: Mailbox) => () => void} start
 * @returns {AsyncGenerator<TransactionChange, void, undefined>}
 */
export async function* changes({ signal }, start) {
  signal?.throwIfAborted();
  const mailbox = new Mailbox();
  const release = onAbort(signal, () => mailbox.fail(signal?.reason));
  const stop = start(mailbox);
  try {
    for (;;) {
      const change = await mailbox.take();
      signal?.throwIfAborted();
      yield change;
      if (isLast(change.event)) return;
    }
  } finally {
    stop();
    release();
  }
}

/**
 * The change of an event of a server, whose last events have ids that end with their names
 *
 * @param {any} event
 * @param {string} id
 * @param {any} status The parsed data
 * @returns {TransactionChange}
 */
export function changeOf(event, id, status) {
  return { event, id: id.replace(`-${event}`, ""), status: compactStatus(status) };
}

/**
 * The status of a parsed event, in which every integer is a `bigint`: counts become numbers
 *
 * @param {any} status
 * @returns {CompactStatus}
 */
export function compactStatus(status) {
  for (const name of ["receipts_known", "receipts_executed", "receipts_failed"]) {
    if (name in status) status[name] = Number(status[name]);
  }
  return status;
}
