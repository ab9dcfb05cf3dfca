// A budget of requests per minute.
//
// Requests are spaced evenly, with a small burst (a generic cell rate algorithm, ITU-T I.371), so
// that no minute has more than the budget. A server that asks for a pause stops all requests.

const MINUTE = 60_000;

export class Budget {
  #interval;
  #allowance;
  /** When the next request would be if requests were evenly spaced */
  #next = 0;
  #pausedUntil = 0;

  /** @param {number} perMinute At least 1 */
  constructor(perMinute) {
    const burst = Math.floor(perMinute / 10);
    // In any minute there are the evenly spaced ones and one burst.
    this.#interval = MINUTE / (perMinute - burst);
    this.#allowance = this.#interval * Math.max(burst - 1, 0);
  }

  /**
   * Takes the next place in the sequence of requests; returns its time
   *
   * @param {number} now Milliseconds, as all times
   */
  reserve(now) {
    const next = Math.max(this.#next, now);
    this.#next = next + this.#interval;
    return Math.max(next - this.#allowance, now);
  }

  /**
   * Sends no request for this time
   *
   * @param {number} now
   * @param {number} duration
   */
  pause(now, duration) {
    this.#pausedUntil = Math.max(this.#pausedUntil, now + duration);
  }

  get pausedUntil() {
    return this.#pausedUntil;
  }
}
