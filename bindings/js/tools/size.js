// The size of the `.wasm` file, and its largest functions.
//
// `node tools/size.js [count]`. The functions are those of the same module with its names.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { optimize } from "./optimize.js";

const CODE = 10;
const DATA = 11;
const CUSTOM = 0;
const FUNCTION_NAMES = 1;
const IMPORT = 2;
const FUNCTION = 0;

/** The size of a file, uncompressed and compressed as servers send it */
export function sizes(bytes) {
  return {
    raw: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    brotli: brotliCompressSync(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 11,
        [constants.BROTLI_PARAM_LGWIN]: 22,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }).length,
  };
}

/** A reader of the binary format's integers and names */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.offset = 0;
  }

  get isAtEnd() {
    return this.offset >= this.bytes.length;
  }

  byte() {
    return this.bytes[this.offset++];
  }

  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  take(length) {
    this.offset += length;
    return this.bytes.subarray(this.offset - length, this.offset);
  }

  name() {
    return new TextDecoder().decode(this.take(this.number()));
  }
}

function* sections(bytes) {
  const reader = new Reader(bytes);
  reader.take(8);
  while (!reader.isAtEnd) {
    const id = reader.byte();
    yield [id, new Reader(reader.take(reader.number()))];
  }
}

/** Number of imported functions, which have the first indices */
function importedFunctions(reader) {
  let functions = 0;
  for (let count = reader.number(); count > 0; count -= 1) {
    reader.name();
    reader.name();
    const kind = reader.byte();
    if (kind === FUNCTION) functions += 1;
    if (kind === FUNCTION || kind === 4) reader.number();
    else if (kind === 3) reader.take(2);
    else {
      if (kind === 1) reader.byte();
      const flags = reader.number();
      reader.number();
      if (flags & 1) reader.number();
    }
  }
  return functions;
}

function functionNames(reader) {
  const names = new Map();
  while (!reader.isAtEnd) {
    const kind = reader.byte();
    const body = new Reader(reader.take(reader.number()));
    if (kind !== FUNCTION_NAMES) continue;
    for (let count = body.number(); count > 0; count -= 1) names.set(body.number(), body.name());
  }
  return names;
}

/** Functions and the data section with their sizes, the largest first */
export function parts(bytes) {
  let imported = 0;
  let names = new Map();
  const functionSizes = [];
  const data = [];
  for (const [id, reader] of sections(bytes)) {
    if (id === IMPORT) imported = importedFunctions(reader);
    if (id === CODE) {
      for (let count = reader.number(); count > 0; count -= 1) {
        const size = reader.number();
        reader.take(size);
        functionSizes.push(size);
      }
    }
    if (id === DATA) data.push({ name: "data", size: reader.bytes.length });
    if (id === CUSTOM && reader.name() === "name") names = functionNames(reader);
  }
  const functions = functionSizes.map((size, index) => ({
    name: names.get(imported + index) ?? `function ${imported + index}`,
    size,
  }));
  return [...functions, ...data].sort((one, other) => other.size - one.size);
}

/** Those of the engine's module as it is published, by their names */
export async function namedParts() {
  const folder = mkdtempSync(join(tmpdir(), "milepost-size-"));
  try {
    const named = join(folder, "names.wasm");
    await optimize(fileURLToPath(new URL("../build/module.wasm", import.meta.url)), named, ["-g"]);
    return parts(readFileSync(named));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The names of the modules that the module imports from */
export function importedModules(bytes) {
  const modules = new Set();
  for (const { module } of WebAssembly.Module.imports(new WebAssembly.Module(bytes))) {
    modules.add(module);
  }
  return [...modules];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { raw, gzip, brotli } = sizes(readFileSync(new URL("../dist/milepost.wasm", import.meta.url)));
  console.log(`raw ${raw}, gzip ${gzip}, brotli ${brotli} bytes`);
  for (const { name, size } of (await namedParts()).slice(0, Number(process.argv[2] ?? 20))) {
    console.log(`${String(size).padStart(8)}  ${name}`);
  }
}
