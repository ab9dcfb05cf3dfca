// A feed of the practice chain as a process, with faults by a seed: `FEED_SERVER_PROGRAM` names it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const program = process.env.FEED_SERVER_PROGRAM;

/**
 * Starts a feed; `options` are those of the program, such as `--seed`. Its `url`, its `first`
 * height, a height `until` which no fork is left open, and `stop`
 */
export async function startFeed(...options) {
  const child = spawn(program, options.map(String), { stdio: ["pipe", "pipe", "inherit"] });
  const line = await new Promise((resolve, reject) => {
    child.once("error", () => reject(new Error(`FEED_SERVER_PROGRAM names no program: ${program}`)));
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
    createInterface({ input: child.stdout }).once("line", resolve);
  });
  // It ends with its standard input, also when the test is killed.
  return { ...JSON.parse(line), stop: () => child.stdin.end() };
}
