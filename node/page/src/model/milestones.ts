// The six milestones and their partial order:
// NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL.
// The two in the middle are incomparable: a transaction may reach them in either order.

export const MILESTONES = ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"] as const;

export type Milestone = (typeof MILESTONES)[number];

const RANK: Record<Milestone, number> = {
  NONE: 0,
  INCLUDED: 1,
  EXECUTED_OPTIMISTIC: 2,
  INCLUDED_FINAL: 2,
  EXECUTED: 3,
  FINAL: 4,
};

export const MEANING: Record<Milestone, string> = {
  NONE: "known, not in a block yet",
  INCLUDED: "in a block",
  EXECUTED_OPTIMISTIC: "executed, in blocks that may still be reverted",
  INCLUDED_FINAL: "in a final block",
  EXECUTED: "executed, and included in a final block",
  FINAL: "executed with all refunds, in final blocks",
};

/** What must happen until a milestone is reached, after `Waiting` */
export const AWAITED: Record<Milestone, string> = {
  NONE: "to be known",
  INCLUDED: "for a block that includes it",
  EXECUTED_OPTIMISTIC: "for its receipts to be executed",
  INCLUDED_FINAL: "for the block that includes it to be final, usually two blocks later",
  EXECUTED: "for its receipts to be executed and for the block that includes it to be final",
  FINAL: "for its refunds, and for the blocks of all its receipts to be final",
};

export function isMilestone(name: unknown): name is Milestone {
  return (MILESTONES as readonly unknown[]).includes(name);
}

/** Whether a transaction at milestone `reached` has reached `wanted` */
export function reaches(reached: Milestone, wanted: Milestone): boolean {
  return reached === wanted || RANK[reached] > RANK[wanted];
}

/** The next milestones in the partial order: two after INCLUDED, else one */
export function next(reached: Milestone): Milestone[] {
  return MILESTONES.filter((milestone) => RANK[milestone] === RANK[reached] + 1);
}
