// Published clients send transactions to a server that forwards, and wait for them there.
//
// The upstream and the feed are a practice chain that accepts transactions (`practice-node`). The
// clients are used as their documentation shows, with the address of the server alone.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Account, JsonRpcProvider, KeyPair } from "near-api-js";
import { generateKey, Near } from "near-kit";

const { PRACTICE_NODE, SERVER_PROGRAM, PYTHON } = process.env;
const processes = [];
let url;

/** Starts a program; returns the address in the first line that it prints */
async function start(program, ...args) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  processes.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return line.match(/http:\/\/\S+/)[0].replace(/\/$/, "");
  }
  throw new Error(`${program} printed no address`);
}

async function metric(name) {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`milepost_${name} `))
      ?.split(" ")[1],
  );
}

before(async () => {
  const node = await start(PRACTICE_NODE);
  const feed = ["--follow", `neardata+${node}`, "--feed-requests", "100000", "--max-age", "1h"];
  const forward = ["--upstream", node, "--forward", "--timeout", "60s", "--max-wait", "60s"];
  url = await start(SERVER_PROGRAM, "serve", "--listen", "127.0.0.1:0", ...feed, ...forward);
  while (!((await metric("head_height")) > 0)) await new Promise((done) => setTimeout(done, 50));
});

after(() => processes.forEach((child) => child.kill()));

test("near-api-js submits a transaction and waits for it", async () => {
  const provider = new JsonRpcProvider({ url });
  const account = new Account("alice.practice", provider, KeyPair.fromRandom("ed25519").toString());
  const sent = await account.transfer({ receiverId: "bob.practice", amount: 5n });
  assert.equal(sent.transaction.signer_id, "alice.practice");
  assert.deepEqual(sent.status, { SuccessValue: "" });
  const { hash } = sent.transaction;
  const status = await provider.viewTransactionStatus({
    txHash: hash,
    accountId: "alice.practice",
    waitUntil: "FINAL",
  });
  assert.equal(status.final_execution_status, "FINAL");
  assert.equal(status.transaction.hash, hash);
});

test("near-kit submits a transaction and waits for it", async () => {
  const near = new Near({
    network: { rpcUrl: url, networkId: "practice" },
    defaultSignerId: "carol.practice",
    privateKey: generateKey().secretKey,
  });
  const transfer = near.transaction("carol.practice").transfer("dave.practice", "1 yocto");
  const sent = await transfer.send({ waitUntil: "FINAL" });
  assert.equal(sent.final_execution_status, "FINAL");
  assert.equal(sent.transaction.receiver_id, "dave.practice");
  assert.deepEqual(sent.status, { SuccessValue: "" });
});

test("py-near submits a transaction and waits for it", async () => {
  const script = new URL("py_near_client.py", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(PYTHON, [script, url]);
  const status = await (await fetch(`${url}/tx/${stdout.trim()}`)).json();
  assert.equal(status.transaction_hash, stdout.trim());
});

test("each transaction was sent once, and is known here", async () => {
  assert.equal(await metric('submissions_total{end="included"}'), 3);
  assert.equal(await metric("submissions_running"), 0);
});
