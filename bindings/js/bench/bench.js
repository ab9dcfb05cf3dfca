// From a request to its answer: the package beside native code, and beside a client that checks an answer.
//
// All sides are about one transaction, and those that answer are compared before the first is timed. They take
// turns of some milliseconds, so that whatever else the machine does meets all; a figure is that of the best turn, and
// the median stands beside it. Judges nothing: the README has the targets.

import assert from "node:assert/strict";
import { cpus, loadavg } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { camelCased } from "../test/names.js";
import { names } from "./side.js";
import { Native, Side } from "./sides.js";

/** Turns of each side, and receipts of the transaction, unless the command line says how many */
const [TURNS, RECEIPTS] = [200, 10].map((number, index) => Number(process.argv[2 + index] ?? number));
/** Nanoseconds of a turn, about */
const TURN = 20e6;
/** Nanoseconds until everything is compiled as it will be, amply */
const WARM = 2e9;

const native = await Native.start(RECEIPTS);
const { answer } = native.transaction;
const sides = [native];
for (const name of names) sides.push(await Side.start(name, native.transaction));
const parsed = JSON.parse(answer);
for (const { name, said } of sides.slice(1)) {
  // Those that give objects give the response, or its result with names in camel case.
  const same = [answer, parsed, camelCased(parsed.result)].some((form) => isDeepStrictEqual(said, form));
  assert.ok(same, `${name}: another answer`);
}

const rows = [];
for (const side of sides) {
  let [times, took, warm] = [1, 0, 0];
  while (warm < WARM) {
    if (took < TURN) times *= 2;
    took = await side.time(times);
    warm += took;
  }
  rows.push({ side, times, took: [] });
}
for (let turn = 0; turn < TURNS; turn += 1) {
  for (const { side, times, took } of rows) took.push((await side.time(times)) / times / 1_000);
}
for (const side of sides) side.stop();

const best = rows.map(({ took }) => Math.min(...took));
const [inNative] = best;
// What all who answer give by default.
const ours = best[sides.findIndex(({ name }) => name === "milepost: request to answer, an array")];
const machine = `${cpus().length} × ${cpus()[0].model}, load ${loadavg()[0].toFixed(1)}`;
console.log(`Node.js ${process.version}; ${machine}; ${RECEIPTS} receipts, ${answer.length} bytes; ${TURNS} turns\n`);
console.log("| what | best, µs | median, µs | of native | of milepost, an array |\n|---|---:|---:|---:|---:|");
rows.forEach(({ side, took }, index) => {
  const median = took.sort((one, other) => one - other)[took.length >> 1];
  const figures = [best[index].toFixed(1), median.toFixed(1)];
  const ratios = [inNative, ours].map((other) => (best[index] / other).toFixed(1));
  console.log(`| ${[side.name, ...figures, ...ratios].join(" | ")} |`);
});
