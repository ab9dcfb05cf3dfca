// Assigns the steps of a lifecycle to columns and lanes. A column is a height at which some step
// was executed, in order, and one more for steps that were not executed yet; a lane is a shard. If
// the height of a block is not known (the node no longer has it), columns are levels of the tree
// instead. Within a cell steps have the order of the tree, so that few edges cross.

import type { Lifecycle, Step } from "./lifecycle";
import type { Blocks, ShardOf } from "./locations";

export interface Column {
  /** The height or the number of the level; `null` for steps that were not executed yet */
  name: string | null;
  /** The time of the block, if it is known */
  time: Date | null;
  /** Number of blocks between this column and the one before it */
  skipped: number;
}

export interface Cell {
  column: number;
  lane: number;
  /** Index within the cell */
  slot: number;
}

export interface Layout {
  /** Whether columns are heights, not levels */
  isTimed: boolean;
  columns: Column[];
  /** Names of shards; `null` for an unknown shard */
  lanes: (string | null)[];
  /** Maximum number of steps in a cell, for each lane */
  depths: number[];
  cells: Map<Step, Cell>;
}

/** Lays out a lifecycle */
export function layOut(lifecycle: Lifecycle, blocks: Blocks, shardOf: ShardOf): Layout {
  const heights = new Map<Step, bigint>();
  let isTimed = true;
  for (const step of lifecycle.steps) {
    if (step.block === null) continue;
    const height = blocks.height(step.block);
    if (height === null) isTimed = false;
    else heights.set(step, height);
  }
  const { columns, columnOf } = isTimed ? byHeight(lifecycle, heights, blocks) : byLevel(lifecycle);
  const { lanes, laneOf } = byShard(lifecycle, shardOf);
  const order = new Map(lifecycle.steps.map((step, index) => [step, index]));
  const stepsByCell = new Map<string, Step[]>();
  for (const step of lifecycle.steps) {
    const cell = `${columnOf(step)} ${laneOf(step)}`;
    const steps = stepsByCell.get(cell);
    if (steps === undefined) stepsByCell.set(cell, [step]);
    else steps.push(step);
  }
  const cells = new Map<Step, Cell>();
  const depths = lanes.map(() => 1);
  for (const steps of stepsByCell.values()) {
    steps.sort((a, b) => a.depth - b.depth || (order.get(a) ?? 0) - (order.get(b) ?? 0));
    steps.forEach((step, slot) => {
      const lane = laneOf(step);
      cells.set(step, { column: columnOf(step), lane, slot });
      depths[lane] = Math.max(depths[lane] ?? 1, slot + 1);
    });
  }
  return { isTimed, columns, lanes, depths, cells };
}

interface Columns {
  columns: Column[];
  columnOf: (step: Step) => number;
}

function byHeight(lifecycle: Lifecycle, heights: Map<Step, bigint>, blocks: Blocks): Columns {
  const order = [...new Set(heights.values())].sort((a, b) => (a < b ? -1 : 1));
  const times = new Map([...heights].map(([step, height]) => [height, blocks.time(step.block)]));
  const columns: Column[] = order.map((height, index) => {
    const previous = order[index - 1];
    return {
      name: String(height),
      time: times.get(height) ?? null,
      skipped: previous === undefined ? 0 : Number(height - previous) - 1,
    };
  });
  if (lifecycle.steps.some((step) => !heights.has(step))) columns.push({ name: null, time: null, skipped: 0 });
  const last = columns.length - 1;
  return {
    columns,
    columnOf: (step) => {
      const height = heights.get(step);
      return height === undefined ? last : order.indexOf(height);
    },
  };
}

function byLevel(lifecycle: Lifecycle): Columns {
  const maxDepth = Math.max(...lifecycle.steps.map((step) => step.depth));
  const columns = Array.from({ length: maxDepth + 1 }, (_, depth) => ({
    name: String(depth + 1),
    time: null,
    skipped: 0,
  }));
  return { columns, columnOf: (step) => step.depth };
}

function byShard(lifecycle: Lifecycle, shardOf: ShardOf): { lanes: (string | null)[]; laneOf: (step: Step) => number } {
  const shard = (step: Step) => (step.account === null ? null : shardOf(step.account));
  const names = new Set(lifecycle.steps.map(shard));
  const known = [...names].filter((name) => name !== null).sort((a, b) => Number(a) - Number(b));
  const lanes = names.has(null) ? [...known, null] : known;
  return { lanes, laneOf: (step) => lanes.indexOf(shard(step)) };
}
