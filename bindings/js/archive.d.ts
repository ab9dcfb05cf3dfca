// Archives: finalized transactions, behind a storage of recent blocks: `milepost/archive`.

import type { IndexedDbOptions, MaybePromise } from "./storage.js";

/** A row to put into an archive */
export interface ArchiveRow {
  /** The number of the table, then 1 to 32 bytes */
  readonly key: Uint8Array;
  /** What the row says, as 32 bytes: rows of one key with the same content are one row */
  readonly content: Uint8Array;
  /** The row, opaque to the host */
  readonly row: Uint8Array;
}

/** A row with its key */
export interface ArchiveEntry {
  readonly key: Uint8Array;
  readonly row: Uint8Array;
}

/**
 * Where finalized transactions are kept: a set of rows by key and content, which any number of
 * endpoints and processes may share. A table with the primary key (`key`, `content`), for example.
 * Rows are put once and not changed; `checkArchive` of `milepost/kit` tests whether an archive is
 * right.
 *
 * After each import an endpoint puts what has become final, and its storage forgets a block, by
 * `settings.retention`, only when that is durable. An archive that fails never fails an import: the
 * storage keeps its blocks, up to `settings.archiveBacklog`. An endpoint over an archive without
 * `putMany` and `replaceMany` only reads it, and forgets what others have archived.
 *
 * What the storage does not know is read here, with one call for a transaction; if that fails the
 * answer is `INTERNAL_ERROR`, and never `UNKNOWN_TRANSACTION`.
 */
export interface Archive {
  /** All rows of each key, in the order of the keys: none, one, or several that differ in content.
   *  A rejection means that the archive cannot answer */
  getMany(keys: readonly Uint8Array[]): MaybePromise<readonly (readonly Uint8Array[])[]>;
  /** About `limit` rows of a table, which is the first byte of its keys: those of the keys after
   *  `after`, or the first ones. The order is the archive's own and stays the same; all rows of a
   *  key are in one page, and a page is empty only after the last row */
  scan(table: number, after: Uint8Array | null, limit: number): MaybePromise<readonly ArchiveEntry[]>;
  /** Adds each row, unless its key has one with the same content, which may stay or be overwritten;
   *  the rows are durable when the promise is fulfilled. Any part of them may be there otherwise */
  putMany?(rows: readonly ArchiveRow[]): MaybePromise<void>;
  /** Removes all rows of these keys and adds these, in one step for readers */
  replaceMany?(rows: readonly ArchiveRow[]): MaybePromise<void>;
}

/** What an endpoint has put into its archive; heights and open transactions are those of all
 *  writers, as they were read last, if it only reads */
export interface ArchiveStatus {
  /** Whether the endpoint writes to the archive */
  isWritten: boolean;
  /** Height of the newest block that is archived */
  archivedHeight: bigint | null;
  /** Heights at which every transaction is in the archive: ranges with both ends, ascending */
  complete: readonly (readonly [first: bigint, last: bigint])[];
  /** Number of transactions in archived blocks that are not finalized, and so not archived */
  openTransactions: number;
  /** The storage keeps the blocks of this height and above, until more is archived */
  keptFrom: bigint;
  /** Number of transactions that this endpoint has archived since it was created */
  exportedTransactions: number;
  /** Number of times that the archive could not be written, or its progress not be read */
  failures: number;
  /** Why the last time failed; `null` if it did not */
  failure: string | null;
  /** Number of blocks that the storage has forgotten although they are not archived, because it had
   *  more than `settings.archiveBacklog` */
  evictedBlocks: number;
}

/** An archive in memory, for tests */
export class MemoryArchive implements Archive {
  getMany(keys: readonly Uint8Array[]): Uint8Array[][];
  scan(table: number, after: Uint8Array | null, limit: number): ArchiveEntry[];
  putMany(rows: readonly ArchiveRow[]): void;
  replaceMany(rows: readonly ArchiveRow[]): void;
}

/** An archive in an IndexedDB database */
export class IndexedDbArchive implements Archive {
  private constructor();
  /** Opens the database of this name, or creates it */
  static open(name: string, options?: IndexedDbOptions): Promise<IndexedDbArchive>;
  getMany(keys: readonly Uint8Array[]): Promise<Uint8Array[][]>;
  scan(table: number, after: Uint8Array | null, limit: number): Promise<ArchiveEntry[]>;
  putMany(rows: readonly ArchiveRow[]): Promise<void>;
  replaceMany(rows: readonly ArchiveRow[]): Promise<void>;
  /** Closes the database; later calls fail */
  close(): void;
}
