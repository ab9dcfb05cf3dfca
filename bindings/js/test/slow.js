// Storages for tests: one that takes its time, and says when it is asked.

import { MemoryStorage } from "milepost";

/** Yields at every call: as many turns of the event loop as `turns` says */
export class SlowStorage {
  rows = new MemoryStorage();
  /** Called before a read and before a commit, and waited for */
  onRead = () => {};
  onCommit = () => {};

  async get(table, key) {
    await this.onRead();
    await turn();
    return this.rows.get(table, key);
  }

  async getMany(keys) {
    await this.onRead();
    await turn();
    // Row by row: nothing here is of one state by itself.
    const rows = [];
    for (const { table, key } of keys) {
      rows.push(this.rows.get(table, key));
      await null;
    }
    return rows;
  }

  async commit(changes) {
    await this.onCommit();
    await turn();
    this.rows.commit(changes);
    await turn();
  }
}

export const turn = () => new Promise((resolve) => setImmediate(resolve));
