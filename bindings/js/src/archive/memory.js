// An archive in memory: for tests, and as the example of an archive.
//
// Rows of one key with the same content are one row. A scan lists keys in the order in which they
// came.

import { internal } from "../core/index.js";

/** @import { ArchiveEntry, ArchiveRow } from "../../archive.js" */

const { keyName } = internal;

export class MemoryArchive {
  /**
   * The rows of each key by their content
   *
   * @type {Map<string, Map<string, ArchiveRow>>}
   */
  #rows = new Map();

  /** @param {readonly Uint8Array[]} keys */
  getMany(keys) {
    return keys.map((key) => Array.from(this.#rows.get(keyName(key))?.values() ?? [], ({ row }) => row));
  }

  /**
   * @param {number} table
   * @param {Uint8Array | null} after
   * @param {number} limit
   */
  scan(table, after, limit) {
    const names = Array.from(this.#rows.keys()).filter((name) => name.charCodeAt(0) === table);
    const start = after ? names.indexOf(keyName(after)) + 1 : 0;
    /** @type {ArchiveEntry[]} */
    const page = [];
    // The rows of one key come in one page.
    for (const name of names.slice(start)) {
      if (page.length >= limit) break;
      page.push(...(this.#rows.get(name)?.values() ?? []));
    }
    return page;
  }

  /** @param {readonly ArchiveRow[]} rows */
  putMany(rows) {
    for (const { key, content, row } of rows) {
      const name = keyName(key);
      const ofKey = this.#rows.get(name) ?? new Map();
      this.#rows.set(name, ofKey);
      const contentName = keyName(content);
      if (!ofKey.has(contentName)) ofKey.set(contentName, { key, content, row });
    }
  }

  /** @param {readonly ArchiveRow[]} rows */
  replaceMany(rows) {
    for (const { key } of rows) this.#rows.get(keyName(key))?.clear();
    this.putMany(rows);
  }
}
