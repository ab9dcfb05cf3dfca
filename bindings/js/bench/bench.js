// From a request to its response: the package beside native code, and beside a client that
// validates a response.
//
// All processes use one transaction, and the responses are compared before the first is timed. They
// take turns of some milliseconds, so that other load of the machine affects all of them; the table
// shows the fastest turn and the median. Has no pass or fail: the README has the targets.

import assert from "node:assert/strict";
import { cpus, loadavg } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { camelCased } from "../test/camel-case.js";
import { Native, Worker } from "./processes.js";
import { names } from "./worker.js";

/** Number of turns of each process, and of receipts of the transaction; the command line overrides
 *  them */
const [TURNS, RECEIPTS] = [200, 10].map((number, index) => Number(process.argv[2 + index] ?? number));
/** Approximate length of a turn, in nanoseconds */
const TURN_LENGTH = 20e6;
/** Time in nanoseconds until the code is fully optimized, with a margin */
const WARMUP = 2e9;

const native = await Native.start(RECEIPTS);
const { answer } = native.transaction;
const runners = [native];
for (const name of names) runners.push(await Worker.start(name, native.transaction));
const parsed = JSON.parse(answer);
for (const { name, result } of runners.slice(1)) {
  // Operations that return objects return the response, or its result with names in camel case.
  const forms = [answer, parsed, camelCased(parsed.result)];
  assert.ok(
    forms.some((form) => isDeepStrictEqual(result, form)),
    `${name}: another response`,
  );
}

const rows = [];
for (const runner of runners) {
  let [iterations, time, total] = [1, 0, 0];
  while (total < WARMUP) {
    if (time < TURN_LENGTH) iterations *= 2;
    time = await runner.time(iterations);
    total += time;
  }
  rows.push({ runner, iterations, times: [] });
}
for (let turn = 0; turn < TURNS; turn += 1) {
  for (const { runner, iterations, times } of rows) {
    times.push((await runner.time(iterations)) / iterations / 1_000);
  }
}
for (const runner of runners) runner.stop();

const best = rows.map(({ times }) => Math.min(...times));
const [nativeBest] = best;
// The operation that clients use by default.
const newArray = runners.findIndex(({ name }) => name === "milepost: request to response, new array");
const machine = `${cpus().length} × ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}`;
console.log(`Node.js ${process.version}; ${machine}; ${RECEIPTS} receipts, ${answer.length} bytes; ${TURNS} turns\n`);
console.log("| operation | best, µs | median, µs | of native | of milepost, new array |\n|---|---:|---:|---:|---:|");
rows.forEach(({ runner, times }, index) => {
  const median = times.sort((one, other) => one - other)[times.length >> 1];
  const figures = [best[index].toFixed(1), median.toFixed(1)];
  const ratios = [nativeBest, best[newArray]].map((other) => (best[index] / other).toFixed(1));
  console.log(`| ${[runner.name, ...figures, ...ratios].join(" | ")} |`);
});
