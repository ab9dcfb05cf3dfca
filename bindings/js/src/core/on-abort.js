// One listener for each abort signal, however many calls it ends.
//
// Node.js warns of a leak from the eleventh listener of a signal on, and a program may pass one
// signal to all its requests.

/** @type {WeakMap<AbortSignal, Set<() => void>>} */
const signals = new WeakMap();

/**
 * Calls `call` when the signal is aborted, unless the function that this returns was called before
 *
 * @param {AbortSignal | undefined} signal
 * @param {() => void} call
 * @returns {() => void}
 */
export function onAbort(signal, call) {
  if (!signal) return () => {};
  const calls = signals.get(signal) ?? new Set();
  if (!signals.has(signal)) {
    signals.set(signal, calls);
    signal.addEventListener("abort", () => calls.forEach((one) => one()), { once: true });
  }
  calls.add(call);
  return () => void calls.delete(call);
}
