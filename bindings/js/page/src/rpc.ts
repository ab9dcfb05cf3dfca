// Questions to the node that serves the page: JSON-RPC at `/`, and the few addresses that are there for
// the page. Failures keep the node's own words. Goes nowhere but to its own origin.

import { at, parse, text, type Json } from './exact';

/** A failure that the node reports, or that kept us from asking */
export class NodeError extends Error {
  constructor(
    /** `UNKNOWN_TRANSACTION`, `TIMEOUT_ERROR`, …; `UNREACHABLE` when there was no answer */
    readonly cause: string,
    message: string,
    /** The whole answer, to be looked at */
    readonly answer: Json = null,
  ) {
    super(message);
  }
}

export interface Answer {
  result: Json;
  /** The body as it came */
  body: string;
}

export interface TransactionParams {
  tx_hash?: string;
  sender_account_id?: string;
  signed_tx_base64?: string;
  wait_until?: string;
}

export type ConfigParams =
  | { block_id: number | string }
  | { finality: string }
  | { sync_checkpoint: string };

/** The body of a request */
export function request(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 'page', method, params });
}

/** Asks for the status of a transaction */
export function transactionStatus(params: TransactionParams, signal: AbortSignal): Promise<Answer> {
  return call(request('EXPERIMENTAL_tx_status', params), signal);
}

/** Asks for a protocol configuration */
export function protocolConfig(params: ConfigParams, signal: AbortSignal): Promise<Answer> {
  return call(request('EXPERIMENTAL_protocol_config', params), signal);
}

async function call(requestBody: string, signal: AbortSignal): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const { body } = await send('/', { method: 'POST', headers, body: requestBody, signal });
  const answer = await read(body);
  const error = at(answer, 'error');
  if (error === null) return { result: at(answer, 'result'), body };
  const data = at(error, 'data');
  const message = text(data) ?? text(at(error, 'message')) ?? 'the node gave no reason';
  const cause = text(at(error, 'cause', 'name')) ?? text(at(error, 'name')) ?? 'ERROR';
  throw new NodeError(cause, message, answer);
}

/** Gets one of the node's own addresses; `null` when it has no such address */
export async function get(path: string, signal?: AbortSignal): Promise<Json> {
  const { status, body } = await send(path, signal ? { signal } : {});
  if (status === 404) return null;
  if (status !== 200) throw new NodeError('REFUSED', body.slice(0, 300) || `HTTP status ${status}`);
  return read(body);
}

async function send(path: string, init: RequestInit): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(path, init);
    return { status: response.status, body: await response.text() };
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new NodeError('UNREACHABLE', 'the node does not answer');
  }
}

async function read(body: string): Promise<Json> {
  try {
    return await parse(body);
  } catch {
    throw new NodeError('STRANGE_ANSWER', `the answer is no JSON: ${body.slice(0, 200)}`);
  }
}
