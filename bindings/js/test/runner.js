// Runs shared vectors on the package, in Node.js and in a page: see `tests/vectors/README.md`.

/** The runner of a manifest; `read` returns the bytes of a file, or a promise of them, and the last
 *  parameter has two functions of the package */
export function runner(manifest, read, { parseJson, writeJson }) {
  const { vectors } = manifest;
  const fixtures = new Map(manifest.fixtures.map((fixture) => [fixture.name, fixture]));

  /** Creates an endpoint with the settings and the fixture of a vector */
  async function createEndpoint(Endpoint, vector, storage, archive) {
    const fixture = fixtures.get(vector.fixture);
    const { timeout_cause, unknown, max_waiting, max_batch, max_id_bytes, max_receipts } = vector.settings ?? {};
    const endpoint = await Endpoint.create({
      storage,
      archive,
      settings: {
        timeoutCause: timeout_cause,
        unknown,
        maxBatch: max_batch,
        maxIdBytes: max_id_bytes,
        maxReceipts: max_receipts,
        trackShards: fixture.track_shards,
        finality: fixture.finality,
      },
      waitConfig: { maxWaiting: max_waiting },
    });
    for (const { file, epoch_id, from_height } of fixture.configs) {
      await endpoint.putConfig(epoch_id ?? from_height, await read(file));
    }
    for (const block of fixture.blocks) await endpoint.handleBlock(await read(block));
    for (const { file, error } of fixture.refused ?? []) {
      const message = await endpoint.handleBlock(await read(file)).then(String, (e) => e.message);
      if (message !== error) throw new Error(`${file}: ${message}, expected ${error}`);
    }
    return endpoint;
  }

  /** Sends the request of a vector; returns the response, and whether it came earlier than
   *  declared */
  async function run(endpoint, vector) {
    const body = new Uint8Array(await read(vector.request));
    const urlMethod = vector.url_method;
    const immediate = await endpoint.respond(body, { urlMethod });
    // If too many requests are pending, only `handleRequest` reports that, and without a timeout.
    if (vector.wait === undefined) {
      const response = immediate ?? (await endpoint.handleRequest(body, { urlMethod, timeout: 1 }));
      return { response, early: false };
    }
    // Long enough for the blocks to be imported.
    const timeout = vector.wait === "expires" ? 1 : 600_000;
    let early = immediate !== null;
    const pending = endpoint.handleRequest(body, { urlMethod, timeout });
    if (vector.wait !== "expires") {
      let done = false;
      pending.then(() => (done = true));
      for (const block of vector.wait) {
        await nextTask();
        early ||= done;
        await endpoint.handleBlock(await read(block));
      }
    }
    return { response: await pending, early };
  }

  /** Checks an answer by its proof; returns what differs, or `null` */
  async function verify(verifier, vector) {
    const { transaction_hash: transactionHash, block_hash: blockHash } = vector;
    const texts = [await read(vector.answer), await read(vector.proof)].map((bytes) => new Uint8Array(bytes));
    const { result, proven, error } = verifier.verifyAnswer(...texts, { transactionHash, blockHash });
    const expected = vector.proven && new TextDecoder().decode(await read(vector.proven));
    const found = proven && writeJson(proven);
    const isSame = result === vector.result && error?.path === vector.path && (found ?? undefined) === normal(expected);
    return isSame ? null : `${vector.name}: ${result} ${error?.message} ${found}`;
  }

  /** A text as it is written after it was parsed */
  const normal = (text) => text && writeJson(parseJson(text, { bigint: true }));

  return { createEndpoint, proofs: manifest.proofs, run, vectors, verify };
}

/** Lets the event loop run everything that is ready */
const nextTask = () => new Promise((resolve) => setTimeout(resolve));
