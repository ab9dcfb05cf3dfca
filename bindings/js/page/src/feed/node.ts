// The engine as the node of the page, with the blocks of a feed in a database of the browser. It
// answers what the page asks of a server, also while no feed is followed: from the blocks that are
// stored. The newest blocks are kept, and a database that is far behind starts anew.

import type { Endpoint } from "milepost";
import type { FollowEvent, FollowOptions } from "milepost/follow";

import { at, isObject, list, type Json } from "../exact";

/** Number of newest blocks that are kept, some ten minutes */
const RETAINED_BLOCKS = 1_000;
/** Where an empty database starts: transactions from then on are whole */
const START_MARGIN = 20;
/** Number of heights that are caught up; of a longer gap the blocks are left out */
const MAX_CATCH_UP = 200;
const MINUTE = 60_000;
/** Number of transactions that are listed, as by a server */
const LISTED = 24;

/** What is known of a block that was imported since the page was loaded */
interface StoredBlock {
  height: number;
  timestamp_nanosec: string;
}

/** What the panel shows */
export interface FeedState {
  isRunning: boolean;
  /** The height of the newest block that was imported since the page was loaded */
  height: number | null;
  /** Bytes that were fetched since the page was loaded, after decompression */
  bytes: number;
  /** Messages that were fetched in the last minute */
  messagesPerMinute: number;
  /** What is the matter, if something is */
  problem: string | null;
}

export class FeedNode {
  private blocks = new Map<string, StoredBlock>();
  private recent: Json[] = [];
  private times: number[] = [];
  private running: AbortController | null = null;
  private height: number | null = null;
  private bytes = 0;
  private problem: string | null = null;

  private constructor(
    private readonly feed: string,
    private readonly endpoint: Endpoint,
    private readonly milepost: typeof import("milepost"),
  ) {}

  /** Opens the database of a feed; sends nothing */
  static async open(feed: string): Promise<FeedNode> {
    const milepost = await import("milepost");
    const storage = await milepost.IndexedDbStorage.open(`milepost ${feed}`, { durability: "relaxed" });
    const settings = { retention: { blocks: RETAINED_BLOCKS } };
    return new FeedNode(feed, await milepost.Endpoint.create({ storage, settings }), milepost);
  }

  get state(): FeedState {
    const since = performance.now() - MINUTE;
    this.times = this.times.filter((time) => time >= since);
    const { height, bytes, problem } = this;
    return { isRunning: this.running !== null, height, bytes, messagesPerMinute: this.times.length, problem };
  }

  /** Follows the feed until `stop` or an error that only a person can repair */
  async start(): Promise<void> {
    if (this.running !== null) return;
    const control = new AbortController();
    this.running = control;
    this.problem = null;
    const onEvent = (event: FollowEvent) => this.handle(event);
    const options: FollowOptions = {
      url: this.feed,
      signal: control.signal,
      startMargin: START_MARGIN,
      maxCatchUp: MAX_CATCH_UP,
      onEvent,
    };
    try {
      const { follow } = await import("milepost/follow");
      await follow(
        { chainStatus: () => this.endpoint.chainStatus(), handleBlock: (message) => this.importBlock(message) },
        options,
      );
    } catch (error) {
      if (!control.signal.aborted) this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.running = null;
    }
  }

  /** Imports a block, and keeps what the page lists of it */
  private async importBlock(message: Parameters<Endpoint["handleBlock"]>[0]): ReturnType<Endpoint["handleBlock"]> {
    const summary = await this.endpoint.handleBlock(message);
    if (summary.position !== "head") return summary;
    const block = JSON.parse(typeof message === "string" ? message : new TextDecoder().decode(message)) as Json;
    const header = at(block, "block", "header");
    const timestamp = String(at(header, "timestamp_nanosec"));
    const height = Number(at(header, "height"));
    this.blocks.set(summary.block.hash, { height, timestamp_nanosec: timestamp });
    const [oldest] = this.blocks.keys();
    if (this.blocks.size > RETAINED_BLOCKS && oldest !== undefined) this.blocks.delete(oldest);
    const transactions = list(at(block, "shards")).flatMap((shard) => list(at(shard, "chunk", "transactions")));
    const listed = transactions.slice(0, LISTED).map((item) => describe(at(item, "transaction"), height, timestamp));
    this.recent = [...listed, ...this.recent].slice(0, LISTED);
    return summary;
  }

  stop(): void {
    this.running?.abort();
  }

  private handle(event: FollowEvent): void {
    if (event.type === "fetched") {
      this.bytes += event.bytes;
      this.times.push(performance.now());
    } else if (event.type === "imported") {
      this.height = event.height;
      this.problem = null;
    } else if (event.type === "retry") {
      this.problem = event.detail;
    } else if (event.type === "frozen") {
      this.problem = "the feed has no new block";
    }
  }

  /** Answers in place of a server: `fetch` of a path of the page */
  async respond(path: string, init: RequestInit): Promise<{ status: number; body: string }> {
    if (path === "/") {
      const options = init.signal ? { signal: init.signal } : {};
      const response = await this.endpoint.handleRequest(String(init.body), options);
      return { status: 200, body: response.text };
    }
    if (path === "/status") {
      const { head } = await this.endpoint.chainStatus();
      const chain_id = head === null ? null : this.feed.replace(/^\w+:\/\//, "");
      const feed = this.running === null ? "none" : this.problem === null ? "followed" : "behind";
      return { status: 200, body: this.milepost.writeJson({ chain_id, head, feed }) };
    }
    if (path.startsWith("/blocks/")) {
      const hashes = path.slice("/blocks/".length).replace(/\?.*/, "").split(",");
      const known = hashes.map((hash) => [hash, this.blocks.get(hash) ?? null]);
      return { status: 200, body: JSON.stringify(Object.fromEntries(known)) };
    }
    if (path === "/tx/recent") return { status: 200, body: JSON.stringify(this.recent) };
    return { status: 404, body: "" };
  }
}

/** A transaction in the list, as a server lists it */
function describe(transaction: Json, height: number, timestamp: string): Json {
  const actions = list(at(transaction, "actions"));
  const names = actions.map((action) => (isObject(action) ? (Object.keys(action)[0] ?? null) : action));
  const call = actions.find((action) => at(action, "FunctionCall") !== null);
  return {
    tx_hash: at(transaction, "hash"),
    signer_id: at(transaction, "signer_id"),
    receiver_id: at(transaction, "receiver_id"),
    actions: names,
    method_name: at(call, "FunctionCall", "method_name"),
    height,
    timestamp_nanosec: timestamp,
  };
}
