// The entry `milepost/kit`: the conformance checks of a host's storage and archive, to run before
// an endpoint relies on them. By a module of its own, for development.
//
// The kit is that of the engine, which names the next call. A call whose result is no promise is
// answered at once, and so are several of them in one turn: an endpoint could read as often.

import { glue } from "../../build/kit/glue.js";
import { internal } from "../core/index.js";

/** @import { Archive } from "../../archive.js" */
/** @import { WasmSource } from "../../slim.js" */
/** @import { MaybePromise, Storage } from "../../storage.js" */

/** @typedef {Required<Archive>} WritableArchive */
/** @typedef {ReturnType<typeof glue>} Glue */
/** @typedef {Glue["Check"]["prototype"]} Check */
/** @typedef {Glue["CheckStep"]} Steps */
/** @typedef {Steps[keyof Steps]} Step */

const {
  VersionedStorage,
  checkPage,
  checkRows,
  checkVersions,
  fileHint,
  instantiateBeside,
  isPromise,
  readRows,
  unpackArchiveRows,
  unpackChanges,
  unpackKeys,
  usageError,
} = internal;

const WHAT = "the conformance kit";
const HINT = fileHint("kit.wasm", "the place of the entry");

/** @type {() => WasmSource} */
let loader;

/**
 * Sets where the module comes from
 *
 * @param {() => WasmSource} newLoader
 */
export function setKitLoader(newLoader) {
  loader = newLoader;
}

/**
 * @param {() => MaybePromise<Storage>} create
 * @returns {Promise<void>}
 */
export async function checkStorage(create) {
  if (typeof create !== "function") throw usageError("create: expected a function");
  const { isolation } = (await create()) ?? {};
  const isReadCommitted = isolation === "read-committed";
  /** @type {Storage} */
  let storage;
  /** @type {InstanceType<typeof VersionedStorage>} */
  let versioned;
  const snapshots = new Map();
  await run(
    ({ Check }) => Check.storage(isReadCommitted),
    (step, steps, { number, packed, push }) => {
      /** @param {unknown} rows @param {string} method @param {number} count */
      const pushRows = (rows, method, count) => checkRows(rows, count, method).forEach((row) => push.push_row(row));
      switch (step) {
        case steps.Make:
          snapshots.clear();
          return then(create(), (created) => {
            storage = created;
            versioned = new VersionedStorage(created);
          });
        case steps.Commit:
          // Queries that have begun read the rows from before the commit, which the package keeps.
          return (isReadCommitted ? storage : versioned).commit(unpackChanges(packed));
        case steps.Open:
          if (!isReadCommitted) snapshots.set(number, versioned.snapshot());
          return;
        case steps.Close:
          snapshots.get(number)?.close();
          snapshots.delete(number);
          return;
        case steps.Pause:
          return number === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, 0));
        default: {
          const keys = unpackKeys(packed);
          const snapshot = snapshots.get(number);
          if (snapshot) {
            return then(snapshot.getMany(keys), (rows) => pushRows(rows, "storage.getMany", keys.length));
          }
          if (step === steps.Get) return then(storage.get(keys[0]), (row) => pushRows([row], "storage.get", 1));
          return then(readRows(storage, keys), (rows) => pushRows(rows, "storage.getMany", keys.length));
        }
      }
    },
  );
}

/**
 * @param {() => MaybePromise<WritableArchive>} create
 * @returns {Promise<void>}
 */
export async function checkArchive(create) {
  if (typeof create !== "function") throw usageError("create: expected a function");
  /** @type {WritableArchive} */
  let archive;
  await run(
    ({ Check }) => Check.archive(),
    (step, steps, { number, packed, push, table }) => {
      switch (step) {
        case steps.Make:
          return then(create(), (created) => {
            archive = created;
          });
        case steps.Put:
          return archive.putMany(unpackArchiveRows(packed));
        case steps.Replace:
          return archive.replaceMany(unpackArchiveRows(packed));
        case steps.Scan: {
          const [after = null] = unpackKeys(packed);
          return then(archive.scan(table, after, number ?? 0), (page) => {
            for (const { key, row } of checkPage(page)) push.push_entry(key, row);
          });
        }
        default: {
          const keys = unpackKeys(packed);
          return then(archive.getMany(keys), (found) =>
            checkVersions(found, keys.length).forEach((versions, index) => {
              for (const row of versions) push.push_version(row);
              push.push_served(keys[index]);
            }),
          );
        }
      }
    },
  );
}

/**
 * Uses the result of a call, once it is there
 *
 * @template T
 * @param {MaybePromise<T>} result
 * @param {(result: T) => void} use
 * @returns {MaybePromise<() => void>}
 */
function then(result, use) {
  return isPromise(result) ? result.then((value) => () => use(value)) : () => use(result);
}

/**
 * Runs the kit of the engine; `perform` makes a call, and returns a function that pushes the
 * answer: several calls are open at a time, and only one can push at a time
 *
 * @param {(glue: Glue) => Check} createCheck
 * @param {(
 *   step: Step,
 *   steps: Steps,
 *   call: { number: number | undefined, packed: Uint8Array, table: number, push: Check },
 * ) => MaybePromise<void | (() => void)>} perform
 * @returns {Promise<void>}
 */
async function run(createCheck, perform) {
  const bindings = await instantiateBeside(loader(), glue(), HINT, WHAT);
  const steps = bindings.CheckStep;
  const check = createCheck(bindings);
  /** @type {unknown} */
  let cause;
  return new Promise((resolve, reject) => {
    /** @param {number} id @param {unknown} error */
    const fail = (id, error) => {
      cause = error;
      check.answer(id, error instanceof Error ? error.message : String(error));
    };
    /** @param {number} id @param {void | (() => void)} pushAnswer */
    const answer = (id, pushAnswer) => {
      try {
        pushAnswer?.();
      } catch (error) {
        return fail(id, error);
      }
      check.answer(id);
    };
    const pump = () => {
      try {
        for (;;) {
          const [step, id] = [check.poll(), check.id()];
          if (step === steps.Wait) return;
          if (step === steps.Done) {
            const violation = check.violation();
            if (violation === undefined) resolve();
            else reject(new Error(violation, { cause }));
            return;
          }
          const call = { number: check.number(), packed: check.packed(), table: check.table(), push: check };
          try {
            const result = perform(step, steps, call);
            if (!isPromise(result)) {
              answer(id, result);
              continue;
            }
            result.then(
              (pushAnswer) => {
                answer(id, pushAnswer);
                pump();
              },
              (error) => {
                fail(id, error);
                pump();
              },
            );
          } catch (error) {
            fail(id, error);
          }
        }
      } catch (error) {
        reject(error);
      }
    };
    pump();
  });
}
