// The exports of `node.cjs` as a module: both have one state.

import milepost from "./node.cjs";

export const {
  BlockError,
  ConfigError,
  decodeTransaction,
  Endpoint,
  EndpointResponse,
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
