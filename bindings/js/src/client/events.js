// The changes of one transaction by server-sent events, read from a response as it comes.
//
// A connection that ends before the last event is opened again, after the time that the server
// asks for and then after longer times; the id of the last event keeps the server from repeating a
// state. A response that no repetition would change ends the watch.

import { changeOf, isLast } from "../core/changes.js";
import { ErrorCode, RequestError, StorageError } from "../core/errors.js";
import { parseJson } from "../core/json.js";
import { MAX_EVENT, Retry } from "./retry.js";

/** @import { ConnectionState } from "../../client.js" */
/** @import { Mailbox, WatchRequest } from "../core/changes.js" */

/**
 * Puts the changes of a transaction into a mailbox, until the returned function is called
 *
 * @param {string} href
 * @param {WatchRequest} request
 * @param {Mailbox} mailbox
 * @param {typeof globalThis.fetch} fetch
 * @param {(state: ConnectionState) => void} onConnection
 */
export function watchByEvents(href, { waitUntil, withResult }, mailbox, fetch, onConnection) {
  const url = `${href}?wait_until=${waitUntil}${withResult ? "&include=status" : ""}`;
  const control = new AbortController();
  const retry = new Retry();
  let lastId = "";

  const connect = async () => {
    /** @type {Record<string, string>} */
    const headers = { accept: "text/event-stream" };
    if (lastId) headers["last-event-id"] = lastId;
    const response = await fetch(url, { headers, signal: control.signal, cache: "no-store" });
    if (response.status !== 200 || !response.body) {
      const text = (await response.text()).slice(0, 300);
      const detail = `HTTP status ${response.status}: ${text}`;
      if (response.status < 500 && response.status !== 408 && response.status !== 429) {
        throw new RequestError(ErrorCode.VALUE, detail);
      }
      throw new Error(detail);
    }
    onConnection({ isOpen: true });
    for await (const event of events(response.body, retry)) {
      retry.reset();
      if (event.name === "failed") {
        throw new StorageError(ErrorCode.STORAGE, JSON.parse(event.data).error);
      }
      lastId = event.id;
      mailbox.put(changeOf(event.name, event.id, parseJson(event.data, { bigint: true })));
      if (isLast(event.name)) return true;
    }
    return false;
  };

  const run = async () => {
    for (;;) {
      let cause;
      try {
        if (await connect()) return;
      } catch (error) {
        if (control.signal.aborted) return;
        if (error instanceof RequestError || error instanceof StorageError) return mailbox.fail(error);
        cause = error;
      }
      onConnection({ isOpen: false, cause });
      await retry.pause(control.signal);
      if (control.signal.aborted) return;
    }
  };
  run();
  return () => control.abort();
}

/**
 * The events of a stream (HTML, section 9.2.6); comments are left out
 *
 * @param {ReadableStream<Uint8Array>} body
 * @param {Retry} retry
 */
async function* events(body, retry) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  // The event so far, which is not searched again, but for its last character: its end may begin there.
  let text = "";
  let last = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const parts = (last + decoder.decode(value, { stream: true })).split("\n\n");
      const rest = /** @type {string} */ (parts.pop());
      for (const part of parts) {
        const { id = "", event: name = "message", data, retry: delay } = parseFields(text + part);
        text = "";
        if (delay) retry.delay = Number(delay);
        if (data !== undefined) yield { id, name, data };
      }
      text += rest.slice(0, -1);
      last = rest.slice(-1);
      if (text.length > MAX_EVENT) throw new RequestError(ErrorCode.LIMIT, "an event is too large");
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * The fields of an event of our server, which have one line each
 *
 * @param {string} text
 * @returns {Record<string, string | undefined>}
 */
function parseFields(text) {
  return Object.fromEntries(
    text.split("\n").map((line) => {
      // It matches every line.
      const [, name, value] = /** @type {RegExpExecArray} */ (/^([^:]*):? ?(.*)$/s.exec(line));
      return [name, value];
    }),
  );
}
