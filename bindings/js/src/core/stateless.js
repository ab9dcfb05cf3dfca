// Functions that need no endpoint.
//
// One instance serves all of them; it holds no state, so one that panicked is replaced.

import { RequestError, TransactionError, usageError } from "./errors.js";
import { bodyBytes, isBytes } from "./input.js";
import { parseJson } from "./json.js";
import { Instance } from "./load.js";
import { urlMethodOf } from "./options.js";

/** @import { DecodedTransaction, RequestOptions } from "../../index.js" */
/** @import { RequestSummary, RpcRequest } from "../../index.js" */
/** @import { ErrorClass } from "./errors.js" */
/** @import { Glue } from "./load.js" */

/** @type {Instance | null} */
let instance = null;

/**
 * @template T
 * @param {(glue: Glue) => T} work
 * @param {ErrorClass} [errorClass]
 * @returns {T}
 */
function run(work, errorClass) {
  if (!instance || instance.hasPanicked) instance = new Instance();
  return instance.run(work, errorClass);
}

/**
 * @param {string | Uint8Array | RpcRequest} body
 * @param {RequestOptions} [options]
 * @returns {RequestSummary}
 */
export function validateRequest(body, options) {
  const bytes = bodyBytes(body);
  const urlMethod = urlMethodOf(options);
  const text = run((glue) => glue.validate_request(bytes, urlMethod), RequestError);
  /** @type {any} */
  const summary = parseJson(text, { bigint: true });
  summary.id = parseId(summary.id);
  if (summary.signed) summary.signed = toTransaction(summary.signed);
  return summary;
}

/**
 * The id of a request; an integer is a number if that is exact
 *
 * @param {string} text
 */
function parseId(text) {
  const id = parseJson(text);
  return typeof id === "number" && !Number.isSafeInteger(id) ? parseJson(text, { bigint: true }) : id;
}

/**
 * @param {string | Uint8Array} encoded
 * @returns {DecodedTransaction}
 */
export function decodeTransaction(encoded) {
  if (typeof encoded !== "string" && !isBytes(encoded)) {
    throw usageError("transaction: expected base64 as a string, or a Uint8Array");
  }
  const text = run(
    (glue) =>
      typeof encoded === "string" ? glue.decode_transaction_base64(encoded) : glue.decode_transaction(encoded),
    TransactionError,
  );
  return toTransaction(parseJson(text, { bigint: true }));
}

/** @param {any} decoded */
function toTransaction(decoded) {
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
