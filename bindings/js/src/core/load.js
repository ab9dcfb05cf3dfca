// Where the engine's code comes from: compiled once, and instantiated for each engine.
//
// An entry of the package provides a loader that knows where the `.wasm` file is; `slim` provides none,
// and its users name a source. The first of them that succeeds counts.

import { glue } from "../../build/glue.js";
import { ErrorCode, PanicError, refused, usage, UsageError } from "./errors.js";
import { Memory } from "./memory.js";

/** @import { WasmSource } from "../../slim.js" */
/** @import { Refused } from "./errors.js" */

/** @typedef {ReturnType<typeof glue>} Glue */
/** @typedef {InstanceType<Glue["Host"]>} Host */
/** @typedef {Glue["Question"]["prototype"]} Question */
/** @typedef {InstanceType<Glue["Setup"]>} Setup */
/** @typedef {Glue["Refusal"]["prototype"]} Refusal */
/** @typedef {{ now?: () => BufferSource, source: () => WasmSource }} Loader */

export const version = __VERSION__;

/** @type {WebAssembly.Module | null} */
let module = null;
/** @type {Promise<void> | null} */
let pending = null;
/** @type {Loader | null} */
let loader = null;

/**
 * Says where the code comes from when nobody names a source: at once, or by a promise, or both
 *
 * @param {Loader} found
 */
export function provide(found) {
  loader ??= found;
}

/** @param {WasmSource} [source] */
export async function init(source) {
  if (module) return;
  if (!pending) {
    const found = source ?? loader?.source();
    if (found === undefined) {
      throw usage("no source of the engine was given: pass bytes, a module, an address or a response");
    }
    pending = compile(found).then(accept);
    // Whoever comes later may name a better source.
    pending.catch(() => (pending = null));
  }
  await pending;
}

/** @param {BufferSource | WebAssembly.Module} source */
export function initSync(source) {
  if (!module) accept(compileSync(source));
}

/** The code, if it can be had at once */
export function loaded() {
  if (!module && loader?.now) accept(compileSync(loader.now()));
  if (!module) throw usage("the engine is not loaded yet: wait for init() first");
  return module;
}

/** @param {WebAssembly.Module} compiled */
function accept(compiled) {
  if (module) return;
  const found = instantiate(compiled).glue.version();
  if (found !== version) {
    throw usage(`the source is an engine of version ${found}, expected ${version}`);
  }
  module = compiled;
}

/** @param {WebAssembly.Module} compiled */
function instantiate(compiled) {
  const made = glue();
  try {
    const { memory } = made.initSync({ module: compiled });
    return { glue: made, memory };
  } catch (cause) {
    throw usage("the source is another WebAssembly module, expected the engine", { cause });
  }
}

/**
 * @param {unknown} value
 * @returns {value is WebAssembly.Module}
 */
function isModule(value) {
  return Object.prototype.toString.call(value) === "[object WebAssembly.Module]";
}

/** @param {WasmSource} source */
async function compile(source) {
  const given = await source;
  if (typeof given === "string" || given instanceof URL) return compileResponse(fetched(given));
  if (typeof Response === "function" && given instanceof Response) return compileResponse(given);
  if (isModule(given)) return given;
  return WebAssembly.compile(checked(given, "the source"));
}

/** @param {BufferSource | WebAssembly.Module} source */
function compileSync(source) {
  return isModule(source) ? source : new WebAssembly.Module(checked(source, "the source"));
}

/** @param {string | URL} address */
async function fetched(address) {
  try {
    return await fetch(address);
  } catch (cause) {
    throw usage(`${address}: cannot be loaded; ${HINT}`, { cause });
  }
}

/** @param {Response | Promise<Response>} promised */
async function compileResponse(promised) {
  const response = await promised;
  const from = response.url || "the response";
  if (!response.ok) throw usage(`${from}: HTTP status ${response.status}; ${HINT}`);
  // Servers that do not know the type make streaming fail; the bytes may be right all the same.
  if (response.headers.get("content-type") === "application/wasm") {
    return WebAssembly.compileStreaming(response);
  }
  return WebAssembly.compile(checked(await response.arrayBuffer(), from));
}

const HINT =
  "pass the address of milepost/milepost.wasm to init of milepost/slim if the bundler moved it";

/**
 * @param {unknown} bytes
 * @param {string} from
 * @returns {BufferSource}
 */
function checked(bytes, from) {
  if (!(bytes instanceof ArrayBuffer) && !ArrayBuffer.isView(bytes)) {
    throw usage(`${from}: no bytes, no module, no address and no response`);
  }
  const start = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  if (start.length < 4 || [0x00, 0x61, 0x73, 0x6d].some((byte, index) => start[index] !== byte)) {
    throw usage(`${from}: not WebAssembly; ${HINT}`);
  }
  return /** @type {BufferSource} */ (bytes);
}

/**
 * An instance of the engine's code, and the border to it: refusals come out as errors, and after a panic
 * nothing goes in any more.
 */
export class Instance {
  /** @type {Glue} */
  #glue;
  /** @type {unknown} */
  #panic = null;
  #onPanic;

  /** @param {(error: PanicError) => void} onPanic */
  constructor(onPanic = () => {}) {
    const { glue, memory } = instantiate(loaded());
    this.#glue = glue;
    this.memory = new Memory(memory);
    this.#onPanic = onPanic;
  }

  /**
   * Works with the instance; `Wanted` is the class of the errors that it refuses with
   *
   * @template T
   * @param {(glue: Glue) => T} work
   * @param {Refused} Wanted
   * @returns {T}
   */
  run(work, Wanted = UsageError) {
    if (this.#panic) throw panicked(this.#panic);
    try {
      return work(this.#glue);
    } catch (thrown) {
      if (thrown instanceof this.#glue.Refusal) throw refused(thrown, Wanted);
      this.#panic = thrown;
      const error = panicked(thrown);
      this.#onPanic(error);
      throw error;
    }
  }

  get isOutOfOrder() {
    return this.#panic !== null;
  }
}

/** @param {any} cause */
function panicked(cause) {
  const detail = `the engine panicked and is out of order: ${cause?.message ?? cause}`;
  return new PanicError(ErrorCode.PANIC, detail, { cause });
}
