// Which column and which lane a stop stands in. Columns are the heights at which something happened,
// in their order, and one for what has not happened yet; lanes are shards. When the height of a block is
// not known (the node forgot it), columns are steps of the tree instead, and are called so: half a
// time axis would lie. The order within a cell is that of a tidy tree, so that few edges cross.

import { hierarchy, tree } from 'd3-hierarchy';

import type { ShardOf } from './places';
import type { Road, Stop } from './road';

export interface Column {
  /** The height, or the number of the step; `null` for what has not happened yet */
  name: string | null;
  /** Blocks between this column and the one before it */
  skipped: number;
}

export interface Spot {
  column: number;
  lane: number;
  /** The place within the cell, from 0 */
  slot: number;
}

export interface Plan {
  isTimed: boolean;
  columns: Column[];
  /** Names of shards; `null` is where the shard is not known */
  lanes: (string | null)[];
  /** The most stops in one cell of each lane */
  depths: number[];
  spots: Map<Stop, Spot>;
}

/** Lays out a road */
export function plan(road: Road, heightOf: (block: string) => bigint | null, shardOf: ShardOf): Plan {
  const heights = new Map<Stop, bigint>();
  let isTimed = true;
  for (const stop of road.stops) {
    if (stop.block === null) continue;
    const height = heightOf(stop.block);
    if (height === null) isTimed = false;
    else heights.set(stop, height);
  }
  const { columns, columnOf } = isTimed ? byTime(road, heights) : byStep(road);
  const { lanes, laneOf } = byShard(road, shardOf);
  const across = tidy(road);
  const cells = new Map<string, Stop[]>();
  for (const stop of road.stops) {
    const cell = `${columnOf(stop)} ${laneOf(stop)}`;
    const stops = cells.get(cell);
    if (stops === undefined) cells.set(cell, [stop]);
    else stops.push(stop);
  }
  const spots = new Map<Stop, Spot>();
  const depths = lanes.map(() => 1);
  for (const stops of cells.values()) {
    // Who comes first stands above, then by the tree.
    stops.sort((a, b) => a.depth - b.depth || (across.get(a) ?? 0) - (across.get(b) ?? 0));
    stops.forEach((stop, slot) => {
      const lane = laneOf(stop);
      spots.set(stop, { column: columnOf(stop), lane, slot });
      depths[lane] = Math.max(depths[lane] ?? 1, slot + 1);
    });
  }
  return { isTimed, columns, lanes, depths, spots };
}

interface Columns {
  columns: Column[];
  columnOf: (stop: Stop) => number;
}

function byTime(road: Road, heights: Map<Stop, bigint>): Columns {
  const order = [...new Set(heights.values())].sort((a, b) => (a < b ? -1 : 1));
  const columns: Column[] = order.map((height, place) => {
    const before = order[place - 1];
    return { name: String(height), skipped: before === undefined ? 0 : Number(height - before) - 1 };
  });
  if (road.stops.some((stop) => !heights.has(stop))) columns.push({ name: null, skipped: 0 });
  const last = columns.length - 1;
  return {
    columns,
    columnOf: (stop) => {
      const height = heights.get(stop);
      return height === undefined ? last : order.indexOf(height);
    },
  };
}

function byStep(road: Road): Columns {
  const deepest = Math.max(...road.stops.map((stop) => stop.depth));
  const columns = Array.from({ length: deepest + 1 }, (_, step) => ({ name: String(step + 1), skipped: 0 }));
  return { columns, columnOf: (stop) => stop.depth };
}

function byShard(road: Road, shardOf: ShardOf): { lanes: (string | null)[]; laneOf: (stop: Stop) => number } {
  const shard = (stop: Stop) => (stop.account === null ? null : shardOf(stop.account));
  const names = new Set(road.stops.map(shard));
  const known = [...names].filter((name) => name !== null).sort((a, b) => Number(a) - Number(b));
  const lanes = names.has(null) ? [...known, null] : known;
  return { lanes, laneOf: (stop) => lanes.indexOf(shard(stop)) };
}

/** Where a tidy tree puts the stops, across the direction in which it grows */
function tidy(road: Road): Map<Stop, number> {
  const root = hierarchy(road.root, (stop) => stop.children);
  return new Map(tree<Stop>().nodeSize([1, 1])(root).descendants().map((node) => [node.data, node.x]));
}
