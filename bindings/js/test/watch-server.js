// A server whose events are scripted: server-sent events and a WebSocket, with connections that a
// test cuts. It knows one transaction at a time; its states are those of the script.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A text frame of a server (RFC 6455, section 5.2) */
function frame(text) {
  const payload = Buffer.from(text);
  const head =
    payload.length < 126
      ? Buffer.from([0x81, payload.length])
      : Buffer.from([0x81, 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, payload]);
}

/** The text frames of a client in these bytes, and the bytes after them; `null` at a close */
function readFrames(bytes) {
  const texts = [];
  while (bytes.length >= 6) {
    let [length, start] = [bytes[1] & 127, 2];
    if (length === 126) [length, start] = [bytes.readUInt16BE(2), 4];
    if (bytes.length < start + 4 + length) break;
    const mask = bytes.subarray(start, start + 4);
    const payload = bytes.subarray(start + 4, start + 4 + length).map((byte, index) => byte ^ mask[index % 4]);
    // Opcode 8 is a close.
    if ((bytes[0] & 15) === 8) return [texts, null];
    texts.push(Buffer.from(payload).toString());
    bytes = bytes.subarray(start + 4 + length);
  }
  return [texts, bytes];
}

/** A state of a transaction, as a server reports it */
export function state(milestone, receipts = 0) {
  const status = { transaction_hash: "hash", final_execution_status: milestone };
  if (milestone !== "NONE") {
    Object.assign(status, {
      status: "Started",
      block: { height: 9007199254740993n, hash: "block" },
      receipts_known: receipts,
      receipts_executed: receipts,
      receipts_failed: 0,
      finalized: false,
    });
  }
  const json = JSON.stringify(status, (_, value) => (typeof value === "bigint" ? "big" : value));
  return { id: `${milestone}-${receipts}`, json: json.replace('"big"', "9007199254740993") };
}

export class ScriptedServer {
  /** What each connection was asked for: the id of the last event, or the params of a request */
  asked = [];
  requests = [];
  /** Answers the next streams with this HTTP status */
  refusals = [];
  #streams = new Set();
  #sockets = new Map();
  #current = null;
  #server = createServer((request, response) => this.#handle(request, response));

  static async start() {
    const server = new ScriptedServer();
    server.#server.on("upgrade", (request, socket) => server.#upgrade(request, socket));
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    server.url = `http://127.0.0.1:${server.#server.address().port}`;
    return server;
  }

  async #handle(request, response) {
    if (request.method === "POST") {
      const body = (await request.toArray()).join("");
      this.requests.push({ body, prefer: request.headers.prefer });
      const { status, text } = this.response;
      response.writeHead(status).end(text);
      return;
    }
    this.asked.push({ url: request.url, lastEventId: request.headers["last-event-id"] });
    const status = this.refusals.shift();
    if (status) return response.writeHead(status).end("no");
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 5\n\n: a comment\n\n");
    this.#streams.add(response);
    response.on("close", () => this.#streams.delete(response));
    const known = request.headers["last-event-id"];
    if (this.#current && this.#current.id !== known) this.#write(response, this.#current);
  }

  #write(response, { event, id, json }) {
    // In two parts, as they may come.
    const text = `id: ${id}\nevent: ${event}\ndata: ${json}\n\n`;
    response.write(text.slice(0, 20));
    response.write(text.slice(20));
    if (event === "reached" || event === "failed") response.end();
  }

  #upgrade(request, socket) {
    const accept = createHash("sha1")
      .update(request.headers["sec-websocket-key"] + GUID)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    const subscriptions = [];
    this.#sockets.set(socket, subscriptions);
    let bytes = Buffer.alloc(0);
    let last = 0;
    socket.on("data", (chunk) => {
      let texts;
      [texts, bytes] = readFrames(Buffer.concat([bytes, chunk]));
      for (const { id, method, params } of texts.map((text) => JSON.parse(text))) {
        this.asked.push({ method, params });
        if (method === "unsubscribe") continue;
        if (this.refusals.shift()) {
          const error = { code: -32000, message: "Server error", data: "too many watches" };
          socket.write(frame(JSON.stringify({ jsonrpc: "2.0", id, error })));
          continue;
        }
        subscriptions.push(++last);
        socket.write(frame(JSON.stringify({ jsonrpc: "2.0", id, result: last })));
        if (this.#current) this.#notify(socket, last, this.#current);
      }
      if (bytes === null) socket.end(Buffer.from([0x88, 0]));
    });
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
  }

  #notify(socket, subscription, { event, id, json }) {
    const result = `{"event":"${event}","id":"${id}","status":${json}}`;
    socket.write(
      frame(`{"jsonrpc":"2.0","method":"tx_status","params":{"subscription":${subscription},"result":${result}}}`),
    );
  }

  /** Sends an event to everyone, and to those who come until the next one */
  send(event, { id, json }) {
    this.#current = { event, id, json };
    for (const response of this.#streams) this.#write(response, this.#current);
    for (const [socket, subscriptions] of this.#sockets) {
      for (const subscription of subscriptions) this.#notify(socket, subscription, this.#current);
    }
  }

  /** Cuts all connections */
  cut() {
    for (const response of this.#streams) response.destroy();
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  get connections() {
    return this.#streams.size + this.#sockets.size;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
    this.cut();
  }
}
