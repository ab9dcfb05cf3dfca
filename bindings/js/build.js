// Builds `dist`: `node build.js`, with `glue.js` and `module.wasm` of the engine in `build`, of the
// engine with archives in `build/archive`, and of the modules beside it in `build/verifier` and
// `build/proof`.
//
// Optimizes the modules and strips their names (`build/names.wasm` has them, for `tools/size.js`),
// bundles the sources of each folder into one ES module and one CommonJS module, and writes the
// entries, which differ in how they load the engine.

import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { optimize } from "./tools/optimize.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here("package.json"), "utf8"));

rmSync(here("dist"), { recursive: true, force: true });
mkdirSync(here("dist/types"), { recursive: true });
copyFileSync(here("../../core/blocks.jsonl"), here("dist/blocks.jsonl"));

// Only tests load modules of a development build, which is slow to optimize.
const write = process.env.MILEPOST_UNOPTIMIZED ? (from, to) => copyFileSync(from, to) : optimize;
write(here("build/module.wasm"), here("dist/milepost.wasm"));
write(here("build/module.wasm"), here("build/names.wasm"), ["-g"]);
for (const name of ["archive", "verifier", "proof"])
  write(here(`build/${name}/module.wasm`), here(`dist/${name}.wasm`));

/** Bundles sources with their maps, and returns the names that the first of them exports */
async function bundle(format, extension, entryPoints, options) {
  const { metafile } = await build({
    entryPoints,
    outdir: here("dist"),
    outExtension: { ".js": `.${extension}` },
    bundle: true,
    format,
    target: "es2022",
    define: { __VERSION__: JSON.stringify(version) },
    legalComments: "none",
    sourcemap: "linked",
    metafile: true,
    ...options,
  });
  const first = `/${Object.keys(entryPoints)[0]}.${extension}`;
  return Object.entries(metafile.outputs).find(([path]) => path.endsWith(first))[1].exports;
}

/** Takes what is imported of the core from its bundle, so that an entry shares its classes */
const coreAt = (path) => ({
  name: "core",
  setup: (build) => build.onResolve({ filter: /core\/index\.js$/ }, () => ({ path, external: true })),
});

// CommonJS is not minified: Node.js prints the line of an error that is not caught. Without
// `__esModule`, which not all bundlers take for the same when a module imports it.
const footer = { js: "module.exports = { ...module.exports };" };
const minify = { minifyWhitespace: true, minifySyntax: true };

/** Bundles a folder beside the core in both formats; returns the names that it exports */
async function bundles(name) {
  const entry = { [name]: here(`src/${name}/index.js`) };
  await bundle("cjs", "cjs", entry, { footer, plugins: [coreAt("./core.cjs")] });
  return (await bundle("esm", "js", entry, { ...minify, plugins: [coreAt("./core.js")] })).sort();
}

await bundle("cjs", "cjs", { core: here("src/node.js") }, { footer });
// The client and the check of answers share their classes with the core, and not the whole of it.
const modules = {
  core: here("src/core/index.js"),
  client: here("src/client/index.js"),
  proof: here("src/proof/index.js"),
};
const split = { ...minify, splitting: true, chunkNames: "shared-[hash]" };
const names = (await bundle("esm", "js", modules, split))
  .filter((name) => !["setLoader", "internal"].includes(name))
  .sort();
const without = (...omitted) => names.filter((name) => !omitted.includes(name)).join(", ");
const followNames = (await bundles("follow")).join(", ");
const archiveNames = (await bundles("archive")).join(", ");
await bundles("verifier");

/** What the client exports besides itself */
const CLIENT =
  "EndpointResponse, ErrorCode, MilepostError, RequestError, StorageError, UsageError, parseJson, writeJson";

