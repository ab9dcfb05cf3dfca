// Drives an endpoint over a storage of the host, which may be asynchronous.
//
// Fetches the rows that the engine needs and commits its changes, for any number of operations at a
// time. Nothing of the engine is borrowed meanwhile, so a storage may call its endpoint from within
// its own methods.

import { Driver } from "./driver.js";
import { keyName, unpackChanges, unpackKeys } from "./packed-rows.js";
import { VersionedStorage } from "./versioned-storage.js";

/** @import { Storage } from "../../index.js" */
/** @import { EngineEndpoint, Glue } from "./load.js" */
/** @import { Snapshot } from "./versioned-storage.js" */
/** @import { PendingCall } from "./waiting.js" */

export class RemoteDriver extends Driver {
  #storage;

  /**
   * @param {(glue: Glue) => EngineEndpoint} createEndpoint
   * @param {Storage} storage
   */
  constructor(createEndpoint, storage) {
    super(createEndpoint);
    this.#storage = new VersionedStorage(storage);
  }

  /**
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} packed
   * @param {boolean} isFirst
   */
  async supplyRows(call, handle, packed, isFirst) {
    if (isFirst) {
      call.snapshot?.close();
      call.snapshot = this.#storage.snapshot();
    }
    const snapshot = /** @type {Snapshot} */ (call.snapshot);
    const keys = unpackKeys(packed);
    /** @type {(Uint8Array | undefined)[]} */
    let rows = [];
    const failure = await failureOf(call, async () => {
      rows = await snapshot.getMany(keys);
      keys.forEach((key, index) => call.readRows?.set(keyName(key), rows[index]));
    });
    this.pump((endpoint) => {
      for (const row of rows) endpoint.push_row(row);
      endpoint.handle_rows(handle, failure);
    });
  }

  /**
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} packed
   */
  async commit(call, handle, packed) {
    call.snapshot?.close();
    const changes = unpackChanges(packed);
    const failure = await failureOf(call, () => this.#storage.commit(changes, call.readRows));
    this.pump((endpoint) => endpoint.handle_commit_result(handle, failure));
  }
}

/**
 * Why the storage failed in `work`, if it did; the error itself is for the caller
 *
 * @param {PendingCall} call
 * @param {() => Promise<void>} work
 */
async function failureOf(call, work) {
  try {
    await work();
  } catch (error) {
    call.storageError = error;
    return error instanceof Error ? error.message : String(error);
  }
}
