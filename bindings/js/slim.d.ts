// The package without a loader of its own: for libraries, and for bundlers and runtimes that want to say
// where the `.wasm` file comes from. It is in the package as `milepost/milepost.wasm`.

export * from "./index.js";

/** Where the engine comes from: its bytes, a compiled module, an address, or a response */
export type WasmSource =
  | BufferSource
  | WebAssembly.Module
  | URL
  | string
  | Response
  | PromiseLike<BufferSource | WebAssembly.Module | Response>;

/**
 * Loads the engine from `source`. Only the first source counts; without one, it waits for the one that
 * was given before.
 *
 * @throws {UsageError} The source is no engine of this version, or there is none.
 */
export function init(source?: WasmSource): Promise<void>;

/** Loads the engine at once, from its bytes or a compiled module */
export function initSync(source: BufferSource | WebAssembly.Module): void;
