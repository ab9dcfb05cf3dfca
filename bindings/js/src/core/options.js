// Checks the options that callers pass.
//
// An option that is unknown or of the wrong type is refused by its name: it would have no effect.

import { usageError } from "./errors.js";

/** @import { RequestOptions } from "../../index.js" */

const REQUEST_OPTIONS = ["urlMethod"];

/**
 * @param {unknown} value
 * @param {string} name
 * @returns {string | undefined}
 */
export function optionalString(value, name) {
  if (value === undefined || typeof value === "string") return value;
  throw usageError(`${name}: ${typeName(value)}, expected a string`);
}

/**
 * @param {unknown} value
 * @param {string} name
 */
export function optionalBoolean(value, name) {
  if (value === undefined || typeof value === "boolean") return;
  throw usageError(`${name}: ${typeName(value)}, expected true or false`);
}

/**
 * Refuses members that are no options: a misspelled one would have no effect
 *
 * @param {unknown} value
 * @param {string} name
 * @param {readonly string[]} known
 */
export function checkOptions(value, name, known) {
  if (value === undefined) return;
  if (value === null || typeof value !== "object") {
    throw usageError(`${name}: ${typeName(value)}, expected an object`);
  }
  for (const option of Object.keys(value)) {
    if (known.includes(option)) continue;
    throw usageError(`${name}.${option}: unknown option, expected one of ${known.join(", ")}`);
  }
}

/** @param {unknown} value */
export function typeName(value) {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

/**
 * The option of a request that does not wait
 *
 * @param {RequestOptions} [options]
 */
export function urlMethodOf(options) {
  checkOptions(options, "options", REQUEST_OPTIONS);
  return optionalString(options?.urlMethod, "urlMethod");
}

/**
 * @param {any} value
 * @param {string} name
 * @param {string[]} allowed
 */
export function oneOf(value, name, allowed) {
  if (allowed.includes(value)) return value;
  throw usageError(`${name}: ${value}, expected one of ${allowed.join(", ")}`);
}
