// The packed package in what bundles servers, without configuration: each is built, and runs in
// another folder. The bundlers are those of the folder `servers`.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { inBrowser } from "./browser.js";
import { NAMES, OUTPUT, PROGRAM, here, inOtherFolder, node, project, run } from "./project.js";
import { inWorkerd } from "./workerd.js";

const TOOLS = join(here, "servers/node_modules");
process.env.NEXT_TELEMETRY_DISABLED = "1";
process.env.WRANGLER_SEND_METRICS = "false";

const IMPORT = `import { ${NAMES} } from "milepost";`;

/** A project with the package and the bundlers, which look for their parts in its folder */
function projectWithTools(name, files) {
  const directory = project(name, files);
  // Links of files, for they are half a gigabyte.
  execFileSync("cp", ["-alf", `${TOOLS}/.`, join(directory, "node_modules")]);
  return directory;
}

const NEXT = {
  "app/layout.js": `export default ({ children }) => <html><body>{children}</body></html>;`,
  "app/page.js": `${IMPORT}
    export const dynamic = "force-dynamic";
    export default async function Page() {${PROGRAM}
      return <p>{output}</p>; }`,
  "app/handler/route.js": `${IMPORT}
    export async function GET() {${PROGRAM}
      return new Response(output); }`,
  "app/client/page.js": `"use client";
    import { useEffect } from "react"; import { init } from "milepost"; ${IMPORT}
    const work = async () => { await init();${PROGRAM}
      return output; };
    export default function Page() {
      useEffect(() => void work().catch(String).then((text) => (document.title = "done: " + text)), []);
      return <p>client</p>; }`,
};

for (const bundler of ["turbopack", "webpack"]) {
  test(`Next.js with ${bundler} has the package in a server component, a route handler and a client page`, async () => {
    const directory = projectWithTools(`next-${bundler}`, NEXT);
    node(directory, "node_modules/next/dist/bin/next", "build", `--${bundler}`);
    const moved = `${directory}-moved`;
    renameSync(directory, moved);
    const server = spawn(process.execPath, ["node_modules/next/dist/bin/next", "start", "-p", "0", "-H", "127.0.0.1"], {
      cwd: moved,
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const port = await new Promise((resolve, reject) => {
        server.on("exit", () => reject(new Error("the server has ended")));
        createInterface({ input: server.stdout }).on("line", (line) => {
          const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line);
          if (found) resolve(Number(found[1]));
        });
      });
      const text = async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
      assert.ok((await text("/")).includes(`<p>${OUTPUT}</p>`));
      assert.equal(await text("/handler"), OUTPUT);
      const title = await inBrowser(port, async (page) => {
        await page.goto(`http://127.0.0.1:${port}/client`);
        await page.waitForFunction(() => document.title.startsWith("done: "));
        return page.title();
      });
      assert.equal(title, `done: ${OUTPUT}`);
    } finally {
      server.kill();
    }
  });
}

for (const [type, imports, bundle] of [
  ["module", IMPORT, "dist/index.mjs"],
  ["commonjs", `const { ${NAMES} } = require("milepost");`, "dist/index.js"],
]) {
  test(`ncc bundles the package for Node.js (${type})`, () => {
    const main = `${imports} const work = async () => {${PROGRAM}\n return output; }; work().then(console.log);`;
    const directory = project(`ncc-${type}`, {
      "package.json": JSON.stringify({ private: true, type }),
      "main.js": main,
    });
    node(directory, join(TOOLS, "@vercel/ncc/dist/ncc/cli.js"), "build", "main.js", "--out", "dist");
    // The file beside it that says what it is stays behind.
    renameSync(join(directory, "dist/index.js"), join(directory, bundle));
    assert.equal(inOtherFolder(directory, bundle), OUTPUT);
  });
}

test("wrangler bundles the package for Workers", async () => {
  const directory = projectWithTools("wrangler", {
    "wrangler.toml": 'name = "worker"\nmain = "main.mjs"\ncompatibility_date = "2026-10-01"\n',
    "main.mjs": `${IMPORT} const work = async () => {${PROGRAM}\n return output; };
      export default { fetch: async () => new Response(await work()) };`,
  });
  run(directory, process.execPath, "node_modules/wrangler/bin/wrangler.js", "deploy", "--dry-run", "--outdir", "dist");
  const modules = readdirSync(join(directory, "dist")).filter((name) => name.endsWith(".wasm"));
  assert.equal(await inWorkerd(directory, "main.js", "2026-10-01", modules), OUTPUT);
});
