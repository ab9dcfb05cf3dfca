// Decodes keys and changes from the encoding of `wasm/src/packed_rows.rs`.
//
// Each is copied out: a view would keep the whole buffer alive, and a database would store the
// whole buffer with it.

const REMOVED = 0xffffffff;
const CONTENT_LENGTH = 32;

/** @param {Uint8Array} packed */
export function unpackKeys(packed) {
  const keys = [];
  for (let offset = 0; offset < packed.length; ) {
    const start = offset + 1;
    offset = start + packed[start - 1];
    keys.push(packed.slice(start, offset));
  }
  return keys;
}

/**
 * The rows of a call of an archive, each with the 32 bytes of its content
 *
 * @param {Uint8Array} packed
 */
export function unpackArchiveRows(packed) {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const rows = [];
  for (let offset = 0; offset < packed.length; ) {
    const start = offset + 1;
    const end = start + packed[start - 1];
    const length = view.getUint32(end + CONTENT_LENGTH, true);
    const content = packed.slice(end, end + CONTENT_LENGTH);
    offset = end + CONTENT_LENGTH + 4 + length;
    rows.push({ key: packed.slice(start, end), content, row: packed.slice(offset - length, offset) });
  }
  return rows;
}

/** @param {Uint8Array} packed */
export function unpackChanges(packed) {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const changes = [];
  for (let offset = 0; offset < packed.length; ) {
    const start = offset + 1;
    const end = start + packed[start - 1];
    /** @type {Uint8Array | null} */
    let row = null;
    const length = view.getUint32(end, true);
    offset = end + 4;
    if (length !== REMOVED) {
      row = packed.slice(offset, offset + length);
      offset += length;
    }
    changes.push({ key: packed.slice(start, end), row });
  }
  return changes;
}

/**
 * A key as a string, for use as a key of a `Map`
 *
 * @param {Uint8Array} key
 */
export function keyName(key) {
  return String.fromCharCode(...key);
}
