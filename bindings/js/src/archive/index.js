// The entry `milepost/archive`: the engine with archives, its storages, and the checks of
// storages and archives.

export { checkArchive, checkStorage } from "./check.js";
export { IndexedDbArchive } from "./indexed-db.js";
export { MemoryArchive } from "./memory.js";
