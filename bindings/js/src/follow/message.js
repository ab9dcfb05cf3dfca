// The members of a block message that a follower needs.
//
// A message is whole or is not taken: one that lacks a chunk is fetched again. The bytes are kept
// as they came; what is in the shards, the engine checks.

import { RequestFailure } from "./error.js";

/**
 * @typedef {object} Block
 * @property {number} height
 * @property {string} hash
 * @property {string} prevHash
 * @property {number | null} prevHeight The height of its parent, if the header has it
 * @property {string | null} lastFinal The last block that is final by this block
 * @property {number | null} timestamp Milliseconds since 1970, if the header says it
 * @property {Uint8Array} message
 */

/** The hash that names no block */
export const ZERO_HASH = "1".repeat(32);

const HASH = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a message
 *
 * @param {Uint8Array} message
 * @returns {Block}
 */
export function readBlock(message) {
  /** @type {any} */
  let parsed;
  try {
    parsed = JSON.parse(decoder.decode(message));
  } catch (error) {
    throw bad(`block message: ${error instanceof Error ? error.message : error}`);
  }
  const header = parsed?.block?.header;
  const height = heightOf(header?.height, "block.header.height");
  const hash = hashOf(header.hash, "block.header.hash");
  const prevHash = hashOf(header.prev_hash, "block.header.prev_hash");
  const prevHeight = optional(header.prev_height, "block.header.prev_height", heightOf);
  if (prevHeight !== null && prevHeight >= height) {
    throw bad(`block.header.prev_height: ${prevHeight} is not below the height ${height}`);
  }
  const named = optional(header.last_final_block, "block.header.last_final_block", hashOf);
  const lastFinal = named === ZERO_HASH ? null : named;
  const nanoseconds = Number(header.timestamp_nanosec ?? header.timestamp);
  const timestamp = nanoseconds > 0 ? nanoseconds / 1e6 : null;
  checkComplete(parsed, height);
  return { height, hash, prevHash, prevHeight, lastFinal, timestamp, message };
}

/**
 * Refuses a message that lacks a new chunk of the block
 *
 * @param {any} message
 * @param {number} height
 */
function checkComplete({ block, shards }, height) {
  const chunks = list(block.chunks, "block.chunks");
  const present = list(shards, "shards")
    .filter((shard) => shard?.chunk)
    .map((shard) => shard.shard_id);
  for (const chunk of chunks) {
    if (chunk?.height_included === height && !present.includes(chunk.shard_id)) {
      throw bad(`shards: incomplete, shard ${chunk.shard_id} lacks its chunk`);
    }
  }
}

/**
 * @param {unknown} value
 * @param {string} path
 * @returns {any[]}
 */
function list(value, path) {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw bad(`${path}: expected a list`);
}

/**
 * @param {unknown} value
 * @param {string} path
 * @returns {number}
 */
function heightOf(value, path) {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw bad(`${path}: expected a height`);
}

/**
 * @param {unknown} value
 * @param {string} path
 * @returns {string}
 */
function hashOf(value, path) {
  if (typeof value === "string" && HASH.test(value)) return value;
  throw bad(`${path}: expected a hash`);
}

/**
 * @template T
 * @param {unknown} value
 * @param {string} path
 * @param {(value: unknown, path: string) => T} read
 */
function optional(value, path, read) {
  return value === undefined || value === null ? null : read(value, path);
}

/** @param {string} detail */
const bad = (detail) => new RequestFailure("message", detail);
