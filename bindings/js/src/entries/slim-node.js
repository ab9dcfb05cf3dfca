// The exports of `slim.cjs` as a module, for Node.js: both have one state.

import milepost from "./slim.cjs";

export const {
  BlockError,
  ConfigError,
  decodeTransaction,
  Endpoint,
  EndpointResponse,
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
