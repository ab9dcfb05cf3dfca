// Methods of the host beside those of the engine.
//
// The engine parses a request and says which calls it does not have. They are answered here, all at
// a time, and the engine writes the responses: envelopes, ids and batches are not known here.

import { MethodError, usageError } from "./errors.js";
import { parseJson, writeJson } from "./json.js";
import { typeName } from "./options.js";

/** @import { EndpointOptions, HostMethod, ResponseKind } from "../../index.js" */

/** @typedef {Map<string, HostMethod>} Methods */
/** @typedef {{ index: number, id: any, method: string, params: any }} OtherCall */
/** @typedef {{ index: number, json: string, kind: ResponseKind }} Answer */

/**
 * The methods of the options; `null` if there are none
 *
 * @param {EndpointOptions["methods"]} methods
 * @returns {Methods | null}
 */
export function hostMethods(methods) {
  if (methods === undefined) return null;
  if (methods === null || typeof methods !== "object") {
    throw usageError(`methods: ${typeName(methods)}, expected an object of functions`);
  }
  for (const [name, method] of Object.entries(methods)) {
    if (typeof method !== "function") throw usageError(`methods.${name}: ${typeName(method)}, expected a function`);
  }
  return new Map(Object.entries(methods));
}

/**
 * The answers to those of these calls whose methods the host has
 *
 * @param {Methods} methods
 * @param {OtherCall[]} calls
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Answer[]>}
 */
export async function answerCalls(methods, calls, signal) {
  const known = calls.filter((call) => methods.has(call.method));
  return Promise.all(known.map((call) => answer(/** @type {HostMethod} */ (methods.get(call.method)), call, signal)));
}

/**
 * @param {HostMethod} method
 * @param {OtherCall} call
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Answer>}
 */
async function answer(method, { index, id, params }, signal) {
  try {
    return { index, json: writeJson((await method(params, { id, signal })) ?? null), kind: "result" };
  } catch (error) {
    try {
      if (error instanceof MethodError) return { index, json: writeJson(error.error), kind: error.kind };
      return { index, json: writeJson(internalError(String(error))), kind: "internal" };
    } catch {
      // It has no text, or one that cannot be written.
      const message = "the method threw a value that cannot be written as JSON";
      return { index, json: writeJson(internalError(message)), kind: "internal" };
    }
  }
}

/**
 * The calls of the engine's text about a parsed request; an integer that a number would round is a
 * `bigint`
 *
 * @param {string} text
 * @returns {{ slot: number, calls: OtherCall[] }}
 */
export function parsedCalls(text) {
  return withNumbers(parseJson(text, { bigint: true }));
}

/**
 * The same value with a number for each `bigint` that a number has exactly
 *
 * @param {any} value
 * @returns {any}
 */
function withNumbers(value) {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value === null || typeof value !== "object") return value;
  // Of arrays too, whose indices are names.
  for (const name of Object.keys(value)) value[name] = withNumbers(value[name]);
  return value;
}

/** @param {string} message */
function internalError(message) {
  const cause = { info: { error_message: message }, name: "INTERNAL_ERROR" };
  return { name: "INTERNAL_ERROR", cause, code: -32000, message: "Server error", data: message };
}
