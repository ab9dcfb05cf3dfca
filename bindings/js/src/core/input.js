// What callers pass: checked before it goes into the engine, where a wrong type would look like a panic.

import { usage } from "./errors.js";
import { writeJson } from "./json.js";

const encoder = new TextEncoder();

// Properties of one's own may hide these; the language's say what is.
const typedArrays = Object.getPrototypeOf(Uint8Array.prototype);

const brand = getter(Symbol.toStringTag);
const length = getter("length");

/**
 * @param {PropertyKey} name
 * @returns {() => any}
 */
function getter(name) {
  // All typed arrays have both.
  return /** @type {any} */ (Object.getOwnPropertyDescriptor(typedArrays, name)).get;
}

/**
 * Whether it is a `Uint8Array`, of this realm or of another, whatever it says of itself
 *
 * @param {unknown} value
 * @returns {value is Uint8Array}
 */
export function isBytes(value) {
  return brand.call(value) === "Uint8Array";
}

/**
 * How many bytes it has: none if its memory was given away
 *
 * @param {Uint8Array} bytes
 * @returns {number}
 */
export function byteLength(bytes) {
  return length.call(bytes);
}

/**
 * Text or its bytes, as bytes
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
 * Bytes, and nothing else
 *
 * @param {unknown} value
 * @param {string} name
 * @param {string} [expected]
 */
export function bytesOnly(value, name, expected = "a Uint8Array") {
  if (isBytes(value)) return value;
  throw usage(`${name}: ${kind(value)}, expected ${expected}`);
}

/**
 * The body of a request, as text or bytes
 *
 * @param {unknown} value
 * @returns {string | Uint8Array}
 */
export function requestBody(value) {
  if (typeof value === "string" || isBytes(value)) return value;
  if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value)) return writeJson(value);
  throw usage(`body: ${kind(value)}, expected a string or a Uint8Array`);
}

/**
 * The body of a request, as bytes
 *
 * @param {unknown} value
 */
export function bodyBytes(value) {
  return textBytes(requestBody(value), "body");
}

/**
 * An unsigned integer of 64 bits
 *
 * @param {any} value
 * @param {string} name
 * @returns {bigint}
 */
export function uint64(value, name) {
  const fits = (/** @type {bigint} */ number) => number >= 0n && number < 1n << 64n;
  if (typeof value === "bigint" && fits(value)) return value;
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw usage(`${name}: ${value}, expected an integer from 0 to 18446744073709551615`);
}

/**
 * An unsigned integer of 32 bits
 *
 * @param {any} value
 * @param {string} name
 * @returns {number}
 */
export function uint32(value, name) {
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value;
  throw usage(`${name}: ${value}, expected an integer from 0 to 4294967295`);
}

/**
 * Milliseconds, for ever included
 *
 * @param {any} value
 * @param {string} name
 * @returns {number}
 */
export function duration(value, name) {
  if (typeof value === "number" && value >= 0) return value;
  throw usage(`${name}: ${value}, expected milliseconds`);
}

/**
 * One of some words
 *
 * @param {any} value
 * @param {string} name
 * @param {string[]} words
 */
export function word(value, name, words) {
  if (words.includes(value)) return value;
  throw usage(`${name}: ${value}, expected one of ${words.join(", ")}`);
}

/**
 * A string, or nothing
 *
 * @param {unknown} value
 * @param {string} name
 * @returns {string | undefined}
 */
export function maybeString(value, name) {
  if (value === undefined || typeof value === "string") return value;
  throw usage(`${name}: ${kind(value)}, expected a string`);
}

/** @param {unknown} value */
function kind(value) {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
