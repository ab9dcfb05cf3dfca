// What callers pass: checked before it goes into the engine, where a wrong type would look like a panic.

import { usage } from "./errors.js";
import { writeJson } from "./json.js";

const encoder = new TextEncoder();

/** Whether it is a `Uint8Array`, of this realm or of another */
export function isBytes(value) {
  return Object.prototype.toString.call(value) === "[object Uint8Array]";
}

/** Text or its bytes, as bytes */
export function textBytes(value, name) {
  if (typeof value === "string") return encoder.encode(value);
  if (isBytes(value)) return value;
  throw usage(`${name}: ${kind(value)}, expected a string or a Uint8Array`);
}

/** The body of a request, as bytes */
export function bodyBytes(value) {
  if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value)) {
    return encoder.encode(writeJson(value));
  }
  return textBytes(value, "body");
}

/** An unsigned integer of 64 bits */
export function uint64(value, name) {
  const fits = (number) => number >= 0n && number < 1n << 64n;
  if (typeof value === "bigint" && fits(value)) return value;
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw usage(`${name}: ${value}, expected an integer from 0 to 18446744073709551615`);
}

/** An unsigned integer of 32 bits */
export function uint32(value, name) {
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value;
  throw usage(`${name}: ${value}, expected an integer from 0 to 4294967295`);
}

/** Milliseconds, for ever included */
export function duration(value, name) {
  if (typeof value === "number" && value >= 0) return value;
  throw usage(`${name}: ${value}, expected milliseconds`);
}

/** One of some words */
export function word(value, name, words) {
  if (words.includes(value)) return value;
  throw usage(`${name}: ${value}, expected one of ${words.join(", ")}`);
}

/** A string, or nothing */
export function maybeString(value, name) {
  if (value === undefined || typeof value === "string") return value;
  throw usage(`${name}: ${kind(value)}, expected a string`);
}

function kind(value) {
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