/** The entries of the package by file; modules and CommonJS share their state in Node.js */
const ENTRIES = {
  // For Node.js: reads the `.wasm` file beside it when the engine is first needed.
  "node.cjs": `const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { initSync, internal, setLoader, init, Client, connect, loadAnswerVerifier, ...exported } = require("./core.cjs");

const read = () => readFileSync(join(__dirname, "milepost.wasm"));
setLoader({ loadSync: read, source: read });

module.exports = { ...exported, init: () => init() };
`,
  // Bundlers recognize the URL here too; a bundle in CommonJS has no `import.meta.url`.
  "node.js": `import { readFileSync } from "node:fs";
import { join } from "node:path";
import core from "./core.cjs";

const read = () =>
  readFileSync(
    import.meta.url ? new URL("./milepost.wasm", import.meta.url) : join(__dirname, "milepost.wasm"),
  );
core.setLoader({ loadSync: read, source: read });

export const init = () => core.init();
export const { ${without("init", "initSync")} } = core;
`,
  // For web pages: bundlers recognize the URL and copy the `.wasm` file along.
  "web.js": `import { init as load, setLoader } from "./core.js";

setLoader({ source: () => new URL("./milepost.wasm", import.meta.url) });

export const init = () => load();
export { ${without("init", "initSync")} } from "./core.js";
`,
  // For edge runtimes, which compile what a program imports and nothing else.
  "workerd.js": `import module from "./milepost.wasm";
import { init as load, setLoader } from "./core.js";

setLoader({ loadSync: () => module, source: () => module });

export const init = () => load();
export { ${without("init", "initSync")} } from "./core.js";
`,
  // Without a loader: the user passes the source of the engine to `init`.
  "slim.cjs": `const { internal, setLoader, Client, connect, loadAnswerVerifier, ...exported } = require("./core.cjs");

module.exports = exported;
`,
  "slim-node.js": `import milepost from "./slim.cjs";

export const { ${without()} } = milepost;
`,
  // Without the engine; in Node.js it is in the file of the core, which loads the engine later.
  "client.cjs": `const { Client, connect, ...core } = require("./core.cjs");
const { ${CLIENT} } = core;

module.exports = { Client, connect, ${CLIENT} };
`,
  "client-node.js": `import client from "./client.cjs";

export const { Client, connect, ${CLIENT} } = client;
`,
  "slim.js": `export { ${without()} } from "./core.js";
`,
  // Shares the classes of CommonJS in Node.js.
  "follow-node.js": `import entry from "./follow.cjs";

export const { ${followNames} } = entry;
`,
  // With the engine that has archives: its loader replaces the one of the entry of the package.
  "archive-node.cjs": `const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { setLoader } = require("./core.cjs");

const read = () => readFileSync(join(__dirname, "archive.wasm"));
setLoader({ loadSync: read, source: read }, true);

module.exports = { ...require("./archive.cjs") };
`,
  "archive-node.js": `import { readFileSync } from "node:fs";
import { join } from "node:path";
import core from "./core.cjs";
import entry from "./archive.cjs";

const read = () =>
  readFileSync(
    import.meta.url ? new URL("./archive.wasm", import.meta.url) : join(__dirname, "archive.wasm"),
  );
core.setLoader({ loadSync: read, source: read }, true);

export const { ${archiveNames} } = entry;
`,
  "archive-web.js": `import { setLoader } from "./core.js";

setLoader({ source: () => new URL("./archive.wasm", import.meta.url) }, true);

export { ${archiveNames} } from "./archive.js";
`,
  "archive-workerd.js": `import module from "./archive.wasm";
import { setLoader } from "./core.js";

setLoader({ loadSync: () => module, source: () => module }, true);

export { ${archiveNames} } from "./archive.js";
`,
  // The entries of the modules beside the engine differ in how they load them, as those of the
  // engine do.
  "verifier-node.cjs": `const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { load } = require("./verifier.cjs");

const read = async () => readFileSync(join(__dirname, "verifier.wasm"));

module.exports = { loadVerifier: (source = read()) => load(source) };
`,
  "verifier-node.js": `import { readFileSync } from "node:fs";
import { join } from "node:path";
import verifier from "./verifier.cjs";

const read = async () =>
  readFileSync(
    import.meta.url ? new URL("./verifier.wasm", import.meta.url) : join(__dirname, "verifier.wasm"),
  );

export const loadVerifier = (source = read()) => verifier.load(source);
`,
  "proof-node.cjs": `const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { loadAnswerVerifier: load } = require("./core.cjs");

const read = async () => readFileSync(join(__dirname, "proof.wasm"));

module.exports = { loadAnswerVerifier: (source = read()) => load(source) };
`,
  "proof-node.js": `import { readFileSync } from "node:fs";
import { join } from "node:path";
import core from "./core.cjs";

const read = async () =>
  readFileSync(
    import.meta.url ? new URL("./proof.wasm", import.meta.url) : join(__dirname, "proof.wasm"),
  );

export const loadAnswerVerifier = (source = read()) => core.loadAnswerVerifier(source);
`,
  "proof-web.js": `import { load } from "./proof.js";

export const loadAnswerVerifier = (source = new URL("./proof.wasm", import.meta.url)) => load(source);
`,
  "proof-workerd.js": `import module from "./proof.wasm";
import { load } from "./proof.js";

export const loadAnswerVerifier = (source = module) => load(source);
`,
  "verifier-web.js": `import { load } from "./verifier.js";

export const loadVerifier = (source = new URL("./verifier.wasm", import.meta.url)) => load(source);
`,
  "verifier-workerd.js": `import module from "./verifier.wasm";
import { load } from "./verifier.js";

export const loadVerifier = (source = module) => load(source);
`,
};
for (const [name, text] of Object.entries(ENTRIES)) writeFileSync(here(`dist/${name}`), text);

// The same declarations for CommonJS, under the file extensions that TypeScript expects.
for (const name of readdirSync(here(".")).filter((name) => /^\w+\.d\.ts$/.test(name))) {
  const text = readFileSync(here(name), "utf8").replaceAll(/(from "\.\/\w+)\.js"/g, '$1.cjs"');
  writeFileSync(here(`dist/types/${name.replace(".d.ts", ".d.cts")}`), text);
}
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(here(`../../${name}`), here(name));
