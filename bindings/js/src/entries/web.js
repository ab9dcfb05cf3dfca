// The entry for web pages: bundlers recognize the URL and copy the `.wasm` file along.

import { init as load, setLoader } from "./core.js";

setLoader({ source: () => new URL("./milepost.wasm", import.meta.url) });

export const init = () => load();
export {
  BlockError,
  ConfigError,
  decodeTransaction,
  Endpoint,
  EndpointResponse,
  ErrorCode,
  IndexedDbStorage,
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
} from "./core.js";
