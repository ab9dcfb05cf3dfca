// What can be asked without an engine.
//
// One instance serves all of it; one that panicked is thrown away, for it holds nothing.

import { RequestError, TransactionError } from "./errors.js";
import { bodyBytes, isBytes, maybeString } from "./input.js";
import { parseJson } from "./json.js";
import { Instance } from "./load.js";
import { usage } from "./errors.js";

/** @import { CallOptions, DecodedTransaction, RequestSummary, RpcRequest } from "../../index.js" */
/** @import { Refused } from "./errors.js" */
/** @import { Glue } from "./load.js" */

/** @type {Instance | null} */
let instance = null;

/**
 * @template T
 * @param {(glue: Glue) => T} work
 * @param {Refused} [Wanted]
 * @returns {T}
 */
function run(work, Wanted) {
  if (!instance || instance.isOutOfOrder) instance = new Instance();
  return instance.run(work, Wanted);
}

/**
 * @param {string | Uint8Array | RpcRequest} body
 * @param {CallOptions} [options]
 * @returns {RequestSummary}
 */
export function validateRequest(body, { pathMethod } = {}) {
  const bytes = bodyBytes(body);
  maybeString(pathMethod, "pathMethod");
  const text = run((glue) => glue.validate_request(bytes, pathMethod), RequestError);
  /** @type {any} */
  const summary = parseJson(text, { bigint: true });
  summary.id = parseId(summary.id);
  if (summary.signed) summary.signed = transaction(summary.signed);
  return summary;
}

/**
 * The id of a request: a number if it is one that numbers hold
 *
 * @param {string} text
 */
function parseId(text) {
  const id = parseJson(text);
  return typeof id === "number" && !Number.isSafeInteger(id) ? parseJson(text, { bigint: true }) : id;
}

/**
 * @param {string | Uint8Array} given
 * @returns {DecodedTransaction}
 */
export function decodeTransaction(given) {
  if (typeof given !== "string" && !isBytes(given)) {
    throw usage("transaction: expected base64 as a string, or a Uint8Array");
  }
  const text = run(
    (glue) =>
      typeof given === "string"
        ? glue.decode_transaction_text(given)
        : glue.decode_transaction(given),
    TransactionError,
  );
  return transaction(parseJson(text, { bigint: true }));
}

/** @param {any} decoded */
function transaction(decoded) {
  const { nonceIndex, json } = decoded;
  return {
    ...decoded,
    nonceIndex: nonceIndex === null ? null : Number(nonceIndex),
    actions: /** @type {any} */ (parseJson(json, { bigint: true })).actions,
  };
}

/** @returns {string[]} */
export function methodNames() {
  return run((glue) => glue.method_names());
}
