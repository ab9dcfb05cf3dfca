// The storages that come with the package: a map in memory, and an IndexedDB database.

import { oneOf } from "./options.js";
import { checkOptions } from "./options.js";
import { keyName } from "./packed-rows.js";

/** @import { IndexedDbOptions, RowChange } from "../../index.js" */

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

/** Name of the only object store */
const ROWS = "rows";

export class IndexedDbStorage {
  #database;
  #durability;

  /**
   * For `open` only
   *
   * @param {IDBDatabase} database
   * @param {IDBTransactionDurability} durability
   */
  constructor(database, durability) {
    this.#database = database;
    this.#durability = durability;
    // Otherwise another page could not delete the database while this one is open.
    database.onversionchange = () => database.close();
  }

  /**
   * @param {string} name
   * @param {IndexedDbOptions} [options]
   */
  static async open(name, options = {}) {
    checkOptions(options, "options", ["factory", "durability"]);
    const { factory = globalThis.indexedDB, durability = "strict" } = options;
    oneOf(durability, "durability", ["strict", "relaxed"]);
    const request = factory.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(ROWS);
    return construct(await completion(request), durability);
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
    // One transaction: all rows come from one state.
    const rows = this.#database.transaction(ROWS).objectStore(ROWS);
    return Promise.all(keys.map((key) => completion(rows.get(/** @type {any} */ (key)))));
  }

  /** @param {readonly RowChange[]} changes */
  async commit(changes) {
    const transaction = this.#database.transaction(ROWS, "readwrite", {
      durability: this.#durability,
    });
    const rows = transaction.objectStore(ROWS);
    for (const { key, row } of changes) {
      if (row === null) rows.delete(/** @type {any} */ (key));
      else rows.put(row, /** @type {any} */ (key));
    }
    await /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
      })
    );
  }

  close() {
    this.#database.close();
  }
}

/**
 * Outside of the class: a class that names itself would get another name from the bundler
 *
 * @param {IDBDatabase} database
 * @param {NonNullable<IndexedDbOptions["durability"]>} durability
 */
function construct(database, durability) {
  return new IndexedDbStorage(database, durability);
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
export function completion(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
