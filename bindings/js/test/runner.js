// How a shared vector is run on the package, wherever its files come from: see `tests/vectors/README.md`.

/** The runner of a manifest; `read` gives the bytes of a file, or promises them */
export function runner(manifest, read) {
  const scenes = new Map(manifest.scenes.map((scene) => [scene.name, scene]));

  /** An engine with the settings of a vector, over the scene of that vector */
  async function setScene(Engine, vector, storage) {
    const scene = scenes.get(vector.scene);
    const { timeout_cause, unknown, max_waiting, max_batch, max_receipts } = vector.settings ?? {};
    const engine = await Engine.create({
      storage,
      settings: {
        timeoutCause: timeout_cause,
        unknown,
        maxBatch: max_batch,
        maxReceipts: max_receipts,
        finality: scene.finality,
      },
      patience: { limit: max_waiting },
    });
    for (const { file, from_height } of scene.configs) await engine.putConfig(from_height, await read(file));
    for (const block of scene.blocks) await engine.ingest(await read(block));
    return engine;
  }

  /** Asks what a vector asks, and gives the answer and how the request waited */
  async function ask(engine, vector) {
    const body = new Uint8Array(await read(vector.request));
    const pathMethod = vector.path_method;
    const now = await engine.answer(body, { pathMethod });
    // Where there is no place to wait, only who would wait is told so; a time-out would be another answer.
    if (vector.wait === undefined) {
      return { answer: now ?? (await engine.call(body, { pathMethod, timeout: 1 })), early: false };
    }
    // Long enough for blocks to come in, and not waited for in vain.
    const timeout = vector.wait === "expires" ? 1 : 600_000;
    let early = now !== null;
    const call = engine.call(body, { pathMethod, timeout });
    if (vector.wait !== "expires") {
      let done = false;
      call.then(() => (done = true));
      for (const block of vector.wait) {
        await turn();
        early ||= done;
        await engine.ingest(await read(block));
      }
    }
    return { answer: await call, early };
  }

  return { setScene, ask };
}

/** Lets everything run that is ready to */
const turn = () => new Promise((resolve) => setTimeout(resolve));
