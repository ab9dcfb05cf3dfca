// The processes of the bench: each tells the nanoseconds that it took to do its work so many times.

import { fork, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The native side: `benches/src/bin/native.rs`, which is built where it is not */
export class Native {
  name = "native: request to answer";
  /** The transaction that all are about: its block messages, a request and the answer */
  transaction = { blocks: [] };
  #child;
  #lines;

  /** About a transaction with so many receipts */
  static async start(receipts) {
    const native = new Native();
    const words = "run --release --quiet -p milepost-benches --bin native --".split(" ");
    native.#child = spawn("cargo", [...words, String(receipts)], {
      cwd: here("../../.."),
      stdio: ["pipe", "pipe", "inherit"],
    });
    native.#lines = createInterface({ input: native.#child.stdout })[Symbol.asyncIterator]();
    for (let word; word !== "answer"; ) {
      const line = await native.#line();
      word = line.slice(0, line.indexOf(" "));
      const text = line.slice(word.length + 1);
      if (word === "block") native.transaction.blocks.push(text);
      else native.transaction[word] = text;
    }
    return native;
  }

  async time(times) {
    this.#child.stdin.write(`${times}\n`);
    return Number(await this.#line());
  }

  stop() {
    this.#child.stdin.end();
  }

  async #line() {
    const { done, value } = await this.#lines.next();
    if (done) throw new Error("the native side ended");
    return value;
  }
}

/** A side in JavaScript: `side.js` */
export class Side {
  #child;
  /** Who waits for its next message */
  #open;

  static async start(name, transaction) {
    const side = new Side();
    side.name = name;
    side.#child = fork(here("side.js"), [name]);
    side.#child.on("message", (said) => side.#open.resolve(said));
    side.#child.on("exit", () => side.#open.reject(new Error(`${name}: ended`)));
    side.said = await side.#ask(transaction);
    return side;
  }

  time(times) {
    return this.#ask(times);
  }

  stop() {
    this.#child.disconnect();
  }

  #ask(message) {
    return new Promise((resolve, reject) => {
      this.#open = { resolve, reject };
      this.#child.send(message);
    });
  }
}
