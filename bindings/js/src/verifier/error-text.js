// The text in which the module returns an error.

/** @import { ErrorCode as Code } from "../../index.js" */
/** @import { ErrorClass } from "../core/errors.js" */

/**
 * The error in a text: `<code> <length of path> <length of detail> `, then path, detail and message
 *
 * @param {string} text
 * @param {ErrorClass} errorClass
 */
export function errorOf(text, errorClass) {
  const numbers = text.split(" ", 3);
  const [code, pathLength, detailLength] = numbers.map(Number);
  const start = numbers.join(" ").length + 1;
  const middle = start + pathLength;
  const end = middle + detailLength;
  const [path, detail, message] = [text.slice(start, middle), text.slice(middle, end), text.slice(end)];
  return new errorClass(/** @type {Code} */ (code), detail, { path, message });
}
