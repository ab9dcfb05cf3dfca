// The package in bundles: for Node.js, for pages and workers, and for edge runtimes.

import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inBrowser } from "./browser.js";
import { FOLLOW, NAMES, OUTPUT, PROGRAM, inOtherFolder, node, project, run, tool } from "./project.js";
import { inWorkerd } from "./workerd.js";

test("esbuild bundles the package with the module inside", () => {
  const main = `import bytes from "milepost/milepost.wasm";
    import { init, ${NAMES} } from "milepost/slim";
    await init(bytes);${PROGRAM}
    console.log(output);`;
  const directory = project("esbuild", { "main.mjs": main });
  const flags = ["--bundle", "--format=esm", "--platform=neutral", "--conditions=import", "--target=es2022"];
  run(directory, tool("esbuild/bin/esbuild"), "main.mjs", ...flags, "--loader:.wasm=binary", "--outfile=out.mjs");
  rmSync(join(directory, "node_modules"), { recursive: true });
  assert.equal(node(directory, "out.mjs").trim(), OUTPUT);
});

/** Bundles `main.mjs` for Node.js; returns the path of the bundle */
function bundleForNode(directory, format, ...flags) {
  const bundle = `${format}/out.${format === "esm" ? "mjs" : "cjs"}`;
  const options = [
    "--bundle",
    "--platform=node",
    "--target=node20",
    `--format=${format}`,
    `--outfile=${bundle}`,
    ...flags,
  ];
  run(directory, tool("esbuild/bin/esbuild"), "main.mjs", ...options);
  return bundle;
}

/** As a function in the cloud has it: without `await` at the top, which CommonJS lacks */
const HANDLER = `
  const handler = async () => {${PROGRAM}\n return output; };
  handler().then(console.log, (error) => console.log(error.name + " " + error.message));`;

for (const format of ["esm", "cjs"]) {
  test(`a bundle for Node.js (${format}) needs no file beside it`, () => {
    const main = `import { ${NAMES} } from "milepost"; import { loadVerifier } from "milepost/verifier"; import { follow } from "milepost/follow";
      const check = async () => {${FOLLOW}\n return (await loadVerifier()).check("{}").result + " " + followed; };
      ${HANDLER.replace("return output", "return output + (await check())")}`;
    const directory = project(`node-${format}`, { "main.mjs": main });
    const bundle = bundleForNode(directory, format);
    assert.equal(inOtherFolder(directory, bundle), `${OUTPUT}unverifiable permission-denied`);
  });

  test(`a bundle for Node.js (${format}) may have the module inside`, () => {
    const main = `import bytes from "milepost/milepost.wasm";
      import { initSync, ${NAMES} } from "milepost/slim";
      initSync(bytes);${HANDLER}`;
    const directory = project(`node-inside-${format}`, { "main.mjs": main });
    const bundle = bundleForNode(directory, format, "--loader:.wasm=binary");
    rmSync(join(directory, "node_modules"), { recursive: true });
    assert.equal(node(directory, bundle).trim(), OUTPUT);
  });
}

test("webpack's bundle for Node.js needs no file beside it", () => {
  const main = `import { ${NAMES} } from "milepost";${HANDLER}`;
  const directory = project("node-webpack", { "main.mjs": main });
  const flags = ["--mode", "production", "--target", "node", "--entry", "./main.mjs"];
  node(directory, tool("webpack-cli/bin/cli.js"), ...flags);
  assert.equal(inOtherFolder(directory, "dist/main.js"), OUTPUT);
});

test("an edge runtime gets the module by an import, and refuses bytes", async () => {
  const main = `import { ${NAMES}, methodNames } from "milepost";
    import { loadAnswerVerifier, loadVerifier } from "milepost/verifier";
    import { follow } from "milepost/follow";
    methodNames();
    const known = { transactionHash: "1", blockHash: "1" };
    const verified = async () => (await loadVerifier()).check("{}").result + " " +
      (await loadAnswerVerifier()).verifyAnswer("{}", "{}", known).result;
    const work = async () => {${PROGRAM}${FOLLOW}\n return output + " " + (await verified()) + " " + followed; };
    export default { fetch: async () => new Response(await work()) };`;
  const bytes = `import { init } from "milepost/slim";
    const work = () => init(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
    const report = (error) => error.name + " " + error.message;
    export default { fetch: async () => new Response(await work().catch(report)) };`;
  const directory = project("edge", { "main.mjs": main, "bytes.mjs": bytes });
  const esbuild = (entry, ...flags) =>
    run(
      directory,
      tool("esbuild/bin/esbuild"),
      entry,
      "--bundle",
      "--format=esm",
      "--conditions=workerd,worker,browser",
      "--loader:.wasm=copy",
      "--asset-names=[name]",
      ...flags,
    );
  esbuild("main.mjs", "--outfile=dist/main.js");
  esbuild("bytes.mjs", "--outfile=dist/bytes.js");
  // The older of the two has no finalization registry.
  for (const date of ["2024-01-01", "2026-10-01"]) {
    assert.equal(
      await inWorkerd(directory, "main.js", date, ["milepost.wasm", "verifier.wasm", "follow.wasm"]),
      `${OUTPUT} unverifiable unverifiable permission-denied`,
    );
  }
  assert.match(
    await inWorkerd(directory, "bytes.js", "2026-10-01", []),
    /^UsageError the engine cannot be loaded: .*; an edge runtime has to import/,
  );
});

