// The entry `milepost/archive`: the archives that come with the package.

export { IndexedDbArchive } from "./indexed-db.js";
export { MemoryArchive } from "./memory.js";
