// Converts columns and lanes to pixels. Wide: time runs to the right, shards are horizontal lanes,
// steps are cards. Narrow: time runs down, one step per line, and shards are thin lines at the
// left, as in the log graph of a version control system. Returns boxes of steps and paths of edges;
// draws nothing.

import type { Layout } from "../model/layout";
import type { Lifecycle, Step } from "../model/lifecycle";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Geometry {
  isWide: boolean;
  width: number;
  height: number;
  /** Boxes of the buttons of steps */
  boxes: Map<Step, Box>;
  /** Centres of the marks of steps */
  marks: Map<Step, { x: number; y: number }>;
  /** Lanes, in the order of the layout */
  lanes: Box[];
  /** Columns, in the order of the layout */
  columns: Box[];
  /** SVG path of the edge from one step to another */
  path(from: Step, to: Step): string;
}

const CARD = { minWidth: 130, width: 150, maxWidth: 164, height: 46 };
const GAP = { min: 34, max: 110, y: 10 };
const LANE_LABEL_WIDTH = 68;
/** Height of the names and times of the columns */
export const AXIS_HEIGHT = 48;
const LANE_PADDING = 12;

/** Geometry with time to the right, at least as wide as `available` */
export function wide(lifecycle: Lifecycle, layout: Layout, available: number): Geometry {
  const count = layout.columns.length;
  const labelWidth = layout.lanes.some((lane) => lane !== null) ? LANE_LABEL_WIDTH : 0;
  // Cards are narrower if that avoids scrolling; otherwise they have the default width. Few columns
  // have wider gaps, up to a limit.
  const pitchThatFits = Math.floor((available - labelWidth) / count);
  const fits = pitchThatFits - GAP.min >= CARD.minWidth;
  const card = { width: fits ? Math.min(pitchThatFits - GAP.min, CARD.maxWidth) : CARD.width, height: CARD.height };
  const gap = clamp(pitchThatFits - card.width, GAP.min, GAP.max);
  const pitch = card.width + gap;
  const width = Math.max(available, labelWidth + count * pitch);
  const lanes: Box[] = [];
  let top = AXIS_HEIGHT;
  for (const depth of layout.depths) {
    const height = depth * (CARD.height + GAP.y) - GAP.y + 2 * LANE_PADDING;
    lanes.push({ x: 0, y: top, width, height });
    top += height + 4;
  }
  const height = top;
  const columns = layout.columns.map((_, index) => ({
    x: labelWidth + index * pitch + gap / 2,
    y: 0,
    width: card.width,
    height,
  }));
  const boxes = new Map<Step, Box>();
  const marks = new Map<Step, { x: number; y: number }>();
  for (const step of lifecycle.steps) {
    const cell = layout.cells.get(step);
    const lane = lanes[cell?.lane ?? 0];
    const column = columns[cell?.column ?? 0];
    if (cell === undefined || lane === undefined || column === undefined) continue;
    const y = lane.y + LANE_PADDING + cell.slot * (CARD.height + GAP.y);
    boxes.set(step, { x: column.x, y, ...card });
    marks.set(step, { x: column.x, y: y + CARD.height / 2 });
  }
  return {
    isWide: true,
    width,
    height,
    boxes,
    marks,
    lanes,
    columns,
    path: (from, to) => curve(boxes, from, to, Math.min(gap, 70)),
  };
}

function clamp(number: number, min: number, max: number): number {
  return Math.min(Math.max(number, min), max);
}

/** The edge between two cards: along a horizontal line that crosses no other card, if there is
 *  one */
function curve(boxes: Map<Step, Box>, from: Step, to: Step, gap: number): string {
  const [a, b] = [boxes.get(from), boxes.get(to)];
  if (a === undefined || b === undefined) return "";
  const [y0, y1] = [a.y + a.height / 2, b.y + b.height / 2];
  if (b.x <= a.x) {
    // In the same column: to the left of both.
    const left = Math.min(a.x, b.x) - gap * 0.7;
    return `M${a.x} ${y0}C${left} ${y0} ${left} ${y1} ${b.x} ${y1}`;
  }
  const [x0, x1] = [a.x + a.width, b.x];
  const bezier = (x: number, y: number, toX: number, toY: number) =>
    `C${(x + toX) / 2} ${y} ${(x + toX) / 2} ${toY} ${toX} ${toY}`;
  const [start, end] = [x0 + gap, x1 - gap];
  if (end <= start) return `M${x0} ${y0}${bezier(x0, y0, x1, y1)}`;
  const offset = (CARD.height + GAP.y) / 2;
  const others = [...boxes.values()].filter((box) => box.x + box.width > start && box.x < end);
  const isFree = (y: number) => others.every((box) => y < box.y || y > box.y + box.height);
  const line = [y0, y1, y1 - offset, y1 + offset, y0 - offset, y0 + offset].find(isFree) ?? y0;
  return `M${x0} ${y0}${bezier(x0, y0, start, line)}L${end} ${line}${bezier(end, line, x1, y1)}`;
}

const LINE_HEIGHT = 58;
const HEADING_HEIGHT = 34;

/** Geometry with time downwards and a line for each step */
export function narrow(lifecycle: Lifecycle, layout: Layout, available: number): Geometry {
  const laneCount = Math.max(1, layout.lanes.length);
  // At most three tenths of the width, which account names need.
  const pitch = Math.min(24, 110 / laneCount, (0.3 * available) / laneCount);
  const gutter = Math.round(laneCount * pitch + 14);
  const order = [...lifecycle.steps].sort((a, b) => {
    const [p, q] = [layout.cells.get(a), layout.cells.get(b)];
    return (p?.column ?? 0) - (q?.column ?? 0) || a.depth - b.depth;
  });
  const boxes = new Map<Step, Box>();
  const marks = new Map<Step, { x: number; y: number }>();
  const columns: Box[] = layout.columns.map(() => ({ x: 0, y: 0, width: available, height: HEADING_HEIGHT }));
  let column = -1;
  let y = 0;
  for (const step of order) {
    const cell = layout.cells.get(step);
    if (cell === undefined) continue;
    if (cell.column !== column) {
      column = cell.column;
      columns[column] = { x: gutter, y, width: available - gutter, height: HEADING_HEIGHT };
      y += HEADING_HEIGHT;
    }
    boxes.set(step, { x: gutter, y, width: available - gutter - 3, height: LINE_HEIGHT - 6 });
    marks.set(step, { x: 12 + cell.lane * pitch, y: y + (LINE_HEIGHT - 6) / 2 });
    y += LINE_HEIGHT;
  }
  const lanes = layout.lanes.map((_, index) => ({ x: 12 + index * pitch, y: 0, width: 0, height: y }));
  const path = (from: Step, to: Step) => {
    const [a, b] = [marks.get(from), marks.get(to)];
    if (a === undefined || b === undefined) return "";
    if (b.y <= a.y) return `M${a.x} ${a.y}L${b.x} ${b.y}`;
    const bend = Math.min(b.y - a.y, 44);
    return `M${a.x} ${a.y}V${b.y - bend}C${a.x} ${b.y - bend / 2} ${b.x} ${b.y - bend / 2} ${b.x} ${b.y}`;
  };
  return { isWide: false, width: available, height: y, boxes, marks, lanes, columns, path };
}
