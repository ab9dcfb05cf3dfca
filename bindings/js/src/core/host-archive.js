// Calls of an archive of the host, with checks of what it returns. Errors name the call.

import { failedCall, invalidRows } from "./errors.js";
import { isBytes } from "./input.js";
import { typeName } from "./options.js";
import { unpackArchiveRows } from "./packed-rows.js";

/** @import { Archive, ArchiveEntry } from "../../archive.js" */

/** The first byte of the keys of an archive's tables, as in `core/src/storage/key.rs` */
const FIRST_ARCHIVE_TABLE = 16;
/** Rows of a page */
const PAGE = 256;

/** @param {Uint8Array} key */
export function isArchiveKey(key) {
  return key[0] >= FIRST_ARCHIVE_TABLE;
}

export class HostArchive {
  #archive;

  /** @param {Archive} archive */
  constructor(archive) {
    this.#archive = archive;
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

  /**
   * @param {"putMany" | "replaceMany"} method
   * @param {Uint8Array} packed The rows
   */
  async write(method, packed) {
    const rows = unpackArchiveRows(packed);
    await this.#call(method, (archive) => archive[method]?.(rows));
  }

  /**
   * The rows after this key, or the first ones of the table of this number
   *
   * @param {Uint8Array} after
   */
  async scan(after) {
    const key = after.length > 1 ? after : null;
    return checkPage(await this.#call("scan", (archive) => archive.scan(after[0], key, PAGE)));
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
