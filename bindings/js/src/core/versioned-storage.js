// Snapshots of the host's storage, for queries.
//
// A query sees the storage as it was when the query began, whatever is committed meanwhile: before
// a commit the rows that it changes are read, and older snapshots return these. Snapshots take no
// lock, so a storage may call its endpoint from within its own methods. The caller makes sure that
// there is one commit at a time. Over a storage whose reads are of single states this is left out:
// others change its rows too, and the engine validates what it has read.

import { failedCall, invalidRows } from "./errors.js";
import { isBytes } from "./input.js";
import { typeName } from "./options.js";
import { keyName } from "./packed-rows.js";

/** @import { MaybeRow, RowChange, Storage } from "../../storage.js" */

/** @typedef {Map<string, Uint8Array | undefined>} RowMap Rows by the names of their keys */
/** @typedef {ReturnType<VersionedStorage["snapshot"]>} Snapshot */

export class VersionedStorage {
  #storage;
  #isReadCommitted;
  /** Number of commits so far */
  #version = 0;
  /**
   * For each commit that some open snapshot precedes: the version before it, and the rows that it
   * replaced
   *
   * @type {{ version: number, rows: RowMap }[]}
   */
  #replaced = [];
  /**
   * Number of open snapshots by their version
   *
   * @type {Map<number, number>}
   */
  #snapshots = new Map();

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
    this.#isReadCommitted = storage.isolation === "read-committed";
  }

  /** A snapshot of the storage as it is now; has to be closed, and may be more than once */
  snapshot() {
    const version = this.#version;
    let isOpen = true;
    this.#snapshots.set(version, (this.#snapshots.get(version) ?? 0) + 1);
    return {
      getMany: async (/** @type {Uint8Array[]} */ keys) => {
        const rows = await this.#fetch(keys);
        if (this.#isReadCommitted) return rows;
        return keys.map((key, index) => this.#rowAt(version, key, rows[index]));
      },
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        const count = (this.#snapshots.get(version) ?? 1) - 1;
        if (count > 0) this.#snapshots.set(version, count);
        else this.#snapshots.delete(version);
        this.#dropUnused();
      },
    };
  }

  /**
   * Commits changes; `readRows` are rows that were read since the last commit
   *
   * @param {RowChange[]} changes
   * @param {RowMap} [readRows]
   */
  async commit(changes, readRows = new Map()) {
    if (!this.#isReadCommitted) await this.#keepReplaced(changes, readRows);
    try {
      await this.#storage.commit(changes);
    } catch (error) {
      if (!this.#isReadCommitted) this.#replaced.pop();
      throw failedCall(error, "storage.commit");
    }
    this.#version += 1;
    this.#dropUnused();
  }

  /**
   * Keeps the rows that a commit will replace, for older snapshots
   *
   * @param {RowChange[]} changes
   * @param {RowMap} readRows
   */
  async #keepReplaced(changes, readRows) {
    const replaced = new Map();
    const unread = [];
    for (const { key } of changes) {
      const name = keyName(key);
      if (readRows.has(name)) replaced.set(name, readRows.get(name));
      else unread.push(key);
    }
    if (unread.length > 0) {
      const rows = await this.#fetch(unread);
      unread.forEach((key, index) => replaced.set(keyName(key), rows[index]));
    }
    this.#replaced.push({ version: this.#version, rows: replaced });
  }

  /**
   * @param {number} version
   * @param {Uint8Array} key
   * @param {Uint8Array | undefined} current
   */
  #rowAt(version, key, current) {
    const name = keyName(key);
    const commit = this.#replaced.find((commit) => commit.version >= version && commit.rows.has(name));
    return commit ? commit.rows.get(name) : current;
  }

  #dropUnused() {
    const oldest = Math.min(this.#version, ...this.#snapshots.keys());
    while (this.#replaced.length > 0 && this.#replaced[0].version < oldest) this.#replaced.shift();
  }

  /**
   * @param {Uint8Array[]} keys
   * @returns {Promise<(Uint8Array | undefined)[]>}
   */
  async #fetch(keys) {
    const rows = await readRows(this.#storage, keys);
    return checkRows(rows, keys.length, this.#storage.getMany ? "storage.getMany" : "storage.get");
  }
}

/**
 * The result of a storage for these keys; synchronous if the storage is. An error names the call.
 *
 * @param {Storage} storage
 * @param {Uint8Array[]} keys
 */
export function readRows(storage, keys) {
  // Copies, because the storage may keep or change them.
  const copies = keys.map((key) => key.slice());
  if (storage.getMany) return call("storage.getMany", keys, () => storage.getMany?.(copies));
  const rows = copies.map((key, index) => call("storage.get", [keys[index]], () => storage.get(key)));
  return rows.some(isPromise) ? Promise.all(rows) : /** @type {MaybeRow[]} */ (rows);
}

/**
 * Calls a method of a storage, which may fail at once or later
 *
 * @template T
 * @param {string} method
 * @param {readonly Uint8Array[]} keys
 * @param {() => T} work
 * @returns {T | Promise<Awaited<T>>}
 */
function call(method, keys, work) {
  const fail = (/** @type {unknown} */ error) => {
    throw failedCall(error, method, keys);
  };
  try {
    const result = work();
    return isPromise(result) ? Promise.resolve(result).catch(fail) : result;
  } catch (error) {
    return fail(error);
  }
}

/**
 * The rows that a method of a storage returned for so many keys
 *
 * @param {unknown} rows
 * @param {number} count
 * @param {string} method
 * @returns {(Uint8Array | undefined)[]}
 */
export function checkRows(rows, count, method) {
  if (!Array.isArray(rows)) {
    throw invalidRows(`${method} returned ${typeName(rows)}, expected an array of rows`);
  }
  if (rows.length !== count) {
    throw invalidRows(`${method} returned ${rows.length} rows for ${count} keys`);
  }
  return rows.map((row) => {
    if (row === null || row === undefined) return undefined;
    if (isBytes(row)) return row;
    throw invalidRows(`${method} returned ${typeName(row)} as a row, expected a Uint8Array or nothing`);
  });
}

/**
 * @param {any} value
 * @returns {value is PromiseLike<any>}
 */
export function isPromise(value) {
  return typeof value?.then === "function";
}
