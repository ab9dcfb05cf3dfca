// The package without a loader: for libraries, and for bundlers and runtimes that load the `.wasm`
// file themselves. The package has the file as `milepost/milepost.wasm`.

import type { Platform } from "./platform.js";

export * from "./index.js";

/** The bytes of the engine */
export type WasmBytes = ArrayBuffer | ArrayBufferView;

/** A compiled module: a `WebAssembly.Module` */
export type WasmModule = typeof globalThis extends {
  WebAssembly: { Module: { prototype: infer Module } };
}
  ? Module
  : never;

/** The source of the engine: its bytes, a compiled module, a URL, or a response */
export type WasmSource =
  | WasmBytes
  | WasmModule
  | Platform<"URL">
  | string
  | Platform<"Response">
  | PromiseLike<WasmBytes | WasmModule | Platform<"Response">>;

/**
 * Loads the engine from `source`. Only the first source is used; without one, awaits the load in
 * progress.
 *
 * @throws {UsageError} The source is not an engine of this version, there is none, or the platform
 *   refuses to load it; `cause` is the error of the platform.
 */
export function init(source?: WasmSource): Promise<void>;

/** Loads the engine synchronously from its bytes or a compiled module */
export function initSync(source: WasmBytes | WasmModule): void;
