// Requests to the node that serves the page: JSON-RPC at `/`, and the paths that exist for the
// page. Errors keep the node's messages. Sends nothing to another origin.

import { at, parse, text, type Json } from "./exact";

/** An error that the node reports, or that kept a request from being answered */
export class NodeError extends Error {
  constructor(
    /** `UNKNOWN_TRANSACTION`, `TIMEOUT_ERROR`, …; `UNREACHABLE` if there was no response */
    readonly cause: string,
    message: string,
    /** The whole response */
    readonly response: Json = null,
  ) {
    super(message);
  }
}

export interface RpcResponse {
  result: Json;
  /** The body as it was received */
  body: string;
}

export interface TransactionParams {
  tx_hash?: string;
  sender_account_id?: string;
  signed_tx_base64?: string;
  wait_until?: string;
}

export type ConfigParams = { block_id: number | string } | { finality: string } | { sync_checkpoint: string };

/** Requests the status of a transaction */
export function transactionStatus(params: TransactionParams, signal: AbortSignal): Promise<RpcResponse> {
  return call("EXPERIMENTAL_tx_status", params, signal);
}

/** Requests a protocol configuration */
export function protocolConfig(params: ConfigParams, signal: AbortSignal): Promise<RpcResponse> {
  return call("EXPERIMENTAL_protocol_config", params, signal);
}

async function call(method: string, params: object, signal: AbortSignal): Promise<RpcResponse> {
  const headers = { "content-type": "application/json" };
  const request = JSON.stringify({ jsonrpc: "2.0", id: "page", method, params });
  const { body } = await send("/", { method: "POST", headers, body: request, signal });
  const response = await read(body);
  const error = at(response, "error");
  if (error === null) return { result: at(response, "result"), body };
  const data = at(error, "data");
  const message = text(data) ?? text(at(error, "message")) ?? "the node gave no reason";
  const cause = text(at(error, "cause", "name")) ?? text(at(error, "name")) ?? "ERROR";
  throw new NodeError(cause, message, response);
}

/** Gets a path of the node; `null` if the node does not have it */
export async function get(path: string, signal?: AbortSignal): Promise<Json> {
  const { status, body } = await send(path, signal ? { signal } : {});
  if (status === 404) return null;
  if (status !== 200) throw new NodeError("HTTP_ERROR", body.slice(0, 300) || `HTTP status ${status}`);
  return read(body);
}

/** Gets a path of the node as text, whatever its status is */
export function document(path: string, signal: AbortSignal): Promise<{ status: number; body: string }> {
  return send(path, { signal });
}

async function send(path: string, init: RequestInit): Promise<{ status: number; body: string }> {
  try {
    // Relative to the page, which may be below a base path.
    const response = await fetch(`.${path}`, init);
    return { status: response.status, body: await response.text() };
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new NodeError("UNREACHABLE", "the node does not respond");
  }
}

/** A stream of events of the node */
export function openEvents(path: string): EventSource {
  return new EventSource(`.${path}`);
}

async function read(body: string): Promise<Json> {
  try {
    return await parse(body);
  } catch {
    throw new NodeError("INVALID_RESPONSE", `the response is not JSON: ${body.slice(0, 200)}`);
  }
}
