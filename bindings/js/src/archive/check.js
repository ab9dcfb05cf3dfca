// The conformance check of a host's archive, to run before an endpoint relies on it.
//
// Each requirement is tested on an empty archive, with no more rows than it needs, so that an
// archive with one defect fails at the requirement of that name. An archive keeps bytes and
// interprets none, so rows and contents are any bytes. Left out is what cannot be tested here: that
// rows survive the end of the process.

import { internal } from "../core/index.js";

/** @import { Archive, ArchiveEntry, ArchiveRow } from "../../archive.js" */

/** @typedef {Required<Archive>} WritableArchive */

const { keyName, usageError } = internal;

/** The tables that an endpoint writes: transactions, receipts, blocks, heights, configurations,
 *  progress */
const TABLES = [16, 17, 18, 19, 20, 21];
/** Maximum number of pages of a scan of a test */
const MAX_PAGES = 1000;

/** @type {Record<string, (probe: Probe) => Promise<void>>} */
const REQUIREMENTS = {
  "a key without a row has none, which is no error": async (probe) => {
    for (const table of TABLES) {
      await probe.expect([[key(table, 1), []]]);
      await probe.expectScan(table, 10, []);
    }
  },
  "all rows that were put are read, in the order of the keys": async (probe) => {
    for (const table of TABLES) {
      const put = rows(table, 3);
      await probe.put(put);
      /** @type {[Uint8Array, Uint8Array[]][]} */
      const expected = put.map(({ key, row }) => [key, [row]]);
      await probe.expect([[key(table, 9), []], ...expected.reverse()]);
    }
    await probe.put([]);
  },
  "thousands of keys are read in one call, and none": async (probe) => {
    const put = rows(17, 3000);
    for (let start = 0; start < put.length; start += 500) await probe.put(put.slice(start, start + 500));
    /** @type {[Uint8Array, Uint8Array[]][]} */
    const expected = put.map(({ key, row }) => [key, [row]]);
    for (let number = 0; number < 300; number++) expected.splice(number * 9, 0, [key(17, 5000 + number), []]);
    await probe.expect(expected);
    await probe.expect([]);
  },
  "the same bytes in two tables are two keys, as are keys of which one begins the other": async (probe) => {
    const put = TABLES.flatMap((table) => [
      archiveRow(Uint8Array.of(table, 0), table),
      archiveRow(Uint8Array.of(table, 0, 0), table + 100),
      archiveRow(Uint8Array.of(table, 0, 255), table + 150),
      archiveRow(Uint8Array.of(table, 1), table + 200),
    ]);
    await probe.put(put);
    await probe.expect(put.map(({ key, row }) => [key, [row]]));
  },
  "rows of 8 MiB and of any bytes are read back unchanged": async (probe) => {
    for (const [number, length] of [0, 1, 255, 65_536, 8 << 20].entries()) {
      const row = new Uint8Array(length).map((_, index) => (index * 2_654_435_761) >>> 24);
      const put = { ...archiveRow(key(16, number), number), row };
      await probe.put([put]);
      await probe.expect([[put.key, [row]]]);
    }
  },
  "a put of rows that are there changes nothing": async (probe) => {
    for (const table of TABLES) {
      const put = rows(table, 40);
      await probe.put(put.slice(20));
      await probe.put(put.slice().reverse());
      await probe.put([put[3], put[3]]);
      // Rows with one content say the same, whatever else they have.
      await probe.put([{ ...put[5], row: Uint8Array.of(7) }]);
      const [sameContent] = await probe.archive.getMany([put[5].key]);
      if (sameContent.length !== 1) probe.fail(put[5].key, `${sameContent.length} rows of one content`);
      const others = put.filter((_, index) => index !== 5);
      await probe.expect(others.map(({ key, row }) => [key, [row]]));
      const scanned = await probe.scan(table, 100);
      if (scanned.length !== 40) probe.fail(null, `a scan of 40 rows lists ${scanned.length}`);
    }
  },
  "two rows of a key that differ in content are both there, until one replaces them": async (probe) => {
    const put = rows(16, 3);
    const [, right] = put;
    const wrong = { ...archiveRow(right.key, 77), key: right.key };
    await probe.put(put);
    await probe.put([wrong]);
    await probe.put(put);
    await probe.expect([[right.key, [right.row, wrong.row]]]);
    const both = (await probe.scan(16, 1)).filter(({ key }) => keyName(key) === keyName(right.key));
    if (both.length !== 2) probe.fail(right.key, `a scan lists ${both.length} of two rows`);
    await probe.replace([right]);
    await probe.expect(put.map(({ key, row }) => [key, [row]]));
  },
  "a replace removes all that the key has, and nothing else": async (probe) => {
    const put = rows(21, 3);
    await probe.replace(put);
    for (const length of [3000, 100, 100, 0]) {
      const row = new Uint8Array(length).fill(length);
      await probe.replace([{ key: put[1].key, content: content(1000 + length), row }]);
      await probe.expect([
        [put[0].key, [put[0].row]],
        [put[1].key, [row]],
        [put[2].key, [put[2].row]],
      ]);
    }
  },
  "a scan lists every row of its table once, page by page, in an order that stays": async (probe) => {
    for (const table of TABLES) await probe.put(rows(table, 50));
    for (const table of TABLES) {
      let order = "";
      for (const limit of [1, 7, 49, 50, 51]) {
        const scanned = await probe.expectScan(table, limit, rows(table, 50));
        const found = scanned.map(({ key }) => keyName(key)).join();
        if (order && found !== order) probe.fail(null, `two scans of table ${table} list two orders`);
        order = found;
      }
    }
  },
  "rows that are put at the same time are all there": async (probe) => {
    const put = rows(16, 200);
    const parts = Array.from({ length: 8 }, (_, part) => put.filter((_, index) => index % 8 === part));
    await Promise.all([...parts, ...parts].map((part) => probe.put(part)));
    await probe.expect(put.map(({ key, row }) => [key, [row]]));
  },
};

