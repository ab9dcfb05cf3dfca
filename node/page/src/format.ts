// Numbers, hashes and bytes as readable text. Amounts are rounded down, without floating-point
// numbers. Text from the chain is shown without control characters.

import { h, type Child } from "./dom";

/** Gas in units of 10^12, to hundredths: `2.42 Tgas` */
export function tera(gas: bigint): string {
  const hundredths = gas / 10_000_000_000n;
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, "0")} Tgas`;
}

/** Tokens in units of 10^24: `0.000242 NEAR` */
export function near(tokens: bigint): string {
  const millionths = tokens / 10n ** 18n;
  if (tokens > 0n && millionths === 0n) return "<0.000001 NEAR";
  const rest = String(millionths % 1_000_000n)
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${millionths / 1_000_000n}.${rest} NEAR`;
}

/** The start of a hash */
export function short(hash: string): string {
  return hash.length > 10 ? `${hash.slice(0, 8)}…` : hash;
}

/** Text without control characters and without those that change the direction of writing */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** A name that may break after each `_` */
export function breakable(name: string): Child[] {
  const [first, ...rest] = plain(name).split("_");
  return [first, ...rest.flatMap((part) => ["_", h("wbr"), part])];
}

/** Digits in groups of three; the gaps are margins, so a copy has no spaces */
export function grouped(digits: string): Child[] {
  if (!/^\d{5,}$/.test(digits)) return [digits];
  const first = digits.length % 3;
  const groups = first === 0 ? [] : [digits.slice(0, first)];
  for (let start = first; start < digits.length; start += 3) groups.push(digits.slice(start, start + 3));
  return groups.map((group, index) => (index === 0 ? group : h("span", { class: "group" }, group)));
}

/** Number of bytes that are shown of a value that is not text */
const SHOWN_BYTES = 24;

/** Bytes in base64 as text if they are text, else their number and the first of them */
export function decoded(base64: string): string | null {
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return plain(base64);
  }
  if (bytes.length === 0) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text)) return plain(text);
  } catch {
    // Not UTF-8.
  }
  const first = Array.from(bytes.subarray(0, SHOWN_BYTES), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${bytes.length} ${bytes.length === 1 ? "byte" : "bytes"}: 0x${first}${bytes.length > SHOWN_BYTES ? "…" : ""}`;
}

/** Local date and time, to seconds: `2026-01-31 09:05:00` */
export function moment(date: Date): string {
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((number) => String(number).padStart(2, "0"))
    .join("-");
  return `${day} ${timeOfDay(date)}`;
}

/** Local time of day, to seconds */
export function timeOfDay(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((number) => String(number).padStart(2, "0"))
    .join(":");
}

/** The span between two times: `3.2 s` */
export function span(from: Date, to: Date): string {
  const seconds = (to.getTime() - from.getTime()) / 1000;
  return Math.abs(seconds) < 600 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds / 60)} min`;
}

/** A block time with `shown`, or its time of day, with its date if that is not today */
export function timeElement(date: Date, shown?: string): HTMLTimeElement {
  const isToday = date.toDateString() === new Date().toDateString();
  const text = shown ?? (isToday ? timeOfDay(date) : moment(date));
  return h("time", { datetime: date.toISOString(), title: `${moment(date)} (block time)` }, text);
}
