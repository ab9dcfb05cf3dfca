// An asynchronous storage for tests, with hooks that run before reads and commits.

import { MemoryStorage } from "milepost";

/** Yields to the event loop in every method */
export class SlowStorage {
  rows = new MemoryStorage();
  /** Awaited before a read and before a commit */
  onRead = () => {};
  onCommit = () => {};

  async get(key) {
    await this.onRead();
    await nextTask();
    return this.rows.get(key);
  }

  async getMany(keys) {
    await this.onRead();
    await nextTask();
    // Row by row: the rows need not come from one state.
    const rows = [];
    for (const key of keys) {
      rows.push(this.rows.get(key));
      await null;
    }
    return rows;
  }

  async commit(changes) {
    await this.onCommit();
    await nextTask();
    this.rows.commit(changes);
    await nextTask();
  }
}

const nextTask = () => new Promise((resolve) => setImmediate(resolve));
