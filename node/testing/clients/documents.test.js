// Published tools read the discovery documents, and generate clients from them.
//
// The OpenRPC document is parsed by the project's own library. The OpenAPI document has no error
// and no wrong example by a linter, and a generator makes clients of it without one. A file name
// that differs from another in the case of letters alone would be the same file on some systems.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import openRpc from "@open-rpc/schema-utils-js";

const { GENERATOR_JARS, PYTHON, SERVER_PROGRAM } = process.env;
const run = promisify(execFile);
const documents = {};
let directory;
let openApiFile;

before(async () => {
  const args = ["serve", "--listen", "127.0.0.1:0", "--follow", "practice"];
  const server = spawn(SERVER_PROGRAM, args, { stdio: ["ignore", "pipe", "inherit"] });
  let url;
  for await (const line of createInterface({ input: server.stdout })) {
    url = line.match(/http:\/\/[^/\s]+/)[0];
    break;
  }
  for (const name of ["openrpc", "openapi"]) {
    documents[name] = await (await fetch(`${url}/${name}.json`)).json();
  }
  server.kill();
  directory = await mkdtemp(join(tmpdir(), "documents-"));
  openApiFile = join(directory, "openapi.json");
  await writeFile(openApiFile, JSON.stringify(documents.openapi));
});

after(() => rm(directory, { recursive: true }));

/** Runs the generator, which fails for a document that is not valid and may print no error */
async function generator(...args) {
  const main = "org.openapitools.codegen.OpenAPIGenerator";
  const { stdout, stderr } = await run("java", ["-cp", join(GENERATOR_JARS, "*"), main, ...args], {
    maxBuffer: 1 << 26,
  });
  const lines = `${stdout}\n${stderr}`.split("\n");
  const isWrong = (line) => / ERROR |Exception|Duplicate file path/.test(line);
  assert.deepEqual(lines.filter(isWrong), []);
}

test("the OpenRPC document is parsed by the library of its project", async () => {
  const { openrpc } = documents;
  const parsed = await openRpc.parseOpenRPCDocument(structuredClone(openrpc));
  assert.equal(parsed.methods.length, openrpc.methods.length);
  const relative = { ...structuredClone(openrpc), servers: [{ url: "/" }] };
  await assert.rejects(openRpc.parseOpenRPCDocument(relative), { message: /servers\[0\]\.url/ });
});

/** What a linter finds wrong in a document: errors, and examples that are not of their schema */
async function problems(file) {
  const program = fileURLToPath(new URL("node_modules/@redocly/cli/bin/cli.js", import.meta.url));
  const args = [program, "lint", file, "--format=json", "--max-problems=1000"];
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  // It fails if there is an error, and prints it as well.
  const { stdout } = await run(process.execPath, args, { env, maxBuffer: 1 << 26 }).catch((failed) => failed);
  const wrong = ({ severity, ruleId }) => severity === "error" || ruleId === "no-invalid-media-type-examples";
  return JSON.parse(stdout)
    .problems.filter(wrong)
    .map((it) => `${it.ruleId}: ${it.message}`);
}

test("the OpenAPI document and its examples are valid by a linter", async () => {
  assert.deepEqual(await problems(openApiFile), []);
  const wrong = structuredClone(documents.openapi);
  const { examples } = wrong.paths["/"].post.responses["200"].content["application/json"];
  examples["milestone-included"].value.result.final_execution_status = "SOON";
  const file = join(directory, "wrong.json");
  await writeFile(file, JSON.stringify(wrong));
  assert.notDeepEqual(await problems(file), []);
});

test("the OpenAPI document is valid by a generator of clients", async () => {
  await generator("validate", "--input-spec", openApiFile);
  const wrong = { ...documents.openapi, info: { title: "without a version" } };
  const file = join(directory, "unversioned.json");
  await writeFile(file, JSON.stringify(wrong));
  await assert.rejects(generator("validate", "--input-spec", file));
});

for (const language of ["typescript-fetch", "python"]) {
  test(`a client in ${language} is generated`, async () => {
    const output = join(directory, language);
    await generator("generate", "-g", language, "-i", openApiFile, "-o", output);
    const files = await readdir(output, { recursive: true });
    const names = files.map((name) => name.toLowerCase());
    assert.ok(
      names.some((name) => /defaultapi|default_api/.test(name)),
      files.join("\n"),
    );
    assert.equal(new Set(names).size, names.length);
    if (language === "python") await run(PYTHON, ["-m", "compileall", "-q", output]);
  });
}
