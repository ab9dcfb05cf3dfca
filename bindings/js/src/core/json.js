// JSON with integers of any size.
//
// Uses `JSON.parse`, which rounds large integers: before parsing, each integer is put into a string
// that starts with `i`, and each string gets an `s` in front; a reviver converts both back. So no
// string can be mistaken for an integer. Fractions and numbers with an exponent stay numbers.

import { checkOptions, optionalBoolean } from "./options.js";

/** @import { Exact, JsonOptions } from "../../index.js" */

const JSON_OPTIONS = ["bigint"];

/**
 * Parses JSON; with `bigint` every integer becomes a `bigint`
 *
 * @template [T=unknown]
 * @overload
 * @param {string} text
 * @param {{ bigint?: false }} [options]
 * @returns {T}
 */
/**
 * @template [T=unknown]
 * @overload
 * @param {string} text
 * @param {{ bigint: true }} options
 * @returns {Exact<T>}
 */
/**
 * @template [T=unknown]
 * @overload
 * @param {string} text
 * @param {JsonOptions} [options]
 * @returns {T | Exact<T>}
 */
/**
 * @param {string} text
 * @param {JsonOptions} [options]
 * @returns {any}
 */
export function parseJson(text, options) {
  checkOptions(options, "options", JSON_OPTIONS);
  optionalBoolean(options?.bigint, "options.bigint");
  if (!options?.bigint) return JSON.parse(text);
  try {
    return JSON.parse(tagIntegers(text), (_, value) => {
      if (typeof value !== "string") return value;
      return value[0] === "i" ? BigInt(value.slice(1)) : value.slice(1);
    });
  } catch (error) {
    // Throws the error with the offsets of the original text.
    JSON.parse(text);
    throw error;
  }
}

const STRING_OR_NUMBER = /"|-?[0-9][0-9.eE+-]*/g;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const COLON = /[ \t\n\r]*:/y;

/** @param {string} text */
function tagIntegers(text) {
  let out = "";
  let copied = 0;
  const token = new RegExp(STRING_OR_NUMBER);
  for (let match; (match = token.exec(text)); ) {
    const start = match.index;
    const isString = match[0] === '"';
    if (isString) token.lastIndex = endOfString(text, start + 1);
    COLON.lastIndex = token.lastIndex;
    // A member name: stays as it is.
    if (COLON.test(text)) continue;
    if (isString) {
      out += `${text.slice(copied, start)}"s`;
      copied = start + 1;
    } else if (INTEGER.test(match[0])) {
      out += `${text.slice(copied, start)}"i${match[0]}"`;
      copied = token.lastIndex;
    }
  }
  return out + text.slice(copied);
}

/**
 * The index after the quote that ends a string; the end of the text if there is none
 *
 * @param {string} text
 * @param {number} start
 */
function endOfString(text, start) {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

/**
 * Writes JSON as `JSON.stringify` does, and a `bigint` as an integer
 *
 * @param {unknown} value
 * @returns {string}
 */
export function writeJson(value) {
  return write(value, "") ?? "null";
}

/**
 * @param {any} value
 * @param {string} key
 * @returns {string | undefined}
 */
function write(value, key) {
  if (typeof value === "bigint") return value.toString();
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (typeof value.toJSON === "function") return write(value.toJSON(key), key);
  if (Array.isArray(value)) {
    // Holes too, which `map` leaves out.
    return `[${[...value].map((item, index) => write(item, String(index)) ?? "null").join(",")}]`;
  }
  const members = [];
  for (const [name, member] of Object.entries(value)) {
    const text = write(member, name);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
