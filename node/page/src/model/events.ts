// The events of a transaction, which the node pushes. The browser opens a connection again that is
// lost, and names the event that it had last.

import { at, parse, text } from "../exact";
import { openEvents } from "../rpc";

/**
 * Calls `change` after each event, one call at a time, with whether the transaction is in a block;
 * events that come meanwhile are one more call. Ends when it returns `true`, or with `signal`;
 * resolves to `false` if the node refuses to send events, or does not know the state any more.
 */
export function watchEvents(
  hash: string,
  change: (isKnown: boolean) => Promise<boolean>,
  connected: (isOpen: boolean) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const source = openEvents(`/tx/${encodeURIComponent(hash)}/events?wait_until=FINAL`);
  return new Promise((resolve) => {
    const end = (hasEvents: boolean) => {
      source.close();
      resolve(hasEvents);
    };
    let newest: string | null = null;
    let isRunning = false;
    const handle = async (event: MessageEvent<string>) => {
      newest = event.data;
      if (isRunning) return;
      isRunning = true;
      while (newest !== null) {
        const status = await parse(newest);
        newest = null;
        if (await change(text(at(status, "final_execution_status")) !== "NONE")) return end(true);
      }
      isRunning = false;
    };
    for (const name of ["status", "un-included", "reached"])
      source.addEventListener(name, (event) => void handle(event));
    // The last events without a state: requests say what the node knows.
    for (const name of ["forgotten", "timeout"]) source.addEventListener(name, () => end(false));
    source.addEventListener("open", () => connected(true));
    source.addEventListener("error", () => {
      // Closed by another status than 200; else the browser connects again.
      if (source.readyState === EventSource.CLOSED) end(false);
      else connected(false);
    });
    signal.addEventListener("abort", () => end(true), { once: true });
  });
}
