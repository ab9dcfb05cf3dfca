// The path of an outcome as a picture: the trusted block, the block that confirms it, the root in
// its header, and below it the trees down to the leaf. What is above is the hash of what is below.

import { s } from "../dom";
import { short } from "../format";
import type { ProofPath, Sibling } from "./check";

/** Pixels of the picture, which is scaled to its place */
const WIDTH = 380;
const CENTRE = WIDTH / 2;
/** From the top of a box to that of the next one */
const ROW = 58;
const BOX = { width: 250, height: 40 };
const SIBLING = { width: 84, height: 26, offset: 138 };

/** Draws the path; a name says the same to those who do not see it */
export function drawPath(path: ProofPath): SVGSVGElement {
  const parts: SVGElement[] = [];
  const texts: string[] = [];
  let top = 4;
  /** Where the node above ends */
  let above: number | null = null;
  const line = (x: number, from: number, to: number, style = "") =>
    parts.unshift(s("line", { x1: CENTRE, y1: from, x2: x, y2: to, class: `edge ${style}` }));
  const box = (title: string, hash: string | null, style: string) => {
    if (above !== null) line(CENTRE, above, top);
    parts.push(
      s("rect", {
        x: CENTRE - BOX.width / 2,
        y: top,
        width: BOX.width,
        height: BOX.height,
        rx: 7,
        class: `node ${style}`,
      }),
      s("text", { x: CENTRE, y: top + 16, class: "label" }, title),
      s("text", { x: CENTRE, y: top + 32, class: "value" }, hash === null ? "not that of the chain" : short(hash)),
    );
    texts.push(hash === null ? title : `${title} ${hash}`);
    above = top + BOX.height;
    top += ROW;
  };
  const siblings = (steps: Sibling[], end: string) => {
    for (const { hash, isRight } of steps) {
      const x = CENTRE + (isRight ? SIBLING.offset : -SIBLING.offset);
      const y = top + SIBLING.height / 2;
      const parent = above ?? top;
      line(CENTRE, parent, y);
      line(x, parent, y);
      parts.push(
        s("rect", {
          x: x - SIBLING.width / 2,
          y: top,
          width: SIBLING.width,
          height: SIBLING.height,
          rx: 5,
          class: "node is-sibling",
        }),
        s("text", { x, y: y + 4, class: "value" }, short(hash)),
        s("circle", { cx: CENTRE, cy: y, r: 5, class: "joint" }),
      );
      above = y;
      top += ROW - BOX.height + SIBLING.height;
    }
    if (steps.length > 0) texts.push(`${steps.length} hashes beside the path to ${end}`);
  };
  if (path.headers > 0) box(`Trusted block ${path.trusted.height}`, path.trusted.hash, "is-block");
  const between =
    path.headers > 0 ? `, ${path.headers} ${path.headers === 1 ? "header" : "headers"} before` : ", trusted";
  box(`Block ${path.block.height}${between}`, path.block.hash, "is-block");
  box("Outcome root in its header", path.outcomeRoot, "is-root");
  if (path.foundRoot !== null) {
    // Two roots that should be one: no line joins them.
    above = null;
    parts.push(s("text", { x: CENTRE, y: top - ROW + BOX.height + 13, class: "differs" }, "≠"));
    box("This outcome leads to the root", path.foundRoot, "is-wrong");
  }
  siblings(path.toShard, "the root of the shard");
  box("Outcomes of the shard", path.shardRoot, path.shardRoot === null ? "is-wrong" : "is-root");
  siblings(path.toLeaf, "the leaf");
  box("Leaf: this outcome", path.leaf, path.leaf === null ? "is-wrong" : "is-leaf");
  const height = top - ROW + BOX.height + 4;
  const name = `From the trusted block down to the outcome: ${texts.join("; ")}.`;
  return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "proof-path", role: "img", "aria-label": name }, parts);
}
