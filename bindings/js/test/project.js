// Small projects in which the packed package is installed as users install it.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export const here = fileURLToPath(new URL("..", import.meta.url));

export const run = (directory, program, ...args) =>
  execFileSync(program, args, { cwd: directory, encoding: "utf8", stdio: "pipe" });
export const node = (directory, ...args) => run(directory, process.execPath, ...args);
export const tool = (path) => join(here, "node_modules", path);

const work = mkdtempSync(join(tmpdir(), "milepost-package-"));
after(() => rmSync(work, { recursive: true, force: true }));

let packed;

/** The path of the packed package */
export function tarball() {
  packed ??= join(work, run(here, "npm", "pack", "--silent", "--pack-destination", work).trim());
  return packed;
}

/** Creates a project of these files and installs the package in it */
export function project(name, files) {
  const directory = join(work, name);
  for (const [path, text] of Object.entries({ "package.json": '{"private":true}', ...files })) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  run(directory, "npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", tarball());
  return directory;
}

/** Runs a file of a project in a folder that has this file and no other; returns what it prints */
export function inOtherFolder(directory, file) {
  const other = mkdtempSync(join(work, "other-"));
  const name = join(other, basename(file));
  cpSync(join(directory, file), name);
  rmSync(directory, { recursive: true });
  return node(other, name).trim();
}

/** A program that decodes, waits, and stores the results in `output` */
export const PROGRAM = `
  const endpoint = await Endpoint.create();
  const body = { method: "tx", params: ["11111111111111111111111111111111", "alice.near"] };
  const response = await endpoint.handleRequest(body, { timeout: 1 });
  let errorName = "";
  try {
    decodeTransaction("AAAA");
  } catch (error) {
    errorName = error.name;
  }
  const output = response.kind + " " + errorName + " " + validateRequest(body).method;`;
/** Stores in `followed` why a feed that refuses the client is not followed, by the rules in the module */
export const FOLLOW = `
  const refusing = { url: "mainnet", fetch: async () => new Response("", { status: 403 }) };
  const { kind: followed } = await follow({ chainStatus: async () => ({}) }, refusing).catch((error) => error);`;
export const OUTPUT = "timeout TransactionError transaction_status";
export const NAMES = "Endpoint, decodeTransaction, validateRequest";
