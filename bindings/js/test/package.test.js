// The packed package in small projects, installed as users install it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inBrowser } from "./browser.js";

const here = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "milepost-package-"));
const run = (directory, program, ...args) =>
  execFileSync(program, args, { cwd: directory, encoding: "utf8", stdio: "pipe" });
const tool = (path) => join(here, "node_modules", path);
const node = (directory, ...args) => run(directory, process.execPath, ...args);

let tarball;

before(() => {
  tarball = join(work, run(here, "npm", "pack", "--silent", "--pack-destination", work).trim());
});

after(() => rmSync(work, { recursive: true, force: true }));

/** Creates a project of these files and installs the package in it */
function project(name, files) {
  const directory = join(work, name);
  for (const [path, text] of Object.entries({ "package.json": '{"private":true}', ...files })) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  run(directory, "npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", tarball);
  return directory;
}

/** A program that decodes, waits, and stores the results in `output` */
const PROGRAM = `
  const endpoint = await Endpoint.create();
  const body = { method: "tx", params: ["11111111111111111111111111111111", "alice.near"] };
  const response = await endpoint.handleRequest(body, { timeout: 1 });
  let errorName = "";
  try {
    decodeTransaction("AAAA");
  } catch (error) {
    errorName = error.name;
  }
  const output = response.kind + " " + errorName + " " + validateRequest(body).method;`;
const OUTPUT = "timeout TransactionError transaction_status";
const NAMES = "Endpoint, decodeTransaction, validateRequest";

test("the tarball has the required files and one module", () => {
  const directory = project("tarball", {});
  const installed = join(directory, "node_modules/milepost");
  const files = readdirSync(installed, { recursive: true }).map(String);
  assert.equal(files.filter((name) => name.endsWith(".wasm")).length, 1);
  for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "index.d.ts", "slim.d.ts"]) {
    assert.ok(files.includes(name), name);
  }
  assert.ok(!files.some((name) => /^(test|src|tools|build|page|bench)/.test(name)), files.join(" "));
});

test("the package works in Node.js as a module", () => {
  const main = `import { ${NAMES} } from "milepost";${PROGRAM}\nconsole.log(output);`;
  assert.equal(node(project("esm", { "main.mjs": main }), "main.mjs").trim(), OUTPUT);
});

test("the package works in Node.js as CommonJS, and shares its state with modules", () => {
  const main = `const { ${NAMES}, MilepostError } = require("milepost");
    (async () => {${PROGRAM}
      const modules = await import("milepost");
      const slim = await import("milepost/slim");
      console.log(output, modules.MilepostError === MilepostError, slim.Endpoint === Endpoint);
    })();`;
  assert.equal(node(project("cjs", { "main.cjs": main }), "main.cjs").trim(), `${OUTPUT} true true`);
});

test("milepost/slim loads bytes and modules, and reports errors of loading", () => {
  const main = `import { readFileSync } from "node:fs";
    import { createRequire } from "node:module";
    import { init, initSync, methodNames, ${NAMES} } from "milepost/slim";
    const report = async (work) => { try { await work(); } catch (error) { console.log(error.name, error.message); } };
    await report(() => methodNames());
    await report(() => init());
    await report(() => init(new Uint8Array([60, 33, 100, 111])));
    await report(() => init("http://127.0.0.1:1/milepost.wasm"));
    await report(() => init(new Response("gone", { status: 404 })));
    await report(() => init(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))));
    const bytes = readFileSync(createRequire(import.meta.url).resolve("milepost/milepost.wasm"));
    await init(WebAssembly.compile(bytes));
    initSync(bytes);${PROGRAM}
    console.log(output);`;
  const lines = node(project("slim", { "main.mjs": main }), "main.mjs").trim().split("\n");
  assert.equal(lines.pop(), OUTPUT);
  const expected = [
    /UsageError the engine is not loaded yet/,
    /UsageError no source/,
    /UsageError the source: not WebAssembly/,
    /UsageError http:\S+: cannot be loaded/,
    /UsageError the response: HTTP status 404/,
    /UsageError the source is another WebAssembly module/,
  ];
  assert.equal(lines.length, expected.length, lines.join("\n"));
  expected.forEach((pattern, index) => assert.match(lines[index], pattern));
});

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

