// The examples of the readme, run as they stand there.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as milepost from "milepost";
import { block, request } from "./road.js";
import { read } from "./vectors.js";

const text = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** The example under a heading, as a function of what it takes for granted */
function example(heading, names) {
  const code = text.split(`## ${heading}\n`)[1].split("```js\n")[1].split("```")[0];
  const lines = code.trim().split("\n").filter((line) => line && !line.startsWith("import "));
  assert.ok(lines.length <= 10, `${heading}: ${lines.length} lines`);
  const imported = code.match(/import \{ (.*) \} from "milepost";/)[1].split(", ");
  const AsyncFunction = (async () => {}).constructor;
  const run = new AsyncFunction(...imported, ...Object.keys(names), lines.join("\n"));
  return run(...imported.map((name) => milepost[name]), ...Object.values(names));
}

test("the front page of the repository has the same examples", () => {
  const front = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
  for (const heading of ["Node.js", "A page"]) {
    const code = text.split(`## ${heading}\n`)[1].split("```js\n")[1].split("```")[0];
    assert.ok(front.includes(code), heading);
  }
});

const heights = [100, 101, 102, 103, 104, 105, 106, 108, 109, 110];

test("in Node.js", async () => {
  const said = [];
  const console = { error: assert.ifError, log: (...words) => said.push(words) };
  const signed = JSON.parse(read("requests/lookup-signed.json")).params.signed_tx_base64;
  const scene = heights.map(block);
  await example("Node.js", { blocks: scene, signed, console });
  assert.equal(said[0][0], true);
  assert.ok(said[0][1], "no status");
});

test("many answers, into the same bytes", async () => {
  const [scene, written] = [heights.map(block), []];
  const requests = ["INCLUDED", "FINAL"].map((milestone) => request(milestone));
  const unknown = request("FINAL", "11111111111111111111111111111111");
  // The bytes are written before the next answer takes their place.
  const writeSync = (file, bytes) => written.push([file, new TextDecoder().decode(bytes)]);
  await example("Many answers", { blocks: scene, requests: [...requests, unknown], file: 7, writeSync });
  const engine = await milepost.Engine.create();
  scene.forEach((message) => engine.ingestSync(message));
  assert.deepEqual(written, requests.map((body) => [7, engine.answerSync(body).text]));
  engine.dispose();
});

test("in a page", async () => {
  const [socket, cancelButton, output] = [{}, {}, {}];
  const shown = example("A page", { body: JSON.stringify(request("FINAL")), socket, cancelButton, output });
  while (!cancelButton.onclick) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const height of heights) await socket.onmessage({ data: block(height).toString() });
  await shown;
  assert.match(output.textContent, /^FINAL: \{"jsonrpc":"2\.0","result"/);
});
