// Rows of the host's storage, as questions see them.
//
// A question sees the storage as it was when it began, whatever is committed meanwhile and however long
// the storage takes: before a commit its rows are read once more as they are, and who began earlier is given
// these. Nobody waits for anybody, so a storage may ask its engine from within its own methods.
// Commits come one at a time; their caller sees to that.

import { storageFailed } from "./errors.js";
import { isBytes } from "./input.js";
import { keyName } from "./packed.js";

/** @import { RowChange, RowKey, Storage } from "../../index.js" */

/** @typedef {Map<string, Uint8Array | undefined>} Known Rows by the names of their keys */

export class Rows {
  #storage;
  /** How many commits there were */
  #version = 0;
  /**
   * For each commit that somebody began before: its number, and the rows before it by their keys
   *
   * @type {{ version: number, before: Known }[]}
   */
  #before = [];
  /**
   * How many are reading that began at each version
   *
   * @type {Map<number, number>}
   */
  #readers = new Map();

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /** A reader that sees the storage as it is now; it is to be closed */
  open() {
    const version = this.#version;
    this.#readers.set(version, (this.#readers.get(version) ?? 0) + 1);
    return {
      read: async (/** @type {RowKey[]} */ keys) => {
        const rows = await this.#fetch(keys);
        return keys.map((key, index) => this.#asOf(version, key, rows[index]));
      },
      close: () => {
        const left = (this.#readers.get(version) ?? 1) - 1;
        if (left > 0) this.#readers.set(version, left);
        else this.#readers.delete(version);
        this.#forget();
      },
    };
  }

  /**
   * Commits changes; `known` are rows that were read since the last commit, by the names of their keys
   *
   * @param {RowChange[]} changes
   * @param {Known} known
   */
  async commit(changes, known) {
    const before = new Map();
    const unknown = [];
    for (const change of changes) {
      const name = keyName(change);
      if (known.has(name)) before.set(name, known.get(name));
      else unknown.push({ table: change.table, key: change.key.slice() });
    }
    if (unknown.length > 0) {
      const rows = await this.#fetch(unknown);
      unknown.forEach((key, index) => before.set(keyName(key), rows[index]));
    }
    this.#before.push({ version: this.#version, before });
    try {
      await this.#storage.commit(changes);
    } catch (error) {
      this.#before.pop();
      throw storageFailed(error);
    }
    this.#version += 1;
    this.#forget();
  }

  /**
   * @param {number} version
   * @param {RowKey} key
   * @param {Uint8Array | undefined} row
   */
  #asOf(version, key, row) {
    const name = keyName(key);
    const later = this.#before.find((entry) => entry.version >= version && entry.before.has(name));
    return later ? later.before.get(name) : row;
  }

  #forget() {
    const oldest = Math.min(this.#version, ...this.#readers.keys());
    while (this.#before.length > 0 && this.#before[0].version < oldest) this.#before.shift();
  }

  /**
   * @param {RowKey[]} keys
   * @returns {Promise<(Uint8Array | undefined)[]>}
   */
  async #fetch(keys) {
    let rows;
    try {
      const storage = this.#storage;
      // Copies, because the storage may keep or change what it is given.
      const asked = keys.map(({ table, key }) => ({ table, key: key.slice() }));
      rows = storage.getMany
        ? await storage.getMany(asked)
        : await Promise.all(asked.map(({ table, key }) => storage.get(table, key)));
    } catch (error) {
      throw storageFailed(error);
    }
    if (!Array.isArray(rows) || rows.length !== keys.length) {
      throw storageFailed(`${rows?.length} rows for ${keys.length} keys`);
    }
    return rows.map((row) => {
      if (row === null || row === undefined) return undefined;
      if (isBytes(row)) return row;
      throw storageFailed(`a row of type ${typeof row}, expected a Uint8Array or nothing`);
    });
  }
}
