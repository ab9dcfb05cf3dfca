// The panel of a page that follows a feed by itself, `?feed=<URL>`: what it costs, a button that
// starts it and one that stops it. Nothing is sent to the feed before it is started.

import "../style/feed.css";

import { h, replace } from "../dom";
import { plain } from "../format";
import { problem } from "../view/problem";
import { answerWith } from "../rpc";
import { FeedNode, type FeedState } from "./node";

/** Milliseconds between updates */
const UPDATE_INTERVAL = 500;

/** Shows the panel, and lets the engine answer in place of a server */
export async function showFeed(container: HTMLElement, feed: string): Promise<void> {
  let node: FeedNode;
  try {
    node = await FeedNode.open(feed);
  } catch (error) {
    replace(container, problem("The page cannot follow a feed", error));
    return;
  }
  answerWith((path, init) => node.respond(path, init));
  const start = h(
    "button",
    { type: "button", class: "primary", onclick: () => void node.start().then(update) },
    "Start",
  );
  const stop = h("button", { type: "button", onclick: () => node.stop() }, "Stop");
  const traffic = h("p", { class: "traffic", role: "status" });
  const failure = h("p", { class: "failure" });
  const update = () => {
    const { state } = node;
    start.hidden = state.isRunning;
    stop.hidden = !state.isRunning;
    traffic.textContent = describe(state);
    failure.textContent = state.problem === null ? "" : plain(state.problem);
  };
  replace(
    container,
    h(
      "section",
      { class: "feed panel", "aria-label": "Feed" },
      h(
        "div",
        {},
        h(
          "p",
          {},
          "This page can take in the blocks of ",
          h("code", {}, plain(feed)),
          " by itself, without a server of yours.",
        ),
        h("p", { class: "soft" }, "A block of mainnet has 1.3 to 2.2 MB, and there are about 100 in a minute."),
        traffic,
        failure,
      ),
      start,
      stop,
    ),
  );
  update();
  setInterval(update, UPDATE_INTERVAL);
}

function describe({ isRunning, height, bytes, messagesPerMinute }: FeedState): string {
  if (!isRunning && height === null) return "Nothing was fetched.";
  const block = height === null ? "no block yet" : `block ${height}`;
  return `${block}, ${(bytes / 1e6).toFixed(1)} MB, ${messagesPerMinute} messages in the last minute`;
}
