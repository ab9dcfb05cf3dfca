// The entry `milepost/follow`: an endpoint imports the blocks of feeds, by the rules of the
// follower, which are in a module of their own.

import { glue } from "../../build/follow/glue.js";
import { BlockError, internal } from "../core/index.js";
import { linkedController } from "./abort.js";
import { Driver } from "./driver.js";
import { clock } from "./exchange.js";

/** @import { BlockPoint, Endpoint } from "../../index.js" */
/** @import { FollowEvent, FollowOptions } from "../../follow.js" */
/** @import { WasmSource } from "../../slim.js" */

export { FollowError } from "./error.js";

const OPTIONS = [
  "url",
  "from",
  "until",
  "startMargin",
  "maxCatchUp",
  "skip",
  "token",
  "requestsPerMinute",
  "retry",
  "maxRetry",
  "frozenAfter",
  "fetch",
  "signal",
  "onEvent",
  "source",
];
const FEEDS = new Map([
  ["mainnet", "https://mainnet.neardata.xyz"],
  ["testnet", "https://testnet.neardata.xyz"],
]);
const MACHINE = ["localhost", "127.0.0.1", "[::1]"];
const WHAT = "the follower";
const HINT = internal.fileHint("follow.wasm", "the option `source` of follow");

/** @type {() => WasmSource} */
let loader;

/**
 * Sets where the module comes from
 *
 * @param {() => WasmSource} newLoader
 */
export function setFollowLoader(newLoader) {
  loader = newLoader;
}

/**
 * @param {Pick<Endpoint, "chainStatus" | "handleBlock">} endpoint
 * @param {FollowOptions} options
 * @returns {Promise<void>}
 */
export async function follow(endpoint, options) {
  const { feeds, observe, createRules } = settingsOf(options);
  const { signal, until, source = loader() } = options;
  signal?.throwIfAborted();
  const stored = await storedChain(endpoint);
  const bindings = await internal.instantiateBeside(source, glue(), HINT, WHAT);
  const rules = createRules(bindings, stored);
  const { control, release } = linkedController(signal);
  const driver = new Driver(rules, bindings.instance_memory(), feeds, observe, control.signal);
  try {
    for (;;) {
      const { height, timestamp, message } = await driver.next();
      if (until !== undefined && height > until) return;
      const summary = await endpoint.handleBlock(message).catch(async (error) => {
        // A chain that has begun waits for a feed with a block that it can import.
        const reached = error instanceof BlockError ? await storedChain(endpoint) : "";
        if (reached === "") throw error;
        driver.refuse(reached, error.message);
        return null;
      });
      signal?.throwIfAborted();
      if (summary === null) continue;
      observe({ type: "imported", height, timestamp, summary });
      if (height === until) return;
    }
  } finally {
    release();
    // Ends the requests ahead of the last block.
    control.abort();
  }
}

/**
 * The head and the last final block of the endpoint, as the module reads them; the earliest block
 * in place of the latter if nothing is final by its headers, and no text for no chain
 *
 * @param {Pick<Endpoint, "chainStatus">} endpoint
 */
async function storedChain(endpoint) {
  const { head, lastFinal, earliest } = await endpoint.chainStatus();
  const known = lastFinal ?? earliest;
  const text = (/** @type {BlockPoint} */ { height, hash }) => `${height} ${hash}`;
  return head && known ? `${text(head)} ${text(known)}` : "";
}

/** @param {FollowOptions} options */
function settingsOf(options) {
  internal.checkOptions(options ?? null, "options", OPTIONS);
  const { url, from = "resume", until, skip, token, signal, onEvent = () => {} } = options;
  const { fetch = globalThis.fetch, maxCatchUp = Infinity } = options;
  internal.optionalString(token, "token");
  if (typeof from !== "number") internal.oneOf(from, "from", ["resume", "final"]);
  else integer(from, "from", 0);
  for (const [name, value] of Object.entries({ until, skip })) {
    if (value !== undefined) integer(value, name, 0);
  }
  for (const [name, value] of Object.entries({ fetch, onEvent })) {
    if (typeof value !== "function") throw internal.usageError(`${name}: expected a function`);
  }
  if (signal !== undefined) internal.checkSignal(signal);
  const urls = Array.isArray(url) ? url : [url];
  if (urls.length === 0) throw internal.usageError("url: expected at least one feed");
  const feeds = urls.map((url, index) => ({
    base: feedUrl(url),
    /** @type {Record<string, string>} */
    headers: token === undefined || index > 0 ? {} : { authorization: `Bearer ${token}` },
    // A method of `window` that is called on another object is an error.
    fetch: fetch.bind(globalThis),
  }));
  const requests = integer(options.requestsPerMinute ?? 170, "requestsPerMinute", 1);
  const startMargin = integer(options.startMargin ?? 250, "startMargin", 0);
  const numbers = /** @type {const} */ ([
    integer(options.retry ?? 250, "retry", 1),
    integer(options.maxRetry ?? 30_000, "maxRetry", 1),
    integer(options.frozenAfter ?? 30_000, "frozenAfter", 1),
    from === "final" ? 0 : startMargin,
    maxCatchUp === Infinity ? maxCatchUp : integer(maxCatchUp, "maxCatchUp", 0),
    skip,
  ]);
  const start = from === "resume" ? undefined : from === "final" ? Infinity : from;
  return {
    feeds,
    observe: (/** @type {FollowEvent} */ event) => onEvent(event),
    createRules: (/** @type {ReturnType<typeof glue>} */ { Follower, Settings }, /** @type {string} */ stored) => {
      const settings = new Settings(Math.random() * 2 ** 32, ...numbers);
      return new Follower(feeds.length, requests, start, stored, settings, clock());
    },
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
  return parsed.href.replace(/\/$/, "");
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
