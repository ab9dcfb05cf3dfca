// What an import of the `.wasm` file is depends on the bundler: its bytes, its URL or its module.
// `init` of `milepost/slim` takes each of them.

declare const source: Uint8Array<ArrayBuffer> & string & WebAssembly.Module;
export default source;
