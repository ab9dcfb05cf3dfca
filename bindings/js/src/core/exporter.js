// The archive of an endpoint: reads rows from it, and puts into it what has become final.
//
// After each import final blocks are exported, and the storage forgets none of them before it is
// durable in the archive. An archive that fails never fails an import: the storage keeps its
// blocks, up to a bound, and the next import tries again.

import { StorageError, failedCall, invalidRows } from "./errors.js";
import { isBytes } from "./input.js";
import { parseJson } from "./json.js";
import { typeName } from "./options.js";
import { keyName, unpackArchiveRows } from "./packed-rows.js";

/** @import { Archive, ArchiveEntry } from "../../archive.js" */
/** @import { Driver } from "./driver.js" */
/** @import { VersionedStorage } from "./versioned-storage.js" */

/** The first byte of the keys of an archive's tables, as in `core/src/storage/key.rs` */
const FIRST_ARCHIVE_TABLE = 16;
/** Rows of a page of the table of progress */
const PAGE = 256;

/** @param {Uint8Array} key */
export function isArchiveKey(key) {
  return key[0] >= FIRST_ARCHIVE_TABLE;
}

export class Exporter {
  #driver;
  #storage;
  #archive;
  /**
   * The row of the writer in the storage; `null` until it was read or made
   *
   * @type {Promise<Uint8Array> | null}
   */
  #writer = null;
  #isOpen = false;
  /** The export in progress, and those after it */
  #exports = Promise.resolve();
  #exportedTransactions = 0;
  #failures = 0;
  /** @type {string | null} */
  #failure = null;

  /**
   * @param {Driver} driver
   * @param {VersionedStorage} storage
   * @param {Archive} archive
   */
  constructor(driver, storage, archive) {
    this.#driver = driver;
    this.#storage = storage;
    this.#archive = archive;
  }

  get #isWritten() {
    return this.#archive.putMany !== undefined;
  }

  /** Makes sure that the storage has a writer, before the first import: one commit at a time */
  async prepare() {
    if (!this.#isWritten) return;
    this.#writer ??= this.#findWriter();
    try {
      await this.#writer;
    } catch (error) {
      // The next import tries again.
      this.#writer = null;
      throw error;
    }
  }

  async #findWriter() {
    const { key, created } = this.#driver.run((_, { Endpoint }) => {
      // Random, because no two writers of an archive may have one id.
      const [id] = crypto.getRandomValues(new BigUint64Array(1));
      return { key: Endpoint.writer_key(), created: Endpoint.writer_row(id) };
    });
    const snapshot = this.#storage.snapshot();
    const [row] = await snapshot.getMany([key]).finally(snapshot.close);
    if (row) return row;
    await this.#storage.commit([{ key, row: created }]);
    return created;
  }

  /**
   * The versions of the row of each key, in the order of the keys
   *
   * @param {Uint8Array[]} keys
   * @returns {Promise<readonly (readonly Uint8Array[])[]>}
   */
  async getMany(keys) {
    const found = await this.#call("getMany", (archive) => archive.getMany(keys), keys);
    return checkVersions(found, keys.length);
  }

  /** Exports what became final, after an import; never fails */
  async afterImport() {
    this.#exports = this.#exports.then(async () => {
      try {
        if (this.#isWritten) await this.#export();
        await this.#driver.chainStatus();
        if (this.#driver.run((endpoint) => endpoint.needs_progress())) await this.#readProgress();
        this.#failure = null;
      } catch (error) {
        this.#failures += 1;
        this.#failure = error instanceof Error ? error.message : String(error);
      }
    });
    return this.#exports;
  }

  async #export() {
    if (!this.#isOpen) await this.#openWriter();
    for (;;) {
      const transactions = await this.#driver.exportFinal();
      if (transactions === "null") return;
      for (;;) {
        const call = this.#driver.run((endpoint) => endpoint.take_archive_call());
        if (!call) break;
        const rows = unpackArchiveRows(call.subarray(1));
        if (call[0] === 0) await this.#call("putMany", (archive) => archive.putMany?.(rows));
        else await this.#call("replaceMany", (archive) => archive.replaceMany?.(rows));
      }
      this.#driver.run((endpoint) => endpoint.handle_exported());
      this.#exportedTransactions += Number(transactions);
    }
  }

  async #openWriter() {
    const writer = /** @type {Uint8Array} */ (await this.#writer);
    const key = this.#driver.run((_, { Endpoint }) => Endpoint.progress_key(writer), StorageError);
    const [versions] = await this.getMany([key]);
    this.#driver.run((endpoint) => {
      for (const row of versions) endpoint.push_version(row);
      endpoint.open_writer(writer);
    }, StorageError);
    this.#isOpen = true;
  }

  /** Reads what all writers have archived */
  async #readProgress() {
    const table = this.#driver.run((_, { Endpoint }) => Endpoint.progress_table());
    /** @type {ArchiveEntry[]} */
    const entries = [];
    for (;;) {
      const after = entries.at(-1)?.key ?? null;
      const page = checkPage(await this.#call("scan", (archive) => archive.scan(table, after, PAGE)));
      if (page.length === 0) break;
      if (after && keyName(page[0].key) === keyName(after)) {
        throw invalidRows("archive.scan returned the row after which it was to go on");
      }
      entries.push(...page);
    }
    this.#driver.run((endpoint) => {
      for (const { key, row } of entries) endpoint.push_progress(key, row);
      endpoint.handle_progress();
    }, StorageError);
  }

  /**
   * @template T
   * @param {string} method
   * @param {(archive: Archive) => T | PromiseLike<T>} call
   * @param {Uint8Array[]} [keys]
   * @returns {Promise<T>}
   */
  async #call(method, call, keys) {
    try {
      return await call(this.#archive);
    } catch (error) {
      throw failedCall(error, `archive.${method}`, keys);
    }
  }

  status() {
    /** @type {any} */
    const status = parseJson(
      this.#driver.run((endpoint) => endpoint.archive_status()),
      { bigint: true },
    );
    return {
      ...status,
      isWritten: this.#isWritten,
      openTransactions: Number(status.openTransactions),
      evictedBlocks: Number(status.evictedBlocks),
      exportedTransactions: this.#exportedTransactions,
      failures: this.#failures,
      failure: this.#failure,
    };
  }
}

/**
 * The versions of the rows of so many keys, as `getMany` of an archive returned them
 *
 * @param {unknown} found
 * @param {number} count
 * @returns {readonly (readonly Uint8Array[])[]}
 */
export function checkVersions(found, count) {
  if (!Array.isArray(found) || found.length !== count) {
    const what = Array.isArray(found) ? `${found.length} entries` : typeName(found);
    throw invalidRows(`archive.getMany returned ${what} for ${count} keys`);
  }
  for (const rows of found) {
    if (Array.isArray(rows) && rows.every(isBytes)) continue;
    throw invalidRows(`archive.getMany returned ${typeName(rows)} for a key, expected its rows`);
  }
  return found;
}

/**
 * A page of rows, as `scan` of an archive returned it
 *
 * @param {unknown} page
 * @returns {readonly ArchiveEntry[]}
 */
export function checkPage(page) {
  if (Array.isArray(page) && page.every(({ key, row }) => isBytes(key) && isBytes(row))) return page;
  throw invalidRows("archive.scan returned something else than rows with their keys");
}
