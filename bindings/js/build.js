// Makes `dist` of the engine's module and the sources: `node build.js`, with `glue.js` and
// `module.wasm` in `build`.
//
// The module is optimised and loses its names (they are kept in `build/names.wasm`, for those who weigh it),
// the sources become one file for each kind of modules, and the entries are copied as they are.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here("package.json"), "utf8"));

/** What every engine of the last years can: nothing is asked for that the module does not have already */
const FEATURES = [
  "bulk-memory",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "reference-types",
  "sign-ext",
].map((feature) => `--enable-${feature}`);

rmSync(here("dist"), { recursive: true, force: true });
mkdirSync(here("dist/types"), { recursive: true });

const optimise = (...options) =>
  execFileSync(process.execPath, [
    here("node_modules/binaryen/bin/wasm-opt"),
    here("build/module.wasm"),
    "-O3",
    "--converge",
    // A large function that is moved into its one caller saves a call and costs what gzip would save: 11 kB.
    "--one-caller-inline-max-function-size=20",
    ...FEATURES,
    ...options,
  ]);
optimise("--strip-debug", "--strip-producers", "-o", here("dist/milepost.wasm"));
optimise("-g", "-o", here("build/names.wasm"));

for (const [format, ending] of [
  ["esm", "js"],
  ["cjs", "cjs"],
]) {
  await build({
    entryPoints: [here("src/core/index.js")],
    outfile: here(`dist/core.${ending}`),
    bundle: true,
    format,
    target: "es2022",
    define: { __VERSION__: JSON.stringify(version) },
    legalComments: "none",
    minifyWhitespace: true,
    minifySyntax: true,
  });
}
for (const entry of readdirSync(here("src/entries"))) {
  copyFileSync(here(`src/entries/${entry}`), here(`dist/${entry}`));
}

// What is said of modules is said of CommonJS: with other endings, for a compiler goes by these.
for (const name of readdirSync(here(".")).filter((name) => /^\w+\.d\.ts$/.test(name))) {
  const text = readFileSync(here(name), "utf8").replaceAll(/(from "\.\/\w+)\.js"/g, '$1.cjs"');
  writeFileSync(here(`dist/types/${name.replace(".d.ts", ".d.cts")}`), text);
}
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(here(`../../${name}`), here(name));
