// Everything that the package exports, and what its entries need to load the engine.

import { fileHint, instantiateBeside } from "./compile.js";
import { checkSignal } from "./endpoint.js";
import { usageError } from "./errors.js";
import { checkPage, checkVersions } from "./host-archive.js";
import { textBytes } from "./input.js";
import { checkOptions, oneOf, optionalString } from "./options.js";
import { keyName, unpackArchiveRows, unpackChanges, unpackKeys } from "./packed-rows.js";
import { completion, openRowDatabase } from "./row-database.js";
import { VersionedStorage, checkRows, isPromise, readRows } from "./versioned-storage.js";

export { version } from "./compile.js";
export { Endpoint } from "./endpoint.js";
export {
  BlockError,
  ConfigError,
  ErrorCode,
  MethodError,
  MilepostError,
  PanicError,
  RequestError,
  StorageError,
  TransactionError,
  UsageError,
} from "./errors.js";
export { parseJson, writeJson } from "./json.js";
export { init, initSync, setLoader } from "./load.js";
export { EndpointResponse } from "./response.js";
export { decodeTransaction, methodNames, validateRequest } from "./stateless.js";
export { IndexedDbStorage, MemoryStorage } from "./storages.js";

/** What the other entries of the package use, and no user */
export const internal = {
  VersionedStorage,
  checkOptions,
  checkPage,
  checkRows,
  checkSignal,
  checkVersions,
  completion,
  fileHint,
  instantiateBeside,
  isPromise,
  keyName,
  oneOf,
  openRowDatabase,
  optionalString,
  readRows,
  textBytes,
  unpackArchiveRows,
  unpackChanges,
  unpackKeys,
  usageError,
};
