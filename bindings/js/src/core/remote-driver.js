// Drives an endpoint over a storage of the host, which may be asynchronous.
//
// Fetches the rows that the engine needs, also of an archive if there is one, and commits its
// changes, for any number of operations at a time. Nothing of the engine is borrowed meanwhile, so
// a storage may call its endpoint from within its own methods.

import { Driver } from "./driver.js";
import { StorageError } from "./errors.js";
import { HostArchive, isArchiveKey } from "./host-archive.js";
import { parseJson } from "./json.js";
import { keyName, unpackChanges, unpackKeys } from "./packed-rows.js";
import { VersionedStorage } from "./versioned-storage.js";

/** @import { Archive } from "../../archive.js" */
/** @import { Storage } from "../../index.js" */
/** @import { Methods } from "./host-methods.js" */
/** @import { EngineEndpoint, Glue } from "./load.js" */
/** @import { Snapshot } from "./versioned-storage.js" */
/** @import { PendingCall } from "./waiting.js" */

export class RemoteDriver extends Driver {
  #storage;
  #archive;

  /**
   * @param {(glue: Glue) => EngineEndpoint} createEndpoint
   * @param {Storage} storage
   * @param {Archive | undefined} archive
   * @param {Methods | null} methods
   */
  constructor(createEndpoint, storage, archive, methods) {
    super(createEndpoint, methods);
    this.#storage = new VersionedStorage(storage);
    this.#archive = archive ? new HostArchive(archive) : null;
  }

  /**
   * @param {Uint8Array} message
   * @returns {Promise<string>}
   */
  async handleBlock(message) {
    const summary = await super.handleBlock(message);
    // An archive that fails fails no import: the status says why, and the next import tries again.
    if (this.#archive) await this.exportFinal().catch(() => {});
    return summary;
  }

  get archiveStatus() {
    /** @type {any} */
    const status = parseJson(
      this.run((endpoint) => endpoint.archive_status()),
      { bigint: true },
    );
    for (const name of ["openTransactions", "exportedTransactions", "failures", "evictedBlocks"]) {
      if (status) status[name] = Number(status[name]);
    }
    return status;
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
    const stored = keys.filter((key) => !isArchiveKey(key));
    const archived = keys.filter(isArchiveKey);
    /** @type {(Uint8Array | undefined)[]} */
    let rows = [];
    /** @type {readonly (readonly Uint8Array[])[]} */
    let versions = [];
    const failure = await failureOf(call, async () => {
      if (stored.length > 0) rows = await snapshot.getMany(stored);
      if (archived.length > 0) versions = (await this.#archive?.getMany(archived)) ?? [];
      stored.forEach((key, index) => call.readRows?.set(keyName(key), rows[index]));
    });
    const pushed = failure ?? this.#push(call, keys, rows, versions);
    this.pump((endpoint) => endpoint.handle_rows(handle, pushed));
  }

  /**
   * Hands in the rows of these keys; returns why that failed, if it did
   *
   * @param {PendingCall} call
   * @param {Uint8Array[]} keys
   * @param {(Uint8Array | undefined)[]} rows Of the storage
   * @param {readonly (readonly Uint8Array[])[]} versions Of the archive, for each of its keys
   */
  #push(call, keys, rows, versions) {
    let [stored, archived] = [0, 0];
    try {
      this.run((endpoint) => {
        for (const key of keys) {
          if (isArchiveKey(key)) {
            for (const row of versions[archived++]) endpoint.push_version(row);
            endpoint.push_served(key);
          } else {
            endpoint.push_row(rows[stored++]);
          }
        }
      }, StorageError);
    } catch (error) {
      return storageFailure(call, error);
    }
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

  /**
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} packed
   * @param {"putMany" | "replaceMany"} method
   */
  async write(call, handle, packed, method) {
    call.snapshot?.close();
    const failure = await failureOf(call, async () => this.#archive?.write(method, packed));
    this.pump((endpoint) => endpoint.handle_commit_result(handle, failure));
  }

  /**
   * @param {PendingCall} call
   * @param {bigint} handle
   * @param {Uint8Array} after
   */
  async scan(call, handle, after) {
    call.snapshot?.close();
    const failure = await failureOf(call, async () => {
      const page = (await this.#archive?.scan(after)) ?? [];
      this.run((endpoint) => page.forEach(({ key, row }) => endpoint.push_entry(key, row)), StorageError);
    });
    this.pump((endpoint) => endpoint.handle_page(handle, failure));
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
    return storageFailure(call, error);
  }
}

/**
 * @param {PendingCall} call
 * @param {unknown} error
 */
function storageFailure(call, error) {
  call.storageError = error;
  return error instanceof Error ? error.message : String(error);
}
