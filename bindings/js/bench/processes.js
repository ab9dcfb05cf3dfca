// The processes of the bench: each runs its operation a number of times and reports the
// nanoseconds.

import { fork, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The native process: `benches/src/bin/native.rs`, built on demand */
export class Native {
  name = "native: request to response";
  /** The transaction that all operations use: its block messages, a request and the response */
  transaction = { blocks: [] };
  #child;
  #lines;

  /** Starts the process for a transaction with this number of receipts */
  static async start(receipts) {
    const native = new Native();
    const args = "run --release --quiet -p milepost-benches --bin native --".split(" ");
    native.#child = spawn("cargo", [...args, String(receipts)], {
      cwd: here("../../.."),
      stdio: ["pipe", "pipe", "inherit"],
    });
    native.#lines = createInterface({ input: native.#child.stdout })[Symbol.asyncIterator]();
    for (let name; name !== "answer"; ) {
      const line = await native.#line();
      name = line.slice(0, line.indexOf(" "));
      const text = line.slice(name.length + 1);
      if (name === "block") native.transaction.blocks.push(text);
      else native.transaction[name] = text;
    }
    return native;
  }

  async time(iterations) {
    this.#child.stdin.write(`${iterations}\n`);
    return Number(await this.#line());
  }

  stop() {
    this.#child.stdin.end();
  }

  async #line() {
    const { done, value } = await this.#lines.next();
    if (done) throw new Error("the native process ended");
    return value;
  }
}

/** A process for an operation in JavaScript: `worker.js` */
export class Worker {
  #child;
  /** The promise of the next message */
  #pending;

  static async start(name, transaction) {
    const worker = new Worker();
    worker.name = name;
    worker.#child = fork(here("worker.js"), [name]);
    worker.#child.on("message", (message) => worker.#pending.resolve(message));
    worker.#child.on("exit", () => worker.#pending.reject(new Error(`${name}: the process ended`)));
    worker.result = await worker.#send(transaction);
    return worker;
  }

  time(iterations) {
    return this.#send(iterations);
  }

  stop() {
    this.#child.disconnect();
  }

  #send(message) {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#child.send(message);
    });
  }
}