test("a page whose policy forbids WebAssembly is told what to allow", async (context) => {
  const files = (policy) => ({
    "index.html": `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}">
      <title>waiting</title><script type="module" src="/main.js"></script>`,
    "main.js": `import { init, methodNames } from "./node_modules/milepost/dist/web.js";
      init().then(() => methodNames()[0], (error) => error.name + " " + error.message)
        .then((text) => (document.title = text));`,
  });
  const title = (directory) =>
    inBrowser(directory, async (page) => {
      await page.waitForFunction(() => document.title !== "waiting");
      return page.title();
    });
  const refused = await title(project("policy", files("script-src 'self'")));
  if (refused === undefined) return context.skip("Chromium is not installed");
  assert.match(refused, /^UsageError the engine cannot be loaded: .*'wasm-unsafe-eval'/);
  // The directives that the README names.
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const policy = readme.match(/`(script-src [^`]*)`/)[1];
  assert.equal(await title(project("allowed", files(policy))), "EXPERIMENTAL_tx_status");
});

const PAGE = {
  "index.html": '<!doctype html><title>waiting</title><script type="module" src="/main.js"></script>',
  "main.js": `import { init, ${NAMES} } from "milepost";
    import { loadAnswerVerifier, loadVerifier } from "milepost/verifier";
    import { follow } from "milepost/follow";
    try {
      await init();${PROGRAM}${FOLLOW}
      if (followed !== "permission-denied") throw new Error(followed);
      const known = { transactionHash: "1", blockHash: "1" };
      const results = [(await loadVerifier()).check("{}"), (await loadAnswerVerifier()).verifyAnswer("{}", "{}", known)];
      for (const { result } of results) if (result !== "unverifiable") throw new Error(result);
      const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
      worker.onmessage = ({ data }) => (document.title = output + " / " + data);
      worker.onerror = (event) => (document.title = "worker: " + event.message);
    } catch (error) {
      document.title = error.name + ": " + error.message;
    }`,
  "worker.js": `import { init, ${NAMES} } from "milepost";
    await init();${PROGRAM}
    postMessage(output);`,
};

test("the package works in a page and a worker built by Vite", async (context) => {
  const directory = project("vite", {
    ...PAGE,
    "vite.config.mjs": 'export default { build: { target: "es2022" }, worker: { format: "es" } };',
  });
  node(directory, tool("vite/bin/vite.js"), "build", "--logLevel", "error");
  await expectTitle(context, join(directory, "dist"));
});

test("the package works in a page and a worker on Vite's development server", async (context) => {
  const directory = project("vite-dev", PAGE);
  const { createServer } = await import(pathToFileURL(tool("vite/dist/node/index.js")));
  const server = await createServer({
    root: directory,
    logLevel: "error",
    server: { port: 0, host: "127.0.0.1", hmr: false, ws: false },
  });
  await server.listen();
  try {
    await expectTitle(context, server.httpServer.address().port);
  } finally {
    await server.close();
  }
});

test("the package works in a page and a worker built by webpack", async (context) => {
  const directory = project("webpack", PAGE);
  cpSync(join(directory, "main.js"), join(directory, "src/index.js"));
  cpSync(join(directory, "worker.js"), join(directory, "src/worker.js"));
  node(directory, tool("webpack-cli/bin/cli.js"), "--mode", "production", "--entry", "./src/index.js");
  const html = '<!doctype html><title>waiting</title><script src="main.js"></script>';
  writeFileSync(join(directory, "dist/index.html"), html);
  await expectTitle(context, join(directory, "dist"));
});

/** Opens a folder or a port in the browser and waits for the page's title */
async function expectTitle(context, target) {
  const title = await inBrowser(target, async (page) => {
    await page.waitForFunction(() => document.title !== "waiting");
    return page.title();
  });
  if (title === undefined) return context.skip("Chromium is not installed");
  assert.equal(title, `${OUTPUT} / ${OUTPUT}`);
}
