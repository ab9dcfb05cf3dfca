// The six milestones as a graph of their partial order. Those that are reached are filled, those
// that requests wait for are animated; a milestone that was reached while the page was open shows
// the time. For screen readers it is a list, and a new milestone is announced.

import { h, replace, s } from '../dom';
import { breakable, timeOfDay } from '../format';
import { MEANING, MILESTONES, reaches, type Milestone } from '../model/milestones';

/** Positions: per cent of the width, pixels from the top */
const POSITIONS: Record<Milestone, [x: number, y: number]> = {
  NONE: [10, 84],
  INCLUDED: [30, 84],
  EXECUTED_OPTIMISTIC: [50, 48],
  INCLUDED_FINAL: [50, 120],
  EXECUTED: [70, 84],
  FINAL: [90, 84],
};

const EDGES: [Milestone, Milestone][] = [
  ['NONE', 'INCLUDED'],
  ['INCLUDED', 'EXECUTED_OPTIMISTIC'],
  ['INCLUDED', 'INCLUDED_FINAL'],
  ['EXECUTED_OPTIMISTIC', 'EXECUTED'],
  ['INCLUDED_FINAL', 'EXECUTED'],
  ['EXECUTED', 'FINAL'],
];

export class Milestones {
  readonly element: HTMLElement;
  private readonly announcement = h('p', { class: 'visually-hidden', role: 'status' });
  private readonly items = new Map<Milestone, HTMLElement>();
  private readonly lines = new Map<string, SVGElement>();
  private readonly times = new Map<Milestone, string>();
  private reached: Milestone | null = null;

  constructor() {
    const lines = s('svg', { viewBox: '0 0 100 170', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    for (const [from, to] of EDGES) {
      const [[x0, y0], [x1, y1]] = [POSITIONS[from], POSITIONS[to]];
      const middle = (x0 + x1) / 2;
      const line = s('path', { d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}` });
      this.lines.set(to + from, line);
      lines.append(line);
    }
    const items = h('ol', {});
    for (const milestone of MILESTONES) {
      const item = h('li', { class: `at-${milestone.toLowerCase().replace('_', '-')}`, title: MEANING[milestone] });
      this.items.set(milestone, item);
      items.append(item);
    }
    this.element = h('section', { class: 'milestones', 'aria-label': 'Milestones' }, lines, items, this.announcement);
    this.draw([]);
  }

  /** Shows the milestone of the transaction; `null` if the transaction is not known */
  show(reached: Milestone | null): void {
    if (reached !== null && this.reached !== null && reached !== this.reached) {
      for (const milestone of MILESTONES) {
        const isNew = reaches(reached, milestone) && !reaches(this.reached, milestone);
        if (isNew) this.times.set(milestone, timeOfDay(new Date()));
      }
    }
    if (reached !== this.reached && reached !== null) replace(this.announcement, `Milestone ${reached}: ${MEANING[reached]}`);
    this.reached = reached;
    this.draw([]);
  }

  /** Shows that requests wait for these milestones */
  wait(milestones: Milestone[]): void {
    this.draw(milestones);
  }

  private draw(awaited: Milestone[]): void {
    const isReached = (milestone: Milestone) => this.reached !== null && reaches(this.reached, milestone);
    for (const [milestone, item] of this.items) {
      const state = isReached(milestone) ? 'is-reached' : awaited.includes(milestone) ? 'is-awaited' : '';
      const stateName = isReached(milestone) ? 'reached' : awaited.includes(milestone) ? 'awaited' : 'not reached';
      item.classList.remove('is-reached', 'is-awaited');
      if (state !== '') item.classList.add(state);
      const time = isReached(milestone) ? this.times.get(milestone) : undefined;
      replace(
        item,
        h('span', { class: 'marker', 'aria-hidden': 'true' }),
        h('span', { class: 'label' }, ...breakable(milestone), h('span', { class: 'visually-hidden' }, `, ${stateName}`)),
        time !== undefined && h('time', {}, time),
      );
    }
    for (const [from, to] of EDGES) {
      this.lines.get(to + from)?.classList.toggle('is-reached', isReached(to));
    }
  }
}