const PAGE = {
  "index.html": '<!doctype html><title>waiting</title><script type="module" src="/main.js"></script>',
  "main.js": `import { init, ${NAMES} } from "milepost";
    try {
      await init();${PROGRAM}
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

test("the types compile, for modules and for CommonJS", () => {
  const types = `import { Endpoint, EndpointResponse, decodeTransaction, parseJson, MilepostError, ErrorCode, IndexedDbStorage, type Exact, type ProtocolConfigRpcResponse, type RpcTransactionResponse, type Storage } from "milepost";
    import { init } from "milepost/slim";
    import source from "milepost/milepost.wasm";
    export async function use(bytes: Uint8Array<ArrayBuffer>): Promise<bigint> {
      await init(bytes);
      await init(source);
      await init(WebAssembly.compile(bytes));
      const storage: Storage = { get: async () => undefined, commit: () => {} };
      const endpoint = await Endpoint.create({ storage, settings: { retention: { blocks: 5 } } });
      using disposable: Disposable = endpoint;
      const response: EndpointResponse = await endpoint.handleRequest({ method: "EXPERIMENTAL_tx_status", params: { tx_hash: "h", sender_account_id: "a", wait_until: "FINAL" } }, { signal: AbortSignal.timeout(5) });
      const parsed = response.json();
      if (parsed.result) {
        const status: string = parsed.result.final_execution_status;
        const nonce: number | undefined = parsed.result.transaction?.nonce;
        for (const receipt of parsed.result.receipts ?? []) if ("Action" in receipt.receipt) for (const action of receipt.receipt.Action.actions) if (typeof action === "object" && "FunctionCall" in action) action.FunctionCall.gas satisfies number;
        // @ts-expect-error: an unknown milestone
        parsed.result.final_execution_status === "DONE";
      } else if (parsed.error?.name === "HANDLER_ERROR" && parsed.error.cause.name === "TIMEOUT_ERROR") parsed.error.cause.info satisfies object | null | undefined;
      const config = response.json<ProtocolConfigRpcResponse>({ bigint: true });
      const limit: bigint | undefined = config.result?.gas_limit;
      const share: number | undefined = config.result?.runtime_config.congestion_control_config.reject_tx_congestion_threshold;
      const exact: Exact<RpcTransactionResponse> = parseJson<RpcTransactionResponse>("", { bigint: true });
      exact.transaction_outcome?.outcome.gas_burnt satisfies bigint | undefined;
      // @ts-expect-error: an unknown milestone
      await endpoint.handleRequest({ method: "tx", params: { tx_hash: "h", sender_account_id: "a", wait_until: "LATER" } });
      // @ts-expect-error: endpoints are created with create
      new Endpoint();
      // @ts-expect-error: a storage has to commit
      await Endpoint.create({ storage: { get: () => null } });
      try { decodeTransaction("").actions; } catch (error) { if (error instanceof MilepostError && error.code === ErrorCode.VALUE) error.offset satisfies number | null; }
      (await IndexedDbStorage.open("x")).close();
      return limit ?? BigInt(share ?? 0);
    }`;
  const settings = { strict: true, noEmit: true, target: "es2022", module: "nodenext", types: [],
    lib: ["es2023", "dom", "esnext.disposable"], skipLibCheck: false };
  const directory = project("types", {
    "main.mts": types,
    "main.cts": types,
    "tsconfig.json": JSON.stringify({ compilerOptions: settings, files: ["main.mts", "main.cts"] }),
  });
  node(directory, tool("typescript/bin/tsc"), "-p", ".");
  const bundler = { ...settings, module: "esnext", moduleResolution: "bundler" };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions: bundler, files: ["main.mts"] }));
  node(directory, tool("typescript/bin/tsc"), "-p", ".");
});

test("the exports are exactly those that the types declare", async () => {
  const directory = project("names", { "main.mjs": `
    import * as main from "milepost"; import * as slim from "milepost/slim";
    console.log(JSON.stringify([Object.keys(main).sort(), Object.keys(slim).sort()]));` });
  const found = JSON.parse(node(directory, "main.mjs"));
  const { readFileSync } = await import("node:fs");
  const declared = (name) => [...readFileSync(join(here, name), "utf8").matchAll(/^export (?:const|class|function) (\w+)/gm)].map((match) => match[1]);
  const main = [...new Set(declared("index.d.ts"))].sort();
  assert.deepEqual(found[0], main);
  assert.deepEqual(found[1], [...new Set([...main, ...declared("slim.d.ts")])].sort());
});

test("publint and arethetypeswrong report no problem", () => {
  const lint = node(here, tool("publint/src/cli.js"), tarball, "--strict");
  assert.match(lint, /All good!/);
  // What the `.wasm` file is depends on the bundler.
  node(here, tool("@arethetypeswrong/cli/dist/index.js"), tarball, "--profile", "node16", "--exclude-entrypoints", "./milepost.wasm");
  assert.ok(existsSync(tarball));
});
