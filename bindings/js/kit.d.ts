// The conformance kit, which checks storages and archives: `milepost/kit`. For development: its
// module is a third of the engine's size.

import type { Archive } from "./archive.js";
import type { MaybePromise, Storage } from "./storage.js";

/**
 * Checks that a storage meets the requirements of an endpoint, by the conformance kit of the
 * engine. Reads also begin while the promise of a commit is pending: with
 * `isolation: "read-committed"` they have to see the commit whole or not at all. `create` is called
 * some 25 times, each time for an empty storage, which gets at most about 16 MiB of rows. Not
 * checked: that commits survive closing the storage, and the view of other processes.
 *
 * @throws {Error} A requirement is not met: the message says which one, at which key, and what was
 *   found; `cause` is the last error of the storage.
 */
export function checkStorage(create: () => MaybePromise<Storage>): Promise<void>;

/**
 * Checks that an archive meets the requirements of an endpoint, by the conformance kit of the
 * engine. Puts also begin while others are pending. `create` is called 11 times, each time for an
 * empty archive, which gets at most about 10 MiB of rows. Not checked: that rows survive closing
 * the archive.
 *
 * @throws {Error} As `checkStorage`
 */
export function checkArchive(create: () => MaybePromise<Required<Archive>>): Promise<void>;
