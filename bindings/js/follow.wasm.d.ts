// What an import of the `.wasm` file is depends on the bundler: its bytes, its URL or its module.
// `follow` of `milepost/follow` takes each of them as its option `source`.

import type { Bytes } from "./platform.js";
import type { WasmModule } from "./slim.js";

declare const source: Bytes & string & WasmModule;
export default source;
