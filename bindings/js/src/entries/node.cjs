// The entry for Node.js: reads the `.wasm` file beside it when the engine is first needed.

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { initSync, setLoader, init, ...exported } = require("./core.cjs");

const read = () => readFileSync(join(__dirname, "milepost.wasm"));
setLoader({ loadSync: read, source: read });

module.exports = { ...exported, init: () => init() };
