// A feed with the URLs of neardata, over `fetch`: one block, with repetitions until there is one.
//
// Waits between repetitions double up to a bound, with a random part, and are at least what the
// feed asks for. What may pass is repeated for ever; a message that stays malformed is an error
// after some attempts, all but the first of which bypass caches. Redirects are followed by `fetch`,
// because a page cannot see where one leads; the platform leaves the token out for other hosts.

import { linkedController, sleep } from "./abort.js";
import { Budget } from "./budget.js";
import { FollowError, RequestFailure } from "./error.js";
import { readBlock } from "./message.js";

/** @import { FollowEvent } from "../../follow.js" */
/** @import { Block } from "./message.js" */

/**
 * @typedef {object} FeedSettings
 * @property {URL} url
 * @property {string | undefined} token
 * @property {number} requestsPerMinute
 * @property {number} retry
 * @property {number} maxRetry
 * @property {typeof fetch} fetch
 * @property {(event: FollowEvent) => void} observe
 */

/** Maximum size of a body after decompression: recent messages have some 2 MB */
const MAX_BODY = 64 << 20;
/** Maximum length of what a response says in place of a block */
const MAX_TEXT = 200;
/** Maximum time without a byte: longer than the ten seconds that a feed may hold back a response */
const READ_TIMEOUT = 20_000;
/** Maximum time from a request to the end of its response */
const TIMEOUT = 60_000;
/** Maximum pause that a feed can ask for, and the pause after a `Retry-After` with a date */
const MAX_PAUSE = 3_600_000;
const DATE_PAUSE = 60_000;
/** The wait for a height that is above what the feed has */
const TOO_HIGH_DELAY = 1_000;
/** Attempts after which a message that is malformed each time is an error: at the default waits,
 *  about five minutes */
const MAX_BAD_MESSAGES = 15;

export class Feed {
  #settings;
  #base;
  #budget;
  /** Number of requests that bypassed caches, which makes the URL of each a new one */
  #bypassed = 0;

  /** @param {FeedSettings} settings */
  constructor(settings) {
    this.#settings = settings;
    this.#base = settings.url.href.replace(/\/$/, "");
    this.#budget = new Budget(settings.requestsPerMinute);
  }

  /**
   * The block at a height; `null` if the feed says that there is none
   *
   * @param {number} height
   * @param {{ isFinal: boolean, bypassCaches: boolean }} stream
   * @param {AbortSignal} signal
   */
  block(height, { isFinal, bypassCaches }, signal) {
    return this.#fetch(`/v0/${isFinal ? "block" : "block_opt"}/${height}`, height, bypassCaches, signal);
  }

  /**
   * The last final block of the feed
   *
   * @param {AbortSignal} signal
   */
  async lastFinal(signal) {
    // The redirect to the block is cached for a day by some caches.
    return /** @type {Block} */ (await this.#fetch("/v0/last_block/final", null, true, signal));
  }

  /**
   * @param {string} path
   * @param {number | null} height The height that the block has to have, if it is known
   * @param {boolean} bypassCaches
   * @param {AbortSignal} signal
   * @returns {Promise<Block | null>}
   */
  async #fetch(path, height, bypassCaches, signal) {
    let { retry } = this.#settings;
    let badMessages = 0;
    for (;;) {
      const { failure, pause, block } = await this.#attempt(path, height, bypassCaches, signal);
      if (!failure) return block;
      const { kind, message, status } = failure;
      if (kind === "missing" || kind === "permission-denied") throw new FollowError(kind, message);
      if (kind === "message") {
        bypassCaches = true;
        badMessages += 1;
        if (badMessages === MAX_BAD_MESSAGES) {
          const detail = `the feed sent a bad message ${badMessages} times: ${message}`;
          throw new FollowError("message", `${path}: ${detail}`);
        }
      }
      // Between half of the wait and all of it.
      const wait = kind === "too-high" ? TOO_HIGH_DELAY : retry;
      const delay = Math.max((wait * (1 + Math.random())) / 2, pause);
      if (kind !== "too-high") retry = Math.min(retry * 2, this.#settings.maxRetry);
      this.#settings.observe({ type: "retry", status, delay, detail: message });
      await sleep(delay, signal);
    }
  }

  /**
   * One request, and what it says
   *
   * @param {string} path
   * @param {number | null} height
   * @param {boolean} bypassCaches
   * @param {AbortSignal} signal
   * @returns {Promise<{ failure?: RequestFailure, pause: number, block: Block | null }>}
   */
  async #attempt(path, height, bypassCaches, signal) {
    let pause = 0;
    try {
      await this.#acquire(signal);
      const response = await this.#request(path, bypassCaches, signal);
      const { status, body, retryAfter } = response;
      pause = retryAfter;
      const message = interpret(path, status, body);
      if (message === null) {
        // Of a height it is an answer; a feed without a final block has not begun.
        if (height !== null) return { pause, block: null };
        throw new RequestFailure("temporary", `${path}: the feed has no final block`, status);
      }
      const block = readBlock(message);
      if (height !== null && block.height !== height) {
        throw new RequestFailure("message", `block ${block.height} in place of block ${height}`);
      }
      const {
        message: { length: bytes },
        timestamp,
      } = block;
      this.#settings.observe({ type: "fetched", height: block.height, bytes, timestamp });
      return { pause, block };
    } catch (failure) {
      signal.throwIfAborted();
      if (failure instanceof RequestFailure) return { failure, pause, block: null };
      throw failure;
    }
  }

