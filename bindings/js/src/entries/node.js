// The names of `node.cjs` for modules: one state for both, whoever loads which.

import milepost from "./node.cjs";

export const {
  Answer,
  BlockError,
  ConfigError,
  decodeTransaction,
  Engine,
  ErrorCode,
  IndexedDbStorage,
  init,
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
