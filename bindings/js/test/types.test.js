// The sources match the generated declarations of the module, and the handwritten types match both.
//
// `test/types/same.ts` compares them; this test compiles it, and also copies in which one side was
// changed, each of which the compiler has to reject.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const compiler = join(here, "node_modules/typescript/bin/tsc");

/** The errors that the compiler reports for the package in this folder */
function compilerErrors(directory) {
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, "-p", directory, "--pretty", "false"], (error, stdout) =>
      resolve(error ? stdout || String(error) : ""),
    );
  });
}

test("sources, generated declarations and handwritten types match", async () => {
  assert.equal(await compilerErrors(here), "");
});

const MUTATIONS = {
  "a parameter of the module": [
    "build/glue.d.ts",
    "reserve_request(length: number)",
    "reserve_request(length: string)",
  ],
  "a result of the module": ["build/glue.d.ts", "packed_rows(): Uint8Array", "packed_rows(): number"],
  "a removed function of the module": ["build/glue.d.ts", "export function version(): string;", ""],
  "a parameter of a handwritten type": [
    "index.d.ts",
    "putConfig(scope: string | number | bigint",
    "putConfig(scope: string | bigint",
  ],
  "a result of a handwritten type": ["index.d.ts", "methodNames(): string[]", "methodNames(): readonly string[]"],
  "a method without a handwritten type": ["index.d.ts", "  shutdown(): void;\n", ""],
  "a handwritten member without a source": [
    "index.d.ts",
    "readonly pendingCount: number;",
    "readonly pendingCount: number; readonly closed: number;",
  ],
  "a member that is not read-only": ["index.d.ts", "readonly bytes: Bytes;", "bytes: Bytes;"],
  "a handwritten function without a source": [
    "slim.d.ts",
    "export function initSync",
    "export function initLater(): void;\nexport function initSync",
  ],
  "a handwritten type of an entry": ["follow.d.ts", "readonly kind: FollowErrorKind;", "readonly kind: string;"],
  "a parameter of the check of answers": ["build/verifier/glue.d.ts", "answer: Uint8Array", "answer: string"],
  "a result of the check of answers": [
    "verifier.d.ts",
    "known: KnownHashes): AnswerVerification",
    "known: KnownHashes): AnswerVerification | null",
  ],
  "a result in the sources": ["src/core/stateless.js", "return run((glue) => glue.method_names());", "return 7;"],
  "a method of an archive": ["archive.d.ts", "  putMany(rows: readonly ArchiveRow[]): void;\n", ""],
  "a parameter in the sources": [
    "src/core/endpoint.js",
    "@param {string | number | bigint} scope",
    "@param {number} scope",
  ],
};

for (const [name, [file, original, mutated]] of Object.entries(MUTATIONS)) {
  test(`a change of ${name} is found`, async () => {
    const work = mkdtempSync(join(tmpdir(), "milepost-types-"));
    try {
      const names = [
        "index",
        "archive",
        "slim",
        "chain",
        "client",
        "follow",
        "kit",
        "verifier",
        "watch",
        "wire",
        "config",
        "errors",
        "platform",
        "storage",
      ];
      const parts = names.map((part) => `${part}.d.ts`);
      for (const part of [
        ...parts,
        "tsconfig.json",
        "build/glue.d.ts",
        "build/verifier/glue.d.ts",
        "build/follow/glue.d.ts",
        "build/kit/glue.d.ts",
        "src",
        "test/types",
      ]) {
        cpSync(join(here, part), join(work, part), { recursive: true });
      }
      const text = readFileSync(join(work, file), "utf8");
      assert.ok(text.includes(original), `${file} does not contain ${original}`);
      writeFileSync(join(work, file), text.replace(original, mutated));
      assert.match(await compilerErrors(work), /error TS/);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
}
