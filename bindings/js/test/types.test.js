// The types: sources against the generated declarations of the module, and what is written by hand against both.
//
// `test/types/same.ts` says how they are compared; here the compiler runs over it, and over copies in which one
// side has drifted, each of which it has to refuse.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const compiler = join(here, "node_modules/typescript/bin/tsc");

/** What the compiler says about a package in this folder; nothing if all is well */
function complaints(directory) {
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, "-p", directory, "--pretty", "false"], (failed, said) =>
      resolve(failed ? said || String(failed) : ""),
    );
  });
}

test("sources, generated declarations and types written by hand say the same", async () => {
  assert.equal(await complaints(here), "");
});

const DRIFTS = {
  "a parameter of the module": ["build/glue.d.ts", "room(length: number)", "room(length: string)"],
  "a result of the module": ["build/glue.d.ts", "poll_answer(): number", "poll_answer(): Uint8Array"],
  "a function of the module that is gone": ["build/glue.d.ts", "export function version(): string;", ""],
  "a parameter that is written otherwise": ["index.d.ts", "putConfig(height: number | bigint", "putConfig(height: bigint"],
  "a result that is written otherwise": ["index.d.ts", "methodNames(): string[]", "methodNames(): readonly string[]"],
  "a method that is not written": ["index.d.ts", "  stop(): void;\n", ""],
  "a member that is written only": ["index.d.ts", "readonly open: number;", "readonly open: number; readonly closed: number;"],
  "a member that may be written to": ["index.d.ts", "readonly bytes: Uint8Array;", "bytes: Uint8Array;"],
  "a function that is written only": ["slim.d.ts", "export function initSync", "export function initLater(): void;\nexport function initSync"],
  "a source that gives another thing": ["src/core/free.js", "return run((glue) => glue.method_names());", "return 7;"],
  "a source that takes another thing": ["src/core/engine.js", "@param {number | bigint} height", "@param {number} height"],
};

for (const [name, [file, said, drifted]] of Object.entries(DRIFTS)) {
  test(`${name} is found`, async () => {
    const work = mkdtempSync(join(tmpdir(), "milepost-types-"));
    try {
      const parts = ["index", "slim", "wire", "config", "failures"].map((part) => `${part}.d.ts`);
      for (const part of [...parts, "tsconfig.json", "build/glue.d.ts", "src/core", "test/types"]) {
        cpSync(join(here, part), join(work, part), { recursive: true });
      }
      const text = readFileSync(join(work, file), "utf8");
      assert.ok(text.includes(said), `${file} does not say ${said}`);
      writeFileSync(join(work, file), text.replace(said, drifted));
      assert.match(await complaints(work), /error TS/);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
}
