// The six milestones as the partial order they are: a line that forks in two and meets again. Those that
// are reached are lit, those that are waited for breathe; when one was reached before our eyes, the
// time stands with it. For screen readers it is a list, and only changes of the whole are announced.

import { h, replace, s } from '../dom';
import { timeOfDay } from '../format';
import { MEANING, MILESTONES, reaches, type Milestone } from '../model/milestones';

/** Where each stands: hundredths of the width, pixels from the top */
const SPOTS: Record<Milestone, [x: number, y: number]> = {
  NONE: [10, 84],
  INCLUDED: [30, 84],
  EXECUTED_OPTIMISTIC: [50, 48],
  INCLUDED_FINAL: [50, 120],
  EXECUTED: [70, 84],
  FINAL: [90, 84],
};

const ROADS: [Milestone, Milestone][] = [
  ['NONE', 'INCLUDED'],
  ['INCLUDED', 'EXECUTED_OPTIMISTIC'],
  ['INCLUDED', 'INCLUDED_FINAL'],
  ['EXECUTED_OPTIMISTIC', 'EXECUTED'],
  ['INCLUDED_FINAL', 'EXECUTED'],
  ['EXECUTED', 'FINAL'],
];

export class Milestones {
  readonly element: HTMLElement;
  private readonly news = h('p', { class: 'unseen', role: 'status' });
  private readonly items = new Map<Milestone, HTMLElement>();
  private readonly lines = new Map<string, SVGElement>();
  private readonly since = new Map<Milestone, string>();
  private reached: Milestone | null = null;

  constructor() {
    const lines = s('svg', { viewBox: '0 0 100 170', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    for (const [from, to] of ROADS) {
      const [[x0, y0], [x1, y1]] = [SPOTS[from], SPOTS[to]];
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
    this.element = h('section', { class: 'milestones', 'aria-label': 'Milestones' }, lines, items, this.news);
    this.draw([]);
  }

  /** A transaction stands at this milestone; `null` when it is not known */
  show(reached: Milestone | null): void {
    if (reached !== null && this.reached !== null && reached !== this.reached) {
      for (const milestone of MILESTONES) {
        const isNew = reaches(reached, milestone) && !reaches(this.reached, milestone);
        if (isNew) this.since.set(milestone, timeOfDay(new Date()));
      }
    }
    if (reached !== this.reached && reached !== null) replace(this.news, `Milestone ${reached}: ${MEANING[reached]}`);
    this.reached = reached;
    this.draw([]);
  }

  /** These are waited for */
  wait(milestones: Milestone[]): void {
    this.draw(milestones);
  }

  private draw(awaited: Milestone[]): void {
    const isLit = (milestone: Milestone) => this.reached !== null && reaches(this.reached, milestone);
    for (const [milestone, item] of this.items) {
      const state = isLit(milestone) ? 'is-lit' : awaited.includes(milestone) ? 'is-awaited' : '';
      const words = isLit(milestone) ? 'reached' : awaited.includes(milestone) ? 'waited for' : 'not reached';
      item.classList.remove('is-lit', 'is-awaited');
      if (state !== '') item.classList.add(state);
      const since = isLit(milestone) ? this.since.get(milestone) : undefined;
      replace(
        item,
        h('span', { class: 'stone', 'aria-hidden': 'true' }),
        h('span', { class: 'label' }, ...broken(milestone), h('span', { class: 'unseen' }, `, ${words}`)),
        since !== undefined && h('time', {}, since),
      );
    }
    for (const [from, to] of ROADS) {
      this.lines.get(to + from)?.classList.toggle('is-lit', isLit(to));
    }
  }
}

/** A name that may break behind its `_` */
function broken(name: string): (string | HTMLElement)[] {
  const [first, ...rest] = name.split('_');
  return [first ?? '', ...rest.flatMap((part) => ['_', h('wbr'), part])];
}
