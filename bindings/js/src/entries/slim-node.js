// The names of `slim.cjs` for modules in Node.js: one state for both, whoever loads which.

import milepost from "./slim.cjs";

export const {
  Answer,
  BlockError,
  ConfigError,
  decodeTransaction,
  Engine,
  ErrorCode,
  IndexedDbStorage,
  init,
  initSync,
  MemoryStorage,
  methodNames,
  MilepostError,
  PanicError,
  parseJson,
  RequestError,
  StorageError,
  TransactionError,
  UsageError,
  validateRequest,
  version,
  writeJson,
} = milepost;
