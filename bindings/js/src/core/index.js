// Everything that the package exports, and what its entries need to load the engine.

import { checkSignal } from "./endpoint.js";
import { BlockError, usageError } from "./errors.js";
import { textBytes } from "./input.js";
import { compile, fileHint, loadError, panicError, version } from "./load.js";
import { checkOptions, oneOf, optionalString } from "./options.js";

export { Endpoint } from "./endpoint.js";
export {
  BlockError,
  ConfigError,
  ErrorCode,
  MilepostError,
  PanicError,
  RequestError,
  StorageError,
  TransactionError,
  UsageError,
} from "./errors.js";
export { parseJson, writeJson } from "./json.js";
export { init, initSync, setLoader, version } from "./load.js";
export { EndpointResponse } from "./response.js";
export { decodeTransaction, methodNames, validateRequest } from "./stateless.js";
export { IndexedDbStorage, MemoryStorage } from "./storages.js";

/** What the other entries of the package use, and no user */
export const internal = {
  BlockError,
  checkOptions,
  checkSignal,
  compile,
  fileHint,
  loadError,
  oneOf,
  optionalString,
  panicError,
  textBytes,
  usageError,
  version,
};
