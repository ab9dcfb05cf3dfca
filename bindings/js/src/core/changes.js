// The changes of a watched transaction, from wherever its states come.
//
// A reader gets the newest state: one that it has not read is replaced, so a slow reader costs no
// memory. What happened follows from the state that was read before, so it is the same over every
// transport. A state is read once, until another one was.

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
 * A state of a transaction
 *
 * @typedef {object} State
 * @property {string} id
 * @property {boolean} isReached Whether it is the last one
 * @property {CompactStatus} status
 */

/**
 * Whether a milestone is at least another one; the order is partial
 *
 * @param {TxExecutionStatus} reached
 * @param {TxExecutionStatus} expected
 */
export function satisfies(reached, expected) {
  const isOther = reached === "INCLUDED_FINAL" && expected === "EXECUTED_OPTIMISTIC";
  return !isOther && MILESTONES.indexOf(reached) >= MILESTONES.indexOf(expected);
}

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

/** The newest state of a transaction that was not read */
export class Mailbox {
  /** @type {State | undefined} */
  #state;
  /** @type {{ error: unknown } | undefined} */
  #failure;
  #wake = () => {};

  /** @param {State} state */
  put(state) {
    this.#state = state;
    this.#wake();
  }

  /** @param {unknown} error */
  fail(error) {
    this.#failure ??= { error };
    this.#wake();
  }

  /** @returns {Promise<State>} */
  async take() {
    while (!this.#state && !this.#failure) {
      await new Promise((resolve) => (this.#wake = () => resolve(undefined)));
    }
    const state = this.#state;
    this.#state = undefined;
    if (state) return state;
    throw this.#failure?.error;
  }
}

/**
 * The changes of a transaction, whose states `start` puts into a mailbox until what it returned is
 * called
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
    /** @type {State | undefined} */
    let before;
    for (;;) {
      const state = await mailbox.take();
      signal?.throwIfAborted();
      const { id, isReached, status } = state;
      if (!isReached && before?.id === id) continue;
      const isIncluded = (/** @type {State | undefined} */ one) =>
        one !== undefined && one.status.final_execution_status !== "NONE";
      const event = isReached ? "reached" : isIncluded(before) && !isIncluded(state) ? "un-included" : "status";
      before = state;
      // A server marks the id of the last event; that of the state is without.
      yield { event, id: id.replace(/-reached$/, ""), status };
      if (isReached) return;
    }
  } finally {
    stop();
    release();
  }
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
