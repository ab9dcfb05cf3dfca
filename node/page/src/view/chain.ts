// The line in the header: the network, the height of its newest block, and whether blocks arrive.
// A coloured dot is only for a chain that grows; everything is said in words as well.

import { h, replace } from "../dom";
import { plain } from "../format";
import { onChain, type Feed } from "../model/chain";

const WORDS: Record<Feed, string> = {
  followed: "following",
  behind: "behind the feed",
  practice: "practice chain",
  none: "no feed",
  unreachable: "the node does not respond",
};

export function showChain(line: HTMLElement): void {
  onChain(({ feed, name, height }) => {
    line.className = `chain is-${feed}`;
    const isReachable = feed !== "unreachable";
    const network = name === null ? "unknown network" : plain(name);
    replace(
      line,
      isReachable && h("span", { class: "name" }, network),
      h("span", { class: "state" }, WORDS[feed] ?? plain(feed)),
      isReachable &&
        h(
          "span",
          { class: "height", title: "Height of the newest block" },
          height === null ? "no block" : String(height),
        ),
    );
  });
}
