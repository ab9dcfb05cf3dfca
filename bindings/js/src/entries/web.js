// In a page: the `.wasm` file is beside this one, where bundlers see it and move it along.

import { init as load, provide } from "./core.js";

provide({ source: () => new URL("./milepost.wasm", import.meta.url) });

export const init = () => load();
export {
  Answer,
  BlockError,
  ConfigError,
  decodeTransaction,
  Engine,
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
