// Loads the engine's code: compiled once, and instantiated for each endpoint.
//
// An entry of the package sets a loader that knows where the `.wasm` file is; `slim` sets none, and
// its users pass a source. The first source that succeeds is used.

import { glue } from "../../build/glue.js";
import { ErrorCode, MilepostError, PanicError } from "./errors.js";
import { toMilepostError, usageError, UsageError } from "./errors.js";
import { Memory } from "./memory.js";

/** @import { WasmBytes, WasmModule, WasmSource } from "../../slim.js" */
/** @import { ErrorClass } from "./errors.js" */

/** @typedef {ReturnType<typeof glue>} Glue */
/** @typedef {InstanceType<Glue["Endpoint"]>} EngineEndpoint */
/** @typedef {InstanceType<Glue["Config"]>} Config */
/** @typedef {Glue["EngineError"]["prototype"]} EngineError */
/** @typedef {{ loadSync?: () => WasmBytes | WasmModule, source: () => WasmSource }} Loader */

export const version = __VERSION__;

/** @type {WebAssembly.Module | null} */
let module = null;
/** @type {Promise<void> | null} */
let loading = null;
/** @type {Loader | null} */
let loader = null;

/**
 * Sets where the code comes from when no source is passed to `init`; the first call counts
 *
 * @param {Loader} newLoader
 */
export function setLoader(newLoader) {
  loader ??= newLoader;
}

/** @param {WasmSource} [source] */
export async function init(source) {
  if (module) return;
  if (!loading) {
    loading = load(source);
    // A later call may pass another source.
    loading.catch(() => (loading = null));
  }
  await loading;
}

/** @param {WasmSource} [source] */
async function load(source) {
  try {
    const used = source ?? loader?.source();
    if (used === undefined) {
      throw usageError("no source of the engine was given: pass bytes, a module, a URL or a response");
    }
    setModule(await compile(used, HINT));
  } catch (cause) {
    throw loadError(cause, HINT);
  }
}

/** @param {WasmBytes | WasmModule} source */
export function initSync(source) {
  loadSync(() => source);
}

/** @param {() => WasmBytes | WasmModule} source */
function loadSync(source) {
  if (module) return;
  try {
    setModule(compileSync(source()));
  } catch (cause) {
    throw loadError(cause, HINT);
  }
}

/** The module; loads it if that is possible synchronously */
function loadedModule() {
  if (loader?.loadSync) loadSync(loader.loadSync);
  if (!module) throw usageError("the engine is not loaded yet: await init() first");
  return module;
}

/** @param {WebAssembly.Module} compiled */
function setModule(compiled) {
  if (module) return;
  const found = instantiate(compiled).glue.version();
  if (found !== version) {
    throw usageError(`the source is an engine of version ${found}, expected ${version}`);
  }
  module = compiled;
}

/** @param {WebAssembly.Module} compiled */
function instantiate(compiled) {
  const bindings = glue();
  try {
    const { memory } = bindings.initSync({ module: compiled });
    return { glue: bindings, memory };
  } catch (cause) {
    throw usageError("the source is another WebAssembly module, expected the engine", { cause });
  }
}

/**
 * @param {unknown} value
 * @returns {value is WebAssembly.Module}
 */
function isModule(value) {
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

/** @param {WasmBytes | WasmModule} source */
function compileSync(source) {
  return isModule(source) ? source : new WebAssembly.Module(checkBytes(source, "the source", HINT));
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
const HINT = fileHint("milepost.wasm", "init of milepost/slim");

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
function checkBytes(bytes, name, hint) {
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

/** An instance of the engine's code; converts its errors, and refuses every call after a panic */
export class Instance {
  /** @type {Glue} */
  #glue;
  /** @type {unknown} */
  #panic = null;
  #onPanic;

  /** @param {(error: PanicError) => void} onPanic */
  constructor(onPanic = () => {}) {
    const { glue, memory } = instantiate(loadedModule());
    this.#glue = glue;
    this.memory = new Memory(memory);
    this.#onPanic = onPanic;
  }

  /**
   * Calls `work` with the glue of the instance; throws errors of the engine as `errorClass`
   *
   * @template T
   * @param {(glue: Glue) => T} work
   * @param {ErrorClass} errorClass
   * @returns {T}
   */
  run(work, errorClass = UsageError) {
    if (this.#panic) throw panicError(this.#panic);
    try {
      return work(this.#glue);
    } catch (thrown) {
      if (thrown instanceof this.#glue.EngineError) throw toMilepostError(thrown, errorClass);
      this.#panic = thrown;
      const error = panicError(thrown);
      this.#onPanic(error);
      throw error;
    }
  }

  get hasPanicked() {
    return this.#panic !== null;
  }
}

/**
 * @param {any} cause
 * @param {string} [what]
 */
export function panicError(cause, what = "the engine") {
  const detail = `${what} panicked and cannot be used any more: ${cause?.message ?? cause}`;
  return new PanicError(ErrorCode.PANIC, detail, { cause });
}
