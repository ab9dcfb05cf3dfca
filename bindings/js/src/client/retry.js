// When to connect again: after twice the time with each failure, with a random part, so that the
// clients of a server that restarts do not come at once.

import { onAbort } from "../core/on-abort.js";

/** Maximum length of an event in characters: above that of the largest results */
export const MAX_EVENT = 1 << 27;
const MAX_DELAY = 30_000;

export class Retry {
  #failures = 0;
  /** Milliseconds to the first attempt */
  delay = 1_000;

  /** An event came */
  reset() {
    this.#failures = 0;
  }

  /**
   * Resolves when to connect again, or when the signal is aborted
   *
   * @param {AbortSignal} signal
   */
  pause(signal) {
    const delay = Math.min(this.delay * 2 ** this.#failures, MAX_DELAY);
    this.#failures += 1;
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const release = onAbort(signal, () => (clearTimeout(timer), resolve()));
        const timer = setTimeout(() => (release(), resolve()), delay * (0.5 + Math.random() / 2));
      })
    );
  }
}
