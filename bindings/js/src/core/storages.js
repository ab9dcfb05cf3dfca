// The storages that come with the package: a map in memory, and an IndexedDB database.

import { keyName } from "./packed-rows.js";
import { completion, openRowDatabase } from "./row-database.js";

/** @import { IndexedDbOptions, RowChange } from "../../index.js" */
/** @import { RowDatabase } from "./row-database.js" */

export class MemoryStorage {
  /** @type {Map<string, Uint8Array>} */
  #rows = new Map();

  get size() {
    return this.#rows.size;
  }

  /** @param {Uint8Array} key */
  get(key) {
    return this.#rows.get(keyName(key));
  }

  /** @param {readonly Uint8Array[]} keys */
  getMany(keys) {
    return keys.map((key) => this.get(key));
  }

  /** @param {readonly RowChange[]} changes */
  commit(changes) {
    for (const { key, row } of changes) {
      if (row === null) this.#rows.delete(keyName(key));
      else this.#rows.set(keyName(key), row);
    }
  }
}

export class IndexedDbStorage {
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

  /** @param {Uint8Array} key */
  async get(key) {
    const [row] = await this.getMany([key]);
    return row;
  }

  /**
   * @param {readonly Uint8Array[]} keys
   * @returns {Promise<(Uint8Array | undefined)[]>}
   */
  async getMany(keys) {
    const rows = this.#database.rows();
    return Promise.all(keys.map((key) => completion(rows.get(/** @type {any} */ (key)))));
  }

  /** @param {readonly RowChange[]} changes */
  commit(changes) {
    return this.#database.write((rows) => {
      for (const { key, row } of changes) {
        if (row === null) rows.delete(/** @type {any} */ (key));
        else rows.put(row, /** @type {any} */ (key));
      }
    });
  }

  close() {
    this.#database.close();
  }
}

/**
 * Outside of the class: a class that names itself would get another name from the bundler
 *
 * @param {RowDatabase} database
 */
function construct(database) {
  return new IndexedDbStorage(database);
}
