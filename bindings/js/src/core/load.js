// Loads the engine's code: compiled once, and instantiated for each endpoint.
//
// An entry of the package sets a loader that knows where the `.wasm` file is; `slim` sets none, and
// its users pass a source. The first source that succeeds is used.

import { glue } from "../../build/glue.js";
import { checkBytes, compile, fileHint, isModule, loadError, panicError, version } from "./compile.js";
import { toMilepostError, usageError, UsageError } from "./errors.js";
import { Memory } from "./memory.js";

/** @import { WasmBytes, WasmModule, WasmSource } from "../../slim.js" */
/** @import { ErrorClass, PanicError } from "./errors.js" */

/** @typedef {ReturnType<typeof glue>} Glue */
/** @typedef {InstanceType<Glue["Endpoint"]>} EngineEndpoint */
/** @typedef {InstanceType<Glue["Config"]>} Config */
/** @typedef {Glue["EngineError"]["prototype"]} EngineError */
/** @typedef {{ loadSync?: () => WasmBytes | WasmModule, source: () => WasmSource }} Loader */

const HINT = fileHint("milepost.wasm", "init of milepost/slim");

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

/** @param {WasmBytes | WasmModule} source */
function compileSync(source) {
  return isModule(source) ? source : new WebAssembly.Module(checkBytes(source, "the source", HINT));
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