  /**
   * Waits until a request can be sent
   *
   * @param {AbortSignal} signal
   */
  async #acquire(signal) {
    const place = this.#budget.reserve(performance.now());
    for (;;) {
      const now = performance.now();
      // A pause may begin while this waits.
      const until = Math.max(place, this.#budget.pausedUntil);
      if (until <= now) return;
      await sleep(until - now, signal);
    }
  }

  /**
   * The response to a GET, after redirects
   *
   * @param {string} path
   * @param {boolean} bypassCaches
   * @param {AbortSignal} signal
   */
  async #request(path, bypassCaches, signal) {
    const { url, token, fetch } = this.#settings;
    // Unique across restarts as well, as far as the clock is.
    const query = bypassCaches ? `?fresh=${Date.now()}-${(this.#bypassed += 1)}` : "";
    const { control, release } = linkedController(signal);
    const end = performance.now() + TIMEOUT;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const restartTimer = () => {
      clearTimeout(timer);
      const timeout = Math.min(READ_TIMEOUT, end - performance.now());
      timer = setTimeout(() => control.abort(new Error("timeout")), timeout);
    };
    restartTimer();
    try {
      const response = await fetch(this.#base + path + query, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        // Blocks are taken once: they would only fill the cache of the browser.
        cache: "no-store",
        credentials: "omit",
        signal: control.signal,
      });
      // The request that a redirect led to counts as well.
      if (response.redirected) this.#budget.reserve(performance.now());
      if (url.protocol === "https:" && response.url && new URL(response.url).protocol !== "https:") {
        throw new RequestFailure("temporary", `${path}: a redirect out of the feed's scheme`);
      }
      const retryAfter = pauseOf(response.headers.get("retry-after"));
      if (retryAfter > 0) this.#budget.pause(performance.now(), retryAfter);
      const body = await readBody(response, restartTimer);
      return { status: response.status, body, retryAfter };
    } catch (error) {
      if (error instanceof RequestFailure) throw error;
      const cause = /** @type {any} */ (error)?.cause ?? error;
      throw new RequestFailure("temporary", `${path}: ${cause?.message ?? cause}`);
    } finally {
      clearTimeout(timer);
      release();
      // Ends the transfer of a response that was refused.
      control.abort();
    }
  }
}

/**
 * The body of a response, up to the bound, whatever length it claims
 *
 * @param {Response} response
 * @param {() => void} onRead
 */
async function readBody(response, onRead) {
  const chunks = [];
  let length = 0;
  if (response.body) {
    const reader = response.body.getReader();
    for (let part; !(part = await reader.read()).done; ) {
      onRead();
      length += part.value.length;
      if (length > MAX_BODY) throw new RequestFailure("temporary", `a body of more than ${MAX_BODY} bytes`);
      chunks.push(part.value);
    }
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

/**
 * The message in a response; `null` if it says that there is no block
 *
 * @param {string} path
 * @param {number} status
 * @param {Uint8Array} body
 */
function interpret(path, status, body) {
  const text = new TextDecoder().decode(body.subarray(0, MAX_TEXT));
  if (status === 200) return body.length < 10 && text.trim() === "null" ? null : body;
  /** @type {(kind: RequestFailure["kind"], detail: string) => never} */
  const fail = (kind, detail) => {
    throw new RequestFailure(kind, `${path}: ${detail}`, status);
  };
  if (status === 401) return fail("permission-denied", "the feed refuses the token (HTTP 401)");
  if (status === 403) return fail("permission-denied", "the feed refuses this client (HTTP 403)");
  if (status === 404) {
    if (text.includes("BLOCK_DOES_NOT_EXIST")) return null;
    if (text.includes("BLOCK_HEIGHT_TOO_HIGH")) return fail("too-high", "above the newest block of the feed");
    if (text.includes("BLOCK_HEIGHT_TOO_LOW")) return fail("missing", "below the first block of the feed");
  }
  return fail("temporary", `HTTP ${status} ${text.replaceAll(/[\0-\x1f\x7f]/g, "")}`);
}

/**
 * The pause that a response asks for; a page can read the header only if the feed exposes it
 *
 * @param {string | null} retryAfter
 */
function pauseOf(retryAfter) {
  if (retryAfter === null) return 0;
  const seconds = /^\s*\d+\s*$/.test(retryAfter) ? Number(retryAfter) : DATE_PAUSE / 1_000;
  return Math.min(seconds * 1_000, MAX_PAUSE);
}
