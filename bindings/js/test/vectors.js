// The shared vectors, read from their files.

import { readFileSync } from "node:fs";
import { parseJson, writeJson } from "milepost";
import { runner } from "./runner.js";

/** The vectors in a directory, with the functions that run them */
export function load(directory) {
  const read = (path) => readFileSync(new URL(path, directory));
  return { read, ...runner(JSON.parse(read("manifest.json")), read, { parseJson, writeJson }) };
}

export const { createEndpoint, proofs, read, run, vectors, verify } = load(
  new URL("../../../tests/vectors/", import.meta.url),
);
