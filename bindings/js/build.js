// Builds `dist`: `node build.js`, with `glue.js` and `module.wasm` of the engine in `build`, and of
// the modules beside it in `build/verifier`, `build/follow` and `build/kit`.
//
// Optimizes the modules, bundles the sources of each folder into one ES module and one CommonJS
// module, and writes the entries, which differ in how they load the engine.

import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { optimize } from "./tools/optimize.js";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here("package.json"), "utf8"));

rmSync(here("dist"), { recursive: true, force: true });
mkdirSync(here("dist/types"), { recursive: true });
copyFileSync(here("../../core/blocks.jsonl"), here("dist/blocks.jsonl"));

// Only tests load modules of a development build, which is slow to optimize.
const write = process.env.MILEPOST_UNOPTIMIZED ? copyFileSync : optimize;
const MODULES = { milepost: "build", verifier: "build/verifier", follow: "build/follow", kit: "build/kit" };
await Promise.all(
  Object.entries(MODULES).map(([name, folder]) => write(here(`${folder}/module.wasm`), here(`dist/${name}.wasm`))),
);
// Programs for Node.js have the modules in their scripts, so a bundle needs no file beside it.
for (const name of ["milepost", "verifier", "follow"]) {
  const bytes = gzipSync(readFileSync(here(`dist/${name}.wasm`)), { level: 9 });
  writeFileSync(here(`dist/${name}.wasm.cjs`), `module.exports = "${bytes.toString("base64")}";\n`);
}

/** Bundles sources, and returns the names that the first of them exports */
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
// The client and the verifier share their classes with the core, and not the whole of it.
const modules = {
  core: here("src/core/index.js"),
  client: here("src/client/index.js"),
  verifier: here("src/verifier/index.js"),
};
const split = { ...minify, splitting: true, chunkNames: "shared-[hash]" };
const names = (await bundle("esm", "js", modules, split))
  .filter((name) => !["setLoader", "internal"].includes(name))
  .sort();
const without = (...omitted) => names.filter((name) => !omitted.includes(name)).join(", ");
const archiveNames = (await bundles("archive")).join(", ");
const [followNames, kitNames] = await Promise.all(
  ["follow", "kit"].map(async (name) => (await bundles(name)).filter((name) => !name.endsWith("Loader")).join(", ")),
);

/** What the client exports besides itself */
const CLIENT =
  "EndpointResponse, ErrorCode, MilepostError, RequestError, StorageError, UsageError, parseJson, writeJson";

/** The entries of the package by file; modules and CommonJS share their state in Node.js */
const ENTRIES = {
  // For Node.js: unpacks the engine when it is first needed.
  "node.cjs": `const { gunzipSync } = require("node:zlib");
const { initSync, internal, setLoader, init, Client, connect, loadVerifier, loadAnswerVerifier, ...exported } = require("./core.cjs");

const read = () => gunzipSync(Buffer.from(require("./milepost.wasm.cjs"), "base64"));
setLoader({ loadSync: read, source: read });

module.exports = { ...exported, init: () => init() };
`,
  "node.js": `import { gunzipSync } from "node:zlib";
import core from "./core.cjs";
import engine from "./milepost.wasm.cjs";

const read = () => gunzipSync(Buffer.from(engine, "base64"));
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
  "slim.cjs": `const { internal, setLoader, Client, connect, loadVerifier, loadAnswerVerifier, ...exported } = require("./core.cjs");

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
  "archive-node.js": `import entry from "./archive.cjs";

export const { ${archiveNames} } = entry;
`,
  // The entries of the modules beside the engine differ in how they load them, as those of the
  // engine do.
  "verifier-node.cjs": `const { gunzipSync } = require("node:zlib");
const core = require("./core.cjs");

const read = () => gunzipSync(Buffer.from(require("./verifier.wasm.cjs"), "base64"));

module.exports = {
  loadVerifier: (source = read()) => core.loadVerifier(source),
  loadAnswerVerifier: (source = read()) => core.loadAnswerVerifier(source),
};
`,
  "verifier-node.js": `import { gunzipSync } from "node:zlib";
import core from "./core.cjs";
import module from "./verifier.wasm.cjs";

const read = () => gunzipSync(Buffer.from(module, "base64"));

export const loadVerifier = (source = read()) => core.loadVerifier(source);
export const loadAnswerVerifier = (source = read()) => core.loadAnswerVerifier(source);
`,
  "verifier-web.js": `import * as verifier from "./verifier.js";

const url = () => new URL("./verifier.wasm", import.meta.url);

export const loadVerifier = (source = url()) => verifier.loadVerifier(source);
export const loadAnswerVerifier = (source = url()) => verifier.loadAnswerVerifier(source);
`,
  "verifier-workerd.js": `import module from "./verifier.wasm";
import * as verifier from "./verifier.js";

export const loadVerifier = (source = module) => verifier.loadVerifier(source);
export const loadAnswerVerifier = (source = module) => verifier.loadAnswerVerifier(source);
`,
  "follow-node.cjs": `const { gunzipSync } = require("node:zlib");
const { setFollowLoader, ...exported } = require("./follow.cjs");

setFollowLoader(() => gunzipSync(Buffer.from(require("./follow.wasm.cjs"), "base64")));

module.exports = exported;
`,
  "follow-node.js": `import { gunzipSync } from "node:zlib";
import entry from "./follow.cjs";
import module from "./follow.wasm.cjs";

entry.setFollowLoader(() => gunzipSync(Buffer.from(module, "base64")));

export const { ${followNames} } = entry;
`,
  "follow-web.js": `import { setFollowLoader } from "./follow.js";

setFollowLoader(() => new URL("./follow.wasm", import.meta.url));

export { ${followNames} } from "./follow.js";
`,
  "follow-workerd.js": `import module from "./follow.wasm";
import { setFollowLoader } from "./follow.js";

setFollowLoader(() => module);

export { ${followNames} } from "./follow.js";
`,
  "kit-node.cjs": `const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { setKitLoader, ...exported } = require("./kit.cjs");

setKitLoader(() => readFileSync(join(__dirname, "kit.wasm")));

module.exports = exported;
`,
  "kit-node.js": `import kit from "./kit-node.cjs";

export const { ${kitNames} } = kit;
`,
  "kit-web.js": `import { setKitLoader } from "./kit.js";

setKitLoader(() => new URL("./kit.wasm", import.meta.url));

export { ${kitNames} } from "./kit.js";
`,
};
for (const [name, text] of Object.entries(ENTRIES)) writeFileSync(here(`dist/${name}`), text);

// The same declarations for CommonJS, under the file extensions that TypeScript expects.
for (const name of readdirSync(here(".")).filter((name) => /^\w+\.d\.ts$/.test(name))) {
  const text = readFileSync(here(name), "utf8").replaceAll(/(from "\.\/\w+)\.js"/g, '$1.cjs"');
  writeFileSync(here(`dist/types/${name.replace(".d.ts", ".d.cts")}`), text);
}
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(here(`../../${name}`), here(name));
