// The `WebSocket` of Node.js, also in versions that do not show it by default.

import { spawnSync } from "node:child_process";

if (globalThis.WebSocket === undefined && !process.execArgv.includes("--experimental-websocket")) {
  const arguments_ = ["--experimental-websocket", ...process.execArgv, ...process.argv.slice(1)];
  const { status } = spawnSync(process.execPath, arguments_, { stdio: "inherit" });
  process.exit(status ?? 1);
}

export const { WebSocket } = globalThis;
