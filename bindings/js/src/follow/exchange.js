// One exchange with a feed by `fetch`: a response with its body, or an error that says why there is
// none. It repeats nothing and judges nothing; the rules do.
//
// Redirects are followed by `fetch`, because a page cannot see where one leads; the platform leaves
// the token out for other hosts.

import { linkedController, sleep } from "./abort.js";

/**
 * @typedef {object} FeedAddress
 * @property {string} base The URL without a slash at its end
 * @property {Record<string, string>} headers
 * @property {typeof fetch} fetch
 */

/**
 * @typedef {object} Request
 * @property {string[]} paths Each is requested if the one before has status 404
 * @property {boolean} bypassCaches
 * @property {number} deadline When the rules give it up
 * @property {() => number} requestMore Counts one more request; returns when it can be sent
 */

/** @typedef {{ path: string, status: number, retryAfter: number | undefined, chunks: Uint8Array[] }} FeedResponse */

/** Maximum size of a body after decompression: recent messages have some 2 MB */
const MAX_BODY = 64 << 20;
/** Maximum time without a byte: longer than the ten seconds that a feed may hold back a response */
const READ_TIMEOUT = 20_000;
/** The pause after a `Retry-After` with a date */
const DATE_PAUSE = 60_000;

/** Number of requests that bypassed caches, which makes the URL of each a new one */
let bypassed = 0;

/** The time by the clock of the rules, in whole milliseconds */
export const clock = () => Math.floor(performance.now());

/**
 * @param {FeedAddress} feed
 * @param {Request} request
 * @param {AbortSignal} signal
 * @returns {Promise<FeedResponse>}
 */
export async function exchange(feed, request, signal) {
  const [first, ...others] = request.paths;
  let answer = await get(feed, first, request, signal);
  for (const path of others) {
    if (answer.status !== 404) break;
    await sleep(request.requestMore() - clock(), signal);
    answer = await get(feed, path, request, signal);
  }
  return answer;
}

/**
 * The response to a GET, after redirects
 *
 * @param {FeedAddress} feed
 * @param {string} path
 * @param {Request} request
 * @param {AbortSignal} signal
 */
async function get({ base, headers, fetch }, path, { bypassCaches, deadline, requestMore }, signal) {
  // Unique across restarts as well, as far as the clock is.
  const query = bypassCaches ? `?fresh=${Date.now()}-${(bypassed += 1)}` : "";
  const { control, release } = linkedController(signal);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => control.abort(new Error("timeout")), Math.min(READ_TIMEOUT, deadline - clock()));
  };
  restartTimer();
  try {
    const response = await fetch(base + path + query, {
      headers,
      // Blocks are taken once: they would only fill the cache of the browser.
      cache: "no-store",
      credentials: "omit",
      signal: control.signal,
    });
    // The request that a redirect led to counts as well.
    if (response.redirected) requestMore();
    if (base.startsWith("https:") && response.url && !response.url.startsWith("https:")) {
      throw new Error("a redirect out of the feed's scheme");
    }
    const { status } = response;
    return { path, status, retryAfter: pauseOf(response), chunks: await readBody(response, restartTimer) };
  } catch (error) {
    const cause = /** @type {any} */ (error)?.cause ?? error;
    throw new Error(`${path}: ${cause?.message ?? cause}`);
  } finally {
    clearTimeout(timer);
    release();
    // Ends the transfer of a response that was refused.
    control.abort();
  }
}

/**
 * The body of a response, up to the bound, whatever length it claims
 *
 * @param {Response} response
 * @param {() => void} onRead
 */
async function readBody({ body }, onRead) {
  const chunks = [];
  let length = 0;
  const reader = body?.getReader();
  for (let part; reader && !(part = await reader.read()).done; ) {
    onRead();
    length += part.value.length;
    if (length > MAX_BODY) throw new Error(`a body of more than ${MAX_BODY} bytes`);
    chunks.push(part.value);
  }
  return chunks;
}

/**
 * The pause that a response asks for; a page can read the header only if the feed exposes it
 *
 * @param {Response} response
 */
function pauseOf({ headers }) {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  return /^\s*\d+\s*$/.test(text) ? Number(text) * 1_000 : DATE_PAUSE;
}
