// A server as a process: `SERVER_PROGRAM` names the program.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export const program = process.env.SERVER_PROGRAM;

/** Starts a server with these options; its URL and `stop` */
export async function startServer(...options) {
  const args = ["serve", "--listen", "127.0.0.1:0", ...options];
  const child = spawn(program, args.map(String), { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: line.match(/http:\/\/[^\s/]+/)[0], stop: () => child.kill() };
  }
  throw new Error(`${program} printed no address`);
}
