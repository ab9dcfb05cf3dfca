// In Node.js: the `.wasm` file is beside this one, and read when it is first needed.

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { initSync, provide, init, ...shown } = require("./core.cjs");

const read = () => readFileSync(join(__dirname, "milepost.wasm"));
provide({ now: read, source: read });

module.exports = { ...shown, init: () => init() };
