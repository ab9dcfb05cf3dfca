// An archive in an IndexedDB database.
//
// The key of a row is its key and its content, so a row that is put again is itself, and two rows
// that differ are beside each other. Reads of one call see one state.

import { internal } from "../core/index.js";

/** @import { ArchiveEntry, ArchiveRow } from "../../archive.js" */
/** @import { IndexedDbOptions } from "../../index.js" */
/** @import { RowDatabase } from "../core/row-database.js" */

const { completion, openRowDatabase } = internal;

export class IndexedDbArchive {
  #database;

  /**
   * For `open` only
   *
   * @param {RowDatabase} database
   */
  constructor(database) {
    this.#database = database;
  }

  /**
   * @param {string} name
   * @param {IndexedDbOptions} [options]
   */
  static async open(name, options = {}) {
    return construct(await openRowDatabase(name, options));
  }

  /**
   * @param {readonly Uint8Array[]} keys
   * @returns {Promise<Uint8Array[][]>}
   */
  async getMany(keys) {
    const rows = this.#database.rows();
    return Promise.all(keys.map((key) => completion(rows.getAll(ofKey(key)))));
  }

  /**
   * @param {number} table
   * @param {Uint8Array | null} after
   * @param {number} limit
   * @returns {Promise<ArchiveEntry[]>}
   */
  async scan(table, after, limit) {
    const rows = this.#database.rows();
    const start = after ? beyond(after) : [Uint8Array.of(table)];
    const range = IDBKeyRange.bound(start, [Uint8Array.of(table + 1)], false, true);
    // In one transaction, so they have the same state. The rows of the last key may extend beyond
    // the page: they are read with it.
    const keys = await completion(rows.getAllKeys(range, limit));
    const entries = await this.#entries(rows, keys);
    const last = entries.at(-1)?.key;
    if (!last) return entries;
    const ofLast = await completion(rows.getAll(ofKey(last)));
    const before = entries.filter(({ key }) => !isEqual(key, last));
    return [...before, ...ofLast.map((row) => ({ key: last, row }))];
  }

  /**
   * @param {IDBObjectStore} rows
   * @param {IDBValidKey[]} keys
   * @returns {Promise<ArchiveEntry[]>}
   */
  async #entries(rows, keys) {
    const read = keys.map((key) => completion(rows.get(key)));
    const values = await Promise.all(read);
    return keys.map((key, index) => {
      const [bytes] = /** @type {ArrayBuffer[]} */ (key);
      return { key: new Uint8Array(bytes), row: values[index] };
    });
  }

  /** @param {readonly ArchiveRow[]} rows */
  putMany(rows) {
    return this.#write(rows, false);
  }

  /** @param {readonly ArchiveRow[]} rows */
  replaceMany(rows) {
    return this.#write(rows, true);
  }

  /**
   * @param {readonly ArchiveRow[]} written
   * @param {boolean} replaces
   * @returns {Promise<void>}
   */
  #write(written, replaces) {
    return this.#database.write((rows) => {
      if (replaces) for (const { key } of written) rows.delete(ofKey(key));
      for (const { key, content, row } of written) {
        rows.put(row, /** @type {any} */ ([key, content]));
      }
    });
  }

  close() {
    this.#database.close();
  }
}

/**
 * All rows of a key: arrays sort after all bytes
 *
 * @param {Uint8Array} key
 */
function ofKey(key) {
  return IDBKeyRange.bound([key], beyond(key));
}

/**
 * A key of the database after all rows of this key, and before those of the next
 *
 * @param {Uint8Array} key
 */
function beyond(key) {
  return [key, []];
}

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
function isEqual(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/**
 * Outside of the class: a class that names itself would get another name from the bundler
 *
 * @param {RowDatabase} database
 */
function construct(database) {
  return new IndexedDbArchive(database);
}
