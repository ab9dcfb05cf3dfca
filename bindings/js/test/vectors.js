// The shared vectors, read from their files.

import { readFileSync } from "node:fs";
import { parseJson, writeJson } from "milepost";
import { runner } from "./runner.js";

const directory = new URL("../../../tests/vectors/", import.meta.url);
export const read = (path) => readFileSync(new URL(path, directory));

const manifest = JSON.parse(read("manifest.json"));
export const { createEndpoint, proofs, run, vectors, verify } = runner(manifest, read, { parseJson, writeJson });
