// From columns and lanes to pixels. Wide: time runs to the right, shards are bands, stops are cards.
// Narrow: time runs down, one stop a line; shards are thin tracks at the left, as in the log of a version
// control. Both give boxes for stops and paths for what connects them, and draw nothing.

import type { Plan } from '../model/plan';
import type { Road, Stop } from '../model/road';

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
  /** Where the button of a stop is */
  boxes: Map<Stop, Box>;
  /** Where its mark is */
  marks: Map<Stop, { x: number; y: number }>;
  /** Shards, in the order of the plan's lanes */
  lanes: Box[];
  /** Columns, in the order of the plan's */
  columns: Box[];
  /** The way from one stop to another */
  path(from: Stop, to: Stop): string;
}

const CARD = { least: 130, usual: 150, most: 164, height: 46 };
const GAP = { least: 34, most: 110, y: 10 };
const LANE_LABEL = 68;
const AXIS = 34;
const LANE_PADDING = 12;

/** Time to the right, filling at least this width */
export function wide(road: Road, plan: Plan, available: number): Geometry {
  const count = plan.columns.length;
  // A road that nearly fits gets narrow cards, so that it does; one that has to be scrolled anyway
  // gets the usual ones, and a short one has room, up to a point.
  const room = Math.floor((available - LANE_LABEL) / count);
  const fits = room - GAP.least >= CARD.least;
  const card = { width: fits ? Math.min(room - GAP.least, CARD.most) : CARD.usual, height: CARD.height };
  const gap = within(room - card.width, GAP.least, GAP.most);
  const pitch = card.width + gap;
  const width = Math.max(available, LANE_LABEL + count * pitch);
  const lanes: Box[] = [];
  let top = AXIS;
  for (const depth of plan.depths) {
    const height = depth * (CARD.height + GAP.y) - GAP.y + 2 * LANE_PADDING;
    lanes.push({ x: 0, y: top, width, height });
    top += height + 4;
  }
  const height = top;
  const columns = plan.columns.map((_, place) => ({
    x: LANE_LABEL + place * pitch + gap / 2, y: 0, width: card.width, height,
  }));
  const boxes = new Map<Stop, Box>();
  const marks = new Map<Stop, { x: number; y: number }>();
  for (const stop of road.stops) {
    const spot = plan.spots.get(stop);
    const lane = lanes[spot?.lane ?? 0];
    const column = columns[spot?.column ?? 0];
    if (spot === undefined || lane === undefined || column === undefined) continue;
    const y = lane.y + LANE_PADDING + spot.slot * (CARD.height + GAP.y);
    boxes.set(stop, { x: column.x, y, ...card });
    marks.set(stop, { x: column.x, y: y + CARD.height / 2 });
  }
  return { isWide: true, width, height, boxes, marks, lanes, columns, path: (from, to) => across(boxes, from, to, Math.min(gap, 70)) };
}

function within(number: number, least: number, most: number): number {
  return Math.min(Math.max(number, least), most);
}

/** The way from card to card: along a line on which no other card stands, if there is one */
function across(boxes: Map<Stop, Box>, from: Stop, to: Stop, gap: number): string {
  const [a, b] = [boxes.get(from), boxes.get(to)];
  if (a === undefined || b === undefined) return '';
  const [y0, y1] = [a.y + a.height / 2, b.y + b.height / 2];
  if (b.x <= a.x) {
    // In one block: around the left of both.
    const left = Math.min(a.x, b.x) - gap * 0.7;
    return `M${a.x} ${y0}C${left} ${y0} ${left} ${y1} ${b.x} ${y1}`;
  }
  const [x0, x1] = [a.x + a.width, b.x];
  const curve = (x: number, y: number, toX: number, toY: number) => `C${(x + toX) / 2} ${y} ${(x + toX) / 2} ${toY} ${toX} ${toY}`;
  const [start, end] = [x0 + gap, x1 - gap];
  if (end <= start) return `M${x0} ${y0}${curve(x0, y0, x1, y1)}`;
  const beside = (CARD.height + GAP.y) / 2;
  const others = [...boxes.values()].filter((box) => box.x + box.width > start && box.x < end);
  const isFree = (y: number) => others.every((box) => y < box.y || y > box.y + box.height);
  const line = [y0, y1, y1 - beside, y1 + beside, y0 - beside, y0 + beside].find(isFree) ?? y0;
  return `M${x0} ${y0}${curve(x0, y0, start, line)}L${end} ${line}${curve(end, line, x1, y1)}`;
}

const LINE = 58;
const HEAD = 34;

/** Time downwards, a line for each stop */
export function narrow(road: Road, plan: Plan, available: number): Geometry {
  const tracks = Math.max(1, plan.lanes.length);
  const pitch = Math.min(24, 110 / tracks);
  const gutter = Math.round(tracks * pitch + 14);
  const order = [...road.stops].sort((a, b) => {
    const [p, q] = [plan.spots.get(a), plan.spots.get(b)];
    return (p?.column ?? 0) - (q?.column ?? 0) || a.depth - b.depth;
  });
  const boxes = new Map<Stop, Box>();
  const marks = new Map<Stop, { x: number; y: number }>();
  const columns: Box[] = plan.columns.map(() => ({ x: 0, y: 0, width: available, height: HEAD }));
  let column = -1;
  let y = 0;
  for (const stop of order) {
    const spot = plan.spots.get(stop);
    if (spot === undefined) continue;
    if (spot.column !== column) {
      column = spot.column;
      columns[column] = { x: gutter, y, width: available - gutter, height: HEAD };
      y += HEAD;
    }
    boxes.set(stop, { x: gutter, y, width: available - gutter - 3, height: LINE - 6 });
    marks.set(stop, { x: 12 + spot.lane * pitch, y: y + (LINE - 6) / 2 });
    y += LINE;
  }
  const lanes = plan.lanes.map((_, place) => ({ x: 12 + place * pitch, y: 0, width: 0, height: y }));
  const path = (from: Stop, to: Stop) => {
    const [a, b] = [marks.get(from), marks.get(to)];
    if (a === undefined || b === undefined) return '';
    if (b.y <= a.y) return `M${a.x} ${a.y}L${b.x} ${b.y}`;
    const bend = Math.min(b.y - a.y, 44);
    return `M${a.x} ${a.y}V${b.y - bend}C${a.x} ${b.y - bend / 2} ${b.x} ${b.y - bend / 2} ${b.x} ${b.y}`;
  };
  return { isWide: false, width: available, height: y, boxes, marks, lanes, columns, path };
}
