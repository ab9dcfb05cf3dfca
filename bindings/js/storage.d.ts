// The interface of a storage of the host, and the options of the one that comes with the package.

import type { Platform } from "./platform.js";

/** A value, or a promise of it */
export type MaybePromise<T> = T | PromiseLike<T>;

/** Writes a row, or removes it if `row` is `null` */
export interface RowChange {
  readonly key: Uint8Array;
  readonly row: Uint8Array | null;
}

/** A row, or nothing if there is none */
export type MaybeRow = Uint8Array | null | undefined;

/**
 * Where rows are stored: a map from keys to bytes. A key is 2 to 33 bytes: the number of its table,
 * then 1 to 32 bytes.
 *
 * The storage has to make `commit` atomic, and visible to every read that begins after its promise
 * is fulfilled. An exception or a rejection means that the storage failed; a missing row is no
 * error. The endpoint makes one commit at a time, never changes keys and rows that it passed, and
 * runs each query on one state of the storage, whatever is committed in the meantime: by the
 * endpoint itself, or, with `isolation`, by others. Only one endpoint may commit to a storage at a
 * time. A storage may call its endpoint from within its methods, but must not await `handleBlock`
 * or `putConfig` there, which wait for the storage.
 */
export interface Storage {
  /** Whether several reads see one state: they do if only the endpoint commits (`snapshot`,
   *  default). If others commit too, each read has to see the newest commit, and see it whole
   *  (`read-committed`): then a query reads the generation of the chain before, with and after its
   *  rows, which are two round trips more, and starts again if it changed. */
  readonly isolation?: "snapshot" | "read-committed";
  get(key: Uint8Array): MaybePromise<MaybeRow>;
  /** The rows of these keys, in their order; default one `get` for each */
  getMany?(keys: readonly Uint8Array[]): MaybePromise<readonly MaybeRow[]>;
  commit(changes: readonly RowChange[]): MaybePromise<void>;
}

export interface IndexedDbOptions {
  /** Default `globalThis.indexedDB` */
  factory?: Platform<"IDBFactory">;
  /** What a commit survives: a crash of the machine (`strict`, default), or of the page
   *  (`relaxed`) */
  durability?: "strict" | "relaxed";
}
