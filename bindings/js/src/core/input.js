// Checks what callers pass before it goes into the engine, where a value of the wrong type would
// cause a panic.

import { usageError } from "./errors.js";
import { writeJson } from "./json.js";
import { typeName } from "./options.js";

const encoder = new TextEncoder();

// The language's own getters: an object's own properties may shadow them.
const typedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);

const typeTag = getter(Symbol.toStringTag);
const length = getter("length");

/**
 * @param {PropertyKey} name
 * @returns {() => any}
 */
function getter(name) {
  // All typed arrays have both.
  return /** @type {any} */ (Object.getOwnPropertyDescriptor(typedArrayPrototype, name)).get;
}

/**
 * Whether the value is a `Uint8Array`, of this realm or another
 *
 * @param {unknown} value
 * @returns {value is Uint8Array}
 */
export function isBytes(value) {
  return typeTag.call(value) === "Uint8Array";
}

/**
 * The length of the array; 0 if its buffer is detached
 *
 * @param {Uint8Array} bytes
 * @returns {number}
 */
export function byteLength(bytes) {
  return length.call(bytes);
}

/**
 * A string as UTF-8, or bytes as they are
 *
 * @param {unknown} value
 * @param {string} name
 * @returns {Uint8Array}
 */
export function textBytes(value, name) {
  if (typeof value === "string") return encoder.encode(value);
  return bytesOnly(value, name, "a string or a Uint8Array");
}

/**
 * @param {unknown} value
 * @param {string} name
 * @param {string} [expected]
 */
export function bytesOnly(value, name, expected = "a Uint8Array") {
  if (isBytes(value)) return value;
  throw usageError(`${name}: ${typeName(value)}, expected ${expected}`);
}

/**
 * The body of a request as text or bytes
 *
 * @param {unknown} value
 * @returns {string | Uint8Array}
 */
export function requestBody(value) {
  if (typeof value === "string" || isBytes(value)) return value;
  if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value)) return writeJson(value);
  throw usageError(`body: ${typeName(value)}, expected a string or a Uint8Array`);
}

/**
 * The body of a request as bytes
 *
 * @param {unknown} value
 */
export function bodyBytes(value) {
  return textBytes(requestBody(value), "body");
}

/**
 * @param {any} value
 * @param {string} name
 * @returns {bigint}
 */
export function uint64(value, name) {
  const isInRange = (/** @type {bigint} */ number) => number >= 0n && number < 1n << 64n;
  if (typeof value === "bigint" && isInRange(value)) return value;
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw usageError(`${name}: ${value}, expected an integer from 0 to 18446744073709551615`);
}

/**
 * @param {any} value
 * @param {string} name
 * @param {number} [min]
 * @returns {number}
 */
export function uint32(value, name, min = 0) {
  if (Number.isInteger(value) && value >= min && value < 2 ** 32) return value;
  throw usageError(`${name}: ${value}, expected an integer from ${min} to 4294967295`);
}

/**
 * Milliseconds; `Infinity` is allowed
 *
 * @param {any} value
 * @param {string} name
 * @returns {number}
 */
export function duration(value, name) {
  if (typeof value === "number" && value >= 0) return value;
  throw usageError(`${name}: ${value}, expected milliseconds`);
}
