// An IndexedDB database with one object store, for rows.
//
// A write ends when it is durable as far as the options ask for. What the keys of the rows are is
// up to those that use it: a storage and an archive.

import { checkOptions, oneOf } from "./options.js";

/** @import { IndexedDbOptions } from "../../index.js" */

/** Name of the only object store */
const ROWS = "rows";

export class RowDatabase {
  #database;
  #durability;

  /**
   * @param {IDBDatabase} database
   * @param {IDBTransactionDurability} durability
   */
  constructor(database, durability) {
    this.#database = database;
    this.#durability = durability;
    // Otherwise another page could not delete the database while this one is open.
    database.onversionchange = () => database.close();
  }

  /** Rows to read; all that is read in one turn comes from one state */
  rows() {
    return this.#database.transaction(ROWS).objectStore(ROWS);
  }

  /**
   * @param {(rows: IDBObjectStore) => void} change
   * @returns {Promise<void>}
   */
  async write(change) {
    const options = { durability: this.#durability };
    const transaction = this.#database.transaction(ROWS, "readwrite", options);
    change(transaction.objectStore(ROWS));
    return new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
  }

  close() {
    this.#database.close();
  }
}

/**
 * Opens a database, or makes it
 *
 * Outside of the class: a class that names itself would get another name from the bundler.
 *
 * @param {string} name
 * @param {IndexedDbOptions} options
 */
export async function openRowDatabase(name, options) {
  checkOptions(options, "options", ["factory", "durability"]);
  const { factory = globalThis.indexedDB, durability = "strict" } = options;
  oneOf(durability, "durability", ["strict", "relaxed"]);
  const request = factory.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(ROWS);
  return new RowDatabase(await completion(request), durability);
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
