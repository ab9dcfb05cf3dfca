// Runs a worker in the runtime of edge functions.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import workerd from "workerd";

/** The response of a worker in `dist` to one request */
export async function inWorkerd(directory, main, date, modules) {
  const wasm = modules.map((name) => `, (name = "${name}", wasm = embed "dist/${name}")`).join("");
  const config = `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = (
        modules = [(name = "main.js", esModule = embed "dist/${main}")${wasm}],
        compatibilityDate = "${date}"))],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]);`;
  writeFileSync(join(directory, "config.capnp"), config);
  const stdio = ["ignore", "pipe", "pipe", "pipe"];
  const worker = spawn(workerd.default, ["serve", "config.capnp", "--control-fd=3"], { cwd: directory, stdio });
  let errors = "";
  worker.stderr.on("data", (text) => (errors += text));
  try {
    const port = await new Promise((resolve, reject) => {
      worker.stdio[3].on("data", (line) => resolve(JSON.parse(String(line).split("\n")[0]).port));
      worker.on("exit", () => reject(new Error(errors)));
    });
    return await (await fetch(`http://127.0.0.1:${port}/`)).text();
  } finally {
    worker.kill();
  }
}