/**
 * @param {() => WritableArchive | PromiseLike<WritableArchive>} create
 * @returns {Promise<void>}
 */
export async function checkArchive(create) {
  if (typeof create !== "function") throw usageError("create: expected a function");
  for (const [requirement, test] of Object.entries(REQUIREMENTS)) {
    const probe = new Probe(await create(), requirement);
    try {
      await test(probe);
    } catch (error) {
      if (error instanceof Violation) throw error;
      throw new Violation(requirement, null, `the archive failed: ${error}`, error);
    }
  }
}

class Violation extends Error {
  /**
   * @param {string} requirement
   * @param {Uint8Array | null} key
   * @param {string} detail
   * @param {unknown} [cause]
   */
  constructor(requirement, key, detail, cause) {
    const place = key ? ` at key ${Array.from(key).join(" ")}` : "";
    super(`the archive does not meet a requirement: ${requirement}${place}: ${detail}`, { cause });
  }
}

/** An archive that is tested for a requirement */
class Probe {
  /**
   * @param {WritableArchive} archive
   * @param {string} requirement
   */
  constructor(archive, requirement) {
    this.archive = archive;
    this.requirement = requirement;
  }

  /**
   * @param {Uint8Array | null} key
   * @param {string} detail
   * @returns {never}
   */
  fail(key, detail) {
    throw new Violation(this.requirement, key, detail);
  }

  /** @param {ArchiveRow[]} rows */
  async put(rows) {
    await this.archive.putMany(rows);
  }

  /** @param {ArchiveRow[]} rows */
  async replace(rows) {
    await this.archive.replaceMany(rows);
  }

  /**
   * Reads all keys in one call, and each by itself
   *
   * @param {[Uint8Array, Uint8Array[]][]} expected The rows of each key
   */
  async expect(expected) {
    const found = await this.archive.getMany(expected.map(([key]) => key));
    if (found.length !== expected.length) this.fail(null, `${found.length} entries for ${expected.length} keys`);
    for (const [index, [key, rows]] of expected.entries()) this.#compare(key, rows, found[index]);
    for (const [key, rows] of expected.slice(0, 20)) {
      const [alone] = await this.archive.getMany([key]);
      this.#compare(key, rows, alone);
    }
  }

  /**
   * @param {Uint8Array} key
   * @param {Uint8Array[]} expected
   * @param {readonly Uint8Array[]} found
   */
  #compare(key, expected, found) {
    if (found.length !== expected.length) this.fail(key, `${found.length} rows, expected ${expected.length}`);
    for (const row of expected) {
      if (!found.some((other) => isEqual(row, other))) this.fail(key, "a row is not the one that was put");
    }
  }

  /**
   * @param {number} table
   * @param {number} limit
   */
  async scan(table, limit) {
    /** @type {ArchiveEntry[]} */
    const scanned = [];
    for (let pages = 0; ; pages++) {
      if (pages === MAX_PAGES) this.fail(null, `a scan of table ${table} does not end`);
      const page = await this.archive.scan(table, scanned.at(-1)?.key ?? null, limit);
      if (page.length === 0) return scanned;
      scanned.push(...page);
    }
  }

  /**
   * @param {number} table
   * @param {number} limit
   * @param {ArchiveRow[]} expected
   */
  async expectScan(table, limit, expected) {
    const scanned = await this.scan(table, limit);
    const found = new Map(scanned.map(({ key, row }) => [keyName(key), row]));
    if (scanned.length !== expected.length || found.size !== expected.length) {
      const keys = `${scanned.length} rows of ${found.size} keys`;
      this.fail(null, `a scan of table ${table} lists ${keys}, expected ${expected.length}`);
    }
    for (const { key, row } of expected) {
      const other = found.get(keyName(key));
      if (!other || !isEqual(row, other)) this.fail(key, "a scan does not list the row that was put");
    }
    return scanned;
  }
}

/**
 * A key as the engine has it: hashes, and numbers in eight bytes
 *
 * @param {number} table
 * @param {number} number
 */
function key(table, number) {
  const bytes = new Uint8Array(table < 19 ? 33 : 9);
  bytes[0] = table;
  new DataView(bytes.buffer).setUint32(table < 19 ? 1 : 5, table < 19 ? number * 2_654_435_761 : number);
  if (table < 19) new DataView(bytes.buffer).setUint32(29, number);
  return bytes;
}

/** @param {number} number */
function content(number) {
  const bytes = new Uint8Array(33).fill(1, 0, 1);
  new DataView(bytes.buffer).setUint32(29, number);
  return bytes;
}

/**
 * @param {Uint8Array} key
 * @param {number} number
 * @returns {ArchiveRow}
 */
function archiveRow(key, number) {
  const row = new Uint8Array(40 + (number % 200)).map((_, index) => index + number);
  return { key, content: content(number), row };
}

/**
 * @param {number} table
 * @param {number} count
 */
function rows(table, count) {
  return Array.from({ length: count }, (_, number) => archiveRow(key(table, number), number));
}

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
function isEqual(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
