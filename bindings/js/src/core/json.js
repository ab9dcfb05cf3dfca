// JSON with integers of any size.
//
// The language's own parser does the work. It cannot keep large integers, so before it reads, each integer
// is put into a string with an `i` in front, and each string gets an `s`; afterwards both are what they
// were. No string of the text can be mistaken for an integer. Fractions and numbers with an exponent stay
// numbers.

/** @import { Exact, JsonOptions } from "../../index.js" */

/**
 * Parses JSON; with `bigint` every integer is one
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
export function parseJson(text, { bigint = false } = {}) {
  if (!bigint) return JSON.parse(text);
  try {
    return JSON.parse(marked(text), (_, value) => {
      if (typeof value !== "string") return value;
      return value[0] === "i" ? BigInt(value.slice(1)) : value.slice(1);
    });
  } catch (error) {
    // The same complaint, with the places of the text that was given.
    JSON.parse(text);
    throw error;
  }
}

const STRING_OR_NUMBER = /"|-?[0-9][0-9.eE+-]*/g;
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const BEFORE_VALUE = /[ \t\n\r]*:/y;

/** @param {string} text */
function marked(text) {
  let out = "";
  let done = 0;
  const token = new RegExp(STRING_OR_NUMBER);
  for (let found; (found = token.exec(text)); ) {
    const start = found.index;
    const isString = found[0] === '"';
    if (isString) token.lastIndex = endOfString(text, start + 1);
    BEFORE_VALUE.lastIndex = token.lastIndex;
    // Names of members stay as they are.
    if (BEFORE_VALUE.test(text)) continue;
    if (isString) {
      out += `${text.slice(done, start)}"s`;
      done = start + 1;
    } else if (INTEGER.test(found[0])) {
      out += `${text.slice(done, start)}"i${found[0]}"`;
      done = token.lastIndex;
    }
  }
  return out + text.slice(done);
}

/**
 * The place behind the quote that ends a string; the end of the text if none does
 *
 * @param {string} text
 * @param {number} start
 */
function endOfString(text, start) {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text[quote - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

/**
 * Writes JSON as the language does, and a `bigint` as an integer
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
    return `[${value.map((item, index) => write(item, String(index)) ?? "null").join(",")}]`;
  }
  const members = [];
  for (const [name, member] of Object.entries(value)) {
    const text = write(member, name);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
