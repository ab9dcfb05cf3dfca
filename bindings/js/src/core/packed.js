// Keys and changes as the engine packs them: see `wasm/src/packed.rs`.
//
// Each is copied out, because a view would keep all the others alive, and in a database would be stored
// with them.

/** @import { RowChange, RowKey } from "../../index.js" */

const REMOVED = 0xffffffff;

/**
 * Keys, one behind the other
 *
 * @param {Uint8Array} packed
 */
export function unpackKeys(packed) {
  const keys = [];
  for (let at = 0; at < packed.length; ) {
    const start = at + 2;
    at = start + packed[start - 1];
    keys.push({ table: packed[start - 2], key: packed.slice(start, at) });
  }
  return keys;
}

/**
 * Changes, one behind the other
 *
 * @param {Uint8Array} packed
 */
export function unpackChanges(packed) {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const changes = [];
  for (let at = 0; at < packed.length; ) {
    const start = at + 2;
    const end = start + packed[start - 1];
    /** @type {Uint8Array | null} */
    let row = null;
    const length = view.getUint32(end, true);
    at = end + 4;
    if (length !== REMOVED) {
      row = packed.slice(at, at + length);
      at += length;
    }
    changes.push({ table: packed[start - 2], key: packed.slice(start, end), row });
  }
  return changes;
}

/**
 * A key as a string: for tables of keys
 *
 * @param {RowKey} key
 */
export function keyName({ table, key }) {
  return String.fromCharCode(table, ...key);
}
