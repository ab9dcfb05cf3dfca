// The entry `milepost/archive`: the engine with archives, and what comes with it.

export { checkArchive } from "./check.js";
export { IndexedDbArchive } from "./indexed-db.js";
export { MemoryArchive } from "./memory.js";
