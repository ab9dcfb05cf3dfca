// All that the package shows, and what its entries need to load the engine.

export { Answer } from "./answer.js";
export { Engine } from "./engine.js";
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
export { decodeTransaction, methodNames, validateRequest } from "./free.js";
export { parseJson, writeJson } from "./json.js";
export { init, initSync, provide, version } from "./load.js";
export { IndexedDbStorage, MemoryStorage } from "./storages.js";
