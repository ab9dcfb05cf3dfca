// Waits and requests that end with a signal.

/**
 * A controller that is aborted with a signal, until it is released
 *
 * @param {AbortSignal | undefined} signal
 */
export function linkedController(signal) {
  const control = new AbortController();
  const onAbort = () => control.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  return { control, release: () => signal?.removeEventListener("abort", onAbort) };
}

/**
 * Waits; rejects with the reason of the signal when it is aborted
 *
 * @param {number} duration Milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function sleep(duration, signal) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, duration);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
