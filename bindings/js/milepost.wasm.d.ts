// What an import of the `.wasm` file gives depends on the bundler: its bytes, its address or its module.
// Whichever it is, `init` of `milepost/slim` takes it.

declare const source: Uint8Array<ArrayBuffer> & string & WebAssembly.Module;
export default source;
