// The packed package in small projects, installed as users install it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FOLLOW, NAMES, OUTPUT, PROGRAM, here, node, project, tarball, tool } from "./project.js";

test("the tarball has the required files, and no module but the engine, the follower, the verifier and the kit", () => {
  const directory = project("tarball", {});
  const installed = join(directory, "node_modules/milepost");
  const files = readdirSync(installed, { recursive: true }).map(String);
  const modules = files.filter((name) => name.endsWith(".wasm"));
  assert.deepEqual(modules.sort(), ["dist/follow.wasm", "dist/kit.wasm", "dist/milepost.wasm", "dist/verifier.wasm"]);
  assert.deepEqual(
    files.filter((name) => name.endsWith(".map")),
    [],
  );
  for (const name of [
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "index.d.ts",
    "slim.d.ts",
    "archive.d.ts",
    "follow.d.ts",
    "kit.d.ts",
    "verifier.d.ts",
  ]) {
    assert.ok(files.includes(name), name);
  }
  assert.ok(!files.some((name) => /^(test|src|tools|build|page|bench)/.test(name)), files.join(" "));
});

test("an error that is not caught prints its line", () => {
  const main = `import { Endpoint } from "milepost";
    await Endpoint.create({ settings: { unknown: "never" } });`;
  const directory = project("uncaught", { "main.mjs": main });
  const child = spawnSync(process.execPath, ["main.mjs"], { cwd: directory, encoding: "utf8" });
  assert.equal(child.status, 1);
  assert.match(child.stderr, /^UsageError: settings\.unknown: never, expected one of/m);
  assert.match(child.stderr, /^ {2}return new UsageError\(.*\n +\^/m);
  assert.ok(child.stderr.length < 2_000, `${child.stderr.length} characters`);
});

test("the first example of the README prints the output below it", () => {
  const readme = readFileSync(join(here, "README.md"), "utf8");
  const [example, output] = ["js", "text"].map((kind) => readme.split(`\`\`\`${kind}\n`)[1].split("```")[0]);
  assert.equal(node(project("readme", { "main.mjs": example }), "main.mjs"), output);
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

test("milepost/verifier reads its module, in modules and in CommonJS", () => {
  const report = `loadVerifier().then((verifier) => {
    const { result, error } = verifier.check("{}");
    console.log(result, error instanceof BlockError);
  });`;
  const module = `import { BlockError } from "milepost"; import { loadVerifier } from "milepost/verifier"; ${report}`;
  const common = `const { BlockError } = require("milepost"); const { loadVerifier } = require("milepost/verifier"); ${report}`;
  const directory = project("verifier", { "main.mjs": module, "main.cjs": common });
  for (const main of ["main.mjs", "main.cjs"]) assert.equal(node(directory, main).trim(), "unverifiable true");
});

test("milepost/verifier checks answers too, in modules and in CommonJS", () => {
  const report = `loadAnswerVerifier().then((verifier) => {
    const { result, error } = verifier.verifyAnswer("{}", "{}", { transactionHash: "1", blockHash: "1" });
    console.log(result, error instanceof MilepostError);
  });`;
  const module = `import { MilepostError } from "milepost"; import { loadAnswerVerifier } from "milepost/verifier"; ${report}`;
  const common = `const { MilepostError } = require("milepost"); const { loadAnswerVerifier } = require("milepost/verifier"); ${report}`;
  const directory = project("answers", { "main.mjs": module, "main.cjs": common });
  for (const main of ["main.mjs", "main.cjs"]) assert.equal(node(directory, main).trim(), "unverifiable true");
});

test("the engine has archives, and milepost/kit checks them, in modules and in CommonJS", () => {
  const report = `(async () => {
    const { archiveStatus } = await Endpoint.create({ archive: new MemoryArchive() });
    await checkArchive(() => new MemoryArchive());
    console.log(archiveStatus.isWritten);
  })();`;
  const names = { Endpoint: "milepost", MemoryArchive: "milepost/archive", checkArchive: "milepost/kit" };
  const lines = (line) => Object.entries(names).map(line).join(" ");
  const directory = project("archive", {
    "main.mjs": lines(([name, from]) => `import { ${name} } from "${from}";`) + report,
    "main.cjs": lines(([name, from]) => `const { ${name} } = require("${from}");`) + report,
  });
  for (const main of ["main.mjs", "main.cjs"]) assert.equal(node(directory, main).trim(), "true");
});

test("milepost/follow reads its module and shares the classes of the package, in modules and in CommonJS", () => {
  const report = `(async () => {
    const refused = await follow(null, {}).catch((error) => error);
    ${FOLLOW}
    console.log(refused instanceof UsageError, followed, refused.message);
  })();`;
  const module = `import { UsageError } from "milepost"; import { follow } from "milepost/follow"; ${report}`;
  const common = `const { UsageError } = require("milepost"); const { follow } = require("milepost/follow"); ${report}`;
  const directory = project("follow", { "main.mjs": module, "main.cjs": common });
  for (const main of ["main.mjs", "main.cjs"])
    assert.match(node(directory, main), /^true permission-denied url: expected/);
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
  const lines = node(project("slim", { "main.mjs": main }), "main.mjs")
    .trim()
    .split("\n");
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

test("the types compile, for modules and for CommonJS", () => {
  const types = `import { Endpoint, EndpointResponse, decodeTransaction, parseJson, MilepostError, ErrorCode, IndexedDbStorage, type Exact, type ProtocolConfigRpcResponse, type RpcProtocolConfigResponse, type RpcTransactionResponse, type Storage } from "milepost";
    import { init } from "milepost/slim";
    import { FollowError, follow, type FollowEvent } from "milepost/follow";
    import { IndexedDbArchive, MemoryArchive, type Archive, type ArchiveStatus } from "milepost/archive";
    import { checkArchive } from "milepost/kit";
    import { loadAnswerVerifier, loadVerifier, type ProvenAnswer, type Verification } from "milepost/verifier";
    import verifierSource from "milepost/verifier.wasm";
    import followSource from "milepost/follow.wasm";
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
      (await endpoint.respond<RpcProtocolConfigResponse>("{}"))?.result?.gas_limit satisfies bigint | undefined;
      if (response.error?.name === "HANDLER_ERROR") response.error.cause.name satisfies string;
      [response.result?.transaction?.nonce, response.error?.code] satisfies [bigint | undefined, number | undefined];
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
      await checkArchive(() => IndexedDbArchive.open("y"));
      const archive: Archive = { getMany: async (keys) => keys.map(() => []), scan: () => [] };
      const status: ArchiveStatus | null = (await Endpoint.create({ archive, settings: { archiveBacklog: 5n } })).archiveStatus;
      status?.archivedHeight satisfies bigint | null | undefined;
      // @ts-expect-error: an endpoint writes to what it checks
      await checkArchive(() => archive);
      // @ts-expect-error: an archive lists its rows
      await Endpoint.create({ archive: { getMany: new MemoryArchive().getMany } });
      const verifier = await loadVerifier(verifierSource);
      const verification: Verification | null = (await (await Endpoint.create({ verifier, settings: { verify: "report" } })).handleBlock(bytes)).verification;
      if (verification?.result === "wrong") verification.error?.path satisfies string | undefined;
      const checked = (await loadAnswerVerifier(verifierSource)).verifyAnswer(bytes, "", { transactionHash: "", blockHash: "" });
      // @ts-expect-error: nothing is proven before the result is looked at
      checked.proven.outcomes;
      if (checked.result === "verified") {
        const proven: ProvenAnswer = checked.proven;
        [proven.block_height, proven.outcomes[0]?.gas_burnt] satisfies [bigint, bigint | undefined];
        if (typeof proven.status === "object" && proven.status && "SuccessValue" in proven.status) proven.status.SuccessValue satisfies string;
        // @ts-expect-error: the error of a failure is not proven
        if (typeof proven.status === "object") proven.status?.Failure;
        // @ts-expect-error: metadata is not proven
        proven.outcomes[0]?.metadata;
        // @ts-expect-error: the block that executed an outcome is not proven
        proven.outcomes[0]?.block_hash;
        // @ts-expect-error: nor is the milestone
        proven.final_execution_status;
        // @ts-expect-error: what cannot be proven has no value
        proven.unprovable[0]?.value;
        // @ts-expect-error: what is proven does not change
        proven.is_complete = true;
        // @ts-expect-error: an unknown member
        proven.unprovable[0]?.member === "gas_burnt";
      } else {
        checked.error.path satisfies string;
        checked.proven satisfies null;
      }
      const onEvent = (event: FollowEvent) => { if (event.type === "imported") event.summary.outcomes satisfies number; };
      await follow(endpoint, { url: ["mainnet", new URL("https://feed.example")], from: "final", onEvent, fetch, signal: AbortSignal.timeout(5), source: followSource });
      // @ts-expect-error: no place to start at
      await follow(endpoint, { url: new URL("https://feed.example"), from: "tip" }).catch((error) => error instanceof FollowError && error.kind);
      return limit ?? BigInt(share ?? 0);
    }`;
  const settings = {
    strict: true,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    types: [],
    lib: ["es2023", "dom", "esnext.disposable"],
    skipLibCheck: false,
  };
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

// What the README names as the oldest version of TypeScript, and the current one.
for (const compiler of ["typescript-oldest", "typescript"]) {
  test(`the types hold in a browser project with ${compiler}`, () => {
    const main = `import { Endpoint, MemoryStorage, version } from "milepost";
      import { connect } from "milepost/client";
      import { init } from "milepost/slim";
      import source from "milepost/milepost.wasm";
      await init(source);
      const endpoint = await Endpoint.create({ storage: new MemoryStorage() });
      for await (const { event, status } of endpoint.watch("hash", { waitUntil: "EXECUTED" })) document.title = event + status.receipts_known;
      const client = connect("/", { transport: "websocket", WebSocket, fetch, onConnection: ({ isOpen }) => void isOpen });
      for await (const { status } of client.watch("hash", { include: "status", signal: new AbortController().signal })) {
        status.block?.height satisfies bigint | undefined;
        status.result?.transaction?.nonce satisfies bigint | undefined;
      }
      // @ts-expect-error: an unknown transport
      connect("/", { transport: "udp" });
      const body = { method: "tx", params: ["hash", "alice.near"] } as const;
      const { signal } = new AbortController();
      const { bytes, result } = await endpoint.handleRequest({ ...body, params: ["hash", "alice.near"] }, { signal });
      document.title = version + result?.final_execution_status + new Response(bytes).status;
      endpoint.dispose();
      // @ts-expect-error: an unknown option
      await Endpoint.create({ store: new MemoryStorage() });
      // @ts-expect-error: no signal
      await endpoint.handleRequest("", { signal: 5 });`;
    compileProject(`types-${compiler}`, compiler, main, { lib: ["es2022", "dom"], types: [] });
  });
}

test("the types hold in a Node.js project without those of pages, and without either", () => {
  const main = `import { Endpoint, type EndpointResponse } from "milepost";
    import { init } from "milepost/slim";
    await init(new Uint8Array(8));
    const endpoint = await Endpoint.create({ settings: { finality: "all" } });
    export const response: EndpointResponse = await endpoint.handleRequest("{}", { timeout: 5 });
    endpoint.dispose();`;
  const program = `${main}\nawait init(new URL("file:///engine"));
    await endpoint.handleRequest("{}", { signal: AbortSignal.timeout(5) });`;
  compileProject("types-node", "typescript", program, { lib: ["es2022"], types: ["node"] });
  compileProject("types-neither", "typescript", main, { lib: ["es2022"], types: [] });
});

/** Compiles a project with its declarations, in which `@types/node` is installed if it is named */
function compileProject(name, compiler, main, options) {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    ...options,
  };
  const directory = project(name, {
    "main.ts": main,
    "tsconfig.json": JSON.stringify({ compilerOptions, files: ["main.ts"] }),
  });
  if (options.types.length > 0) {
    for (const module of ["@types", "undici-types"]) {
      symlinkSync(tool(module), join(directory, "node_modules", module));
    }
  }
  try {
    node(directory, tool(`${compiler}/bin/tsc`), "-p", ".");
  } catch (error) {
    assert.fail(error.stdout || error);
  }
}

test("the exports are exactly those that the types declare", async () => {
  const directory = project("names", {
    "main.mjs": `
    import * as main from "milepost"; import * as slim from "milepost/slim"; import * as follow from "milepost/follow"; import * as verifier from "milepost/verifier"; import * as kit from "milepost/kit"; import * as archive from "milepost/archive";
    console.log(JSON.stringify([main, slim, follow, verifier, kit, archive].map((entry) => Object.keys(entry).sort())));`,
  });
  const found = JSON.parse(node(directory, "main.mjs"));
  const declared = (name) =>
    [...readFileSync(join(here, name), "utf8").matchAll(/^export (?:const|class|function) (\w+)/gm)].map(
      (match) => match[1],
    );
  const main = [...new Set(declared("index.d.ts"))].sort();
  assert.deepEqual(found[0], main);
  assert.deepEqual(found[1], [...new Set([...main, ...declared("slim.d.ts")])].sort());
  assert.deepEqual(found[2], declared("follow.d.ts").sort());
  assert.deepEqual(found[3], declared("verifier.d.ts").sort());
  assert.deepEqual(found[4], declared("kit.d.ts").sort());
  assert.deepEqual(found[5], declared("archive.d.ts").sort());
});

test("publint and arethetypeswrong report no problem", () => {
  const lint = node(here, tool("publint/src/cli.js"), tarball(), "--strict");
  assert.match(lint, /All good!/);
  // What the `.wasm` file is depends on the bundler.
  node(
    here,
    tool("@arethetypeswrong/cli/dist/index.js"),
    tarball(),
    "--profile",
    "node16",
    "--exclude-entrypoints",
    "./milepost.wasm",
    "./follow.wasm",
    "./verifier.wasm",
  );
  assert.ok(existsSync(tarball()));
});
