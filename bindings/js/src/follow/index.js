// The entry `milepost/follow`: an endpoint imports the blocks of a feed, by the rules of the
// follower.

import { internal } from "../core/index.js";
import { linkedController } from "./abort.js";
import { Feed } from "./feed.js";
import { Follower } from "./follower.js";

/** @import { BlockPoint, Endpoint } from "../../index.js" */
/** @import { FollowEvent, FollowOptions } from "../../follow.js" */

export { FollowError } from "./error.js";

const OPTIONS = [
  "url",
  "from",
  "until",
  "startMargin",
  "maxCatchUp",
  "token",
  "requestsPerMinute",
  "retry",
  "maxRetry",
  "frozenAfter",
  "maxUnfinalized",
  "fetch",
  "signal",
  "onEvent",
];
const FEEDS = new Map([
  ["mainnet", "https://mainnet.neardata.xyz"],
  ["testnet", "https://testnet.neardata.xyz"],
]);
const MACHINE = ["localhost", "127.0.0.1", "[::1]"];

/**
 * @param {Pick<Endpoint, "chainStatus" | "handleBlock">} endpoint
 * @param {FollowOptions} options
 * @returns {Promise<void>}
 */
export async function follow(endpoint, options) {
  const settings = settingsOf(options);
  const { signal, until } = options;
  signal?.throwIfAborted();
  const { head, lastFinal, earliest } = await endpoint.chainStatus();
  const known = lastFinal ?? earliest;
  const stored = head && known && { head: pointOf(head), lastFinal: pointOf(known) };
  const { control, release } = linkedController(signal);
  const follower = new Follower(new Feed(settings), settings, stored, control.signal);
  try {
    for (;;) {
      const { height, timestamp, message } = await follower.next();
      if (until !== undefined && height > until) return;
      const summary = await endpoint.handleBlock(message);
      signal?.throwIfAborted();
      settings.observe({ type: "imported", height, timestamp, summary });
      if (height === until) return;
    }
  } finally {
    follower.stop();
    release();
    // Ends the requests ahead of the last block.
    control.abort();
  }
}

/** @param {BlockPoint} point */
const pointOf = ({ height, hash }) => ({ height: Number(height), hash });

/** @param {FollowOptions} options */
function settingsOf(options) {
  internal.checkOptions(options ?? null, "options", OPTIONS);
  const { url, from = "resume", until, token, signal, onEvent = () => {} } = options;
  const { fetch = globalThis.fetch } = options;
  internal.optionalString(token, "token");
  if (typeof from !== "number") internal.oneOf(from, "from", ["resume", "final"]);
  else integer(from, "from", 0);
  if (until !== undefined) integer(until, "until", 0);
  for (const [name, value] of Object.entries({ fetch, onEvent })) {
    if (typeof value !== "function") throw internal.usageError(`${name}: expected a function`);
  }
  if (signal !== undefined) internal.checkSignal(signal);
  const { maxCatchUp = Infinity } = options;
  return {
    url: feedUrl(url),
    from,
    token,
    // A method of `window` that is called on another object is an error.
    fetch: fetch.bind(globalThis),
    observe: (/** @type {FollowEvent} */ event) => onEvent(event),
    maxCatchUp: maxCatchUp === Infinity ? maxCatchUp : integer(maxCatchUp, "maxCatchUp", 0),
    startMargin: integer(options.startMargin ?? 250, "startMargin", 0),
    requestsPerMinute: integer(options.requestsPerMinute ?? 170, "requestsPerMinute", 1),
    retry: integer(options.retry ?? 500, "retry", 1),
    maxRetry: integer(options.maxRetry ?? 30_000, "maxRetry", 1),
    frozenAfter: integer(options.frozenAfter ?? 30_000, "frozenAfter", 1),
    maxUnfinalized: integer(options.maxUnfinalized ?? 1_000, "maxUnfinalized", 1),
  };
}

/** @param {unknown} url */
function feedUrl(url) {
  const text = FEEDS.get(String(url)) ?? String(url).replace(/^neardata\+/, "");
  const parsed = parsedUrl(text);
  const isPlain = parsed?.protocol === "http:" && MACHINE.includes(parsed.hostname);
  if (!parsed || (parsed.protocol !== "https:" && !isPlain) || parsed.search || parsed.hash) {
    const expected = "mainnet, testnet, or https://host[/path]; http is for this machine only";
    throw internal.usageError(`url: expected ${expected}`);
  }
  return parsed;
}

/** @param {string} text */
function parsedUrl(text) {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/**
 * @param {unknown} value
 * @param {string} name
 * @param {number} least
 */
function integer(value, name, least) {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw internal.usageError(`${name}: expected a whole number of at least ${least}`);
}
