// The package without a loader: for libraries, and for bundlers and runtimes that load the `.wasm`
// file themselves. The package has the file as `milepost/milepost.wasm`.

export * from "./index.js";

/** The source of the engine: its bytes, a compiled module, a URL, or a response */
export type WasmSource =
  | BufferSource
  | WebAssembly.Module
  | URL
  | string
  | Response
  | PromiseLike<BufferSource | WebAssembly.Module | Response>;

/**
 * Loads the engine from `source`. Only the first source is used; without one, awaits the load in
 * progress.
 *
 * @throws {UsageError} The source is not an engine of this version, or there is none.
 */
export function init(source?: WasmSource): Promise<void>;

/** Loads the engine synchronously from its bytes or a compiled module */
export function initSync(source: BufferSource | WebAssembly.Module): void;
