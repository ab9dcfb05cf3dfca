// Builds `dist`: `node build.js`, with `glue.js` and `module.wasm` in `build`.
//
// Optimizes the module and strips its names (`build/names.wasm` has them, for `tools/size.js`),
// bundles the sources into one ES module and one CommonJS module, and copies the entries as they
// are.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { version } = JSON.parse(readFileSync(here("package.json"), "utf8"));

/** The features that the compiler enables by default, so the optimizer requires no others */
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

const optimize = (...options) =>
  execFileSync(process.execPath, [
    here("node_modules/binaryen/bin/wasm-opt"),
    here("build/module.wasm"),
    "-O3",
    "--converge",
    // Inlining larger functions into their only caller saves a call but adds 11 kB after gzip.
    "--one-caller-inline-max-function-size=20",
    ...FEATURES,
    ...options,
  ]);
optimize("--strip-debug", "--strip-producers", "-o", here("dist/milepost.wasm"));
optimize("-g", "-o", here("build/names.wasm"));

for (const [format, extension] of [
  ["esm", "js"],
  ["cjs", "cjs"],
]) {
  await build({
    entryPoints: [here("src/core/index.js")],
    outfile: here(`dist/core.${extension}`),
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

// The same declarations for CommonJS, under the file extensions that TypeScript expects.
for (const name of readdirSync(here(".")).filter((name) => /^\w+\.d\.ts$/.test(name))) {
  const text = readFileSync(here(name), "utf8").replaceAll(/(from "\.\/\w+)\.js"/g, '$1.cjs"');
  writeFileSync(here(`dist/types/${name.replace(".d.ts", ".d.cts")}`), text);
}
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(here(`../../${name}`), here(name));
