// Compiles modules from what users pass as their source, for every entry that has one.
//
// Says what to do where a file is missing or the platform refuses to compile.

import { ErrorCode, MilepostError, PanicError, usageError } from "./errors.js";

/** @import { WasmSource } from "../../slim.js" */

export const version = __VERSION__;

/**
 * @param {unknown} value
 * @returns {value is WebAssembly.Module}
 */
export function isModule(value) {
  return Object.prototype.toString.call(value) === "[object WebAssembly.Module]";
}

/**
 * Compiles a module; errors end with the hint
 *
 * @param {WasmSource} source
 * @param {string} hint
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compile(source, hint) {
  const resolved = await source;
  const isUrl = typeof resolved === "string" || resolved instanceof URL;
  if (isUrl) return compileResponse(fetchUrl(resolved, hint), hint);
  if (typeof Response === "function" && resolved instanceof Response) return compileResponse(resolved, hint);
  if (isModule(resolved)) return resolved;
  return WebAssembly.compile(checkBytes(resolved, "the source", hint));
}

/**
 * @param {string | URL} url
 * @param {string} hint
 */
async function fetchUrl(url, hint) {
  try {
    return await fetch(url);
  } catch (cause) {
    throw usageError(`${url}: cannot be loaded; ${hint}`, { cause });
  }
}

/**
 * @param {Response | Promise<Response>} promised
 * @param {string} hint
 */
async function compileResponse(promised, hint) {
  const response = await promised;
  const name = response.url || "the response";
  if (!response.ok) throw usageError(`${name}: HTTP status ${response.status}; ${hint}`);
  // Streaming fails without this media type, which some servers do not know.
  if (response.headers.get("content-type") === "application/wasm") {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(checkBytes(await response.arrayBuffer(), name, hint));
}

/**
 * What to do about a file that is not where it should be, which bundlers leave behind
 *
 * @param {string} file
 * @param {string} target
 */
export const fileHint = (file, target) =>
  `copy dist/${file} of the package there, or pass its URL or bytes to ${target}`;

/** What to do where the platform refuses to compile */
const POLICY_HINT =
  "a Content-Security-Policy has to allow 'wasm-unsafe-eval' in its script-src; " +
  "an edge runtime has to import milepost/milepost.wasm as a module and pass that";

/**
 * An error of loading, also where the platform or the file system refused
 *
 * @param {any} cause
 * @param {string} hint
 * @param {string} [what]
 */
export function loadError(cause, hint, what = "the engine") {
  if (cause instanceof MilepostError) return cause;
  const found = cause?.name === "CompileError" ? POLICY_HINT : hint;
  return usageError(`${what} cannot be loaded: ${cause?.message ?? cause}; ${found}`, { cause });
}

/**
 * @param {unknown} bytes
 * @param {string} name
 * @param {string} hint
 * @returns {BufferSource}
 */
export function checkBytes(bytes, name, hint) {
  if (!(bytes instanceof ArrayBuffer) && !ArrayBuffer.isView(bytes)) {
    throw usageError(`${name}: expected bytes, a module, a URL or a response`);
  }
  const start = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  if (start.length < 4 || [0x00, 0x61, 0x73, 0x6d].some((byte, index) => start[index] !== byte)) {
    throw usageError(`${name}: not WebAssembly; ${hint}`);
  }
  return /** @type {BufferSource} */ (bytes);
}

/**
 * @param {any} cause
 * @param {string} [what]
 */
export function panicError(cause, what = "the engine") {
  const detail = `${what} panicked and cannot be used any more: ${cause?.message ?? cause}`;
  return new PanicError(ErrorCode.PANIC, detail, { cause });
}

/**
 * Instantiates a module beside the engine's
 *
 * @template {{ initSync(input: { module: WebAssembly.Module }): unknown, version(): string }} Glue
 * @param {WasmSource} source
 * @param {Glue} bindings
 * @param {string} hint
 * @param {string} what
 */
export async function instantiateBeside(source, bindings, hint, what) {
  try {
    bindings.initSync({ module: await compile(source, hint) });
    const found = bindings.version();
    if (found !== version) {
      throw usageError(`the source is ${what} of version ${found}, expected ${version}`);
    }
    return bindings;
  } catch (cause) {
    throw loadError(cause, hint, what);
  }
}
