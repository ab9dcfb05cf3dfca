// Numbers, hashes and bytes as a person reads them. Amounts are rounded down, and never through a
// floating-point number. Text from the chain keeps its letters and loses what would steer the page.

import { h, type Child } from './dom';

/** Gas in units of 10^12, to hundredths: `2.42 Tgas` */
export function tera(gas: bigint): string {
  const hundredths = gas / 10_000_000_000n;
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')} Tgas`;
}

/** Tokens in units of 10^24: `0.000242 NEAR` */
export function near(tokens: bigint): string {
  const millionths = tokens / 10n ** 18n;
  if (tokens > 0n && millionths === 0n) return '<0.000001 NEAR';
  const rest = String(millionths % 1_000_000n).padStart(6, '0').replace(/0{1,4}$/, '');
  return `${millionths / 1_000_000n}.${rest} NEAR`;
}

/** The start of a hash; the whole one is always a click away */
export function short(hash: string): string {
  return hash.length > 10 ? `${hash.slice(0, 8)}…` : hash;
}

/** Text without symbols that turn the direction of writing or have no shape */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** Digits in groups of three: only the eye sees the gaps, what is copied has none */
export function grouped(digits: string): Child[] {
  if (!/^\d{5,}$/.test(digits)) return [digits];
  const first = digits.length % 3;
  const groups = first === 0 ? [] : [digits.slice(0, first)];
  for (let start = first; start < digits.length; start += 3) groups.push(digits.slice(start, start + 3));
  return groups.map((group, place) => (place === 0 ? group : h('span', { class: 'group' }, group)));
}

/** Bytes in base64 as text, when they are text, or how many they are */
export function decoded(base64: string): string | null {
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.from(atob(base64), (symbol) => symbol.charCodeAt(0));
  } catch {
    return plain(base64);
  }
  if (bytes.length === 0) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text)) return plain(text);
  } catch {
    // Not UTF-8: then its length is all there is to say.
  }
  return `${bytes.length} ${bytes.length === 1 ? 'byte' : 'bytes'}`;
}

/** Time of day to tenths of a second, as the reader's clock shows it */
export function timeOfDay(date: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  const tenth = Math.floor(date.getMilliseconds() / 100);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${tenth}`;
}
