// The road as a picture: bands and ways in SVG, stops as buttons above them. For keyboards and screen
// readers the stops are one tree, in the order of the receipts: up and down go through it, left to
// what made a receipt, right to what it made, Enter opens. Drawn anew with every answer; what had the
// focus keeps it.

import { h, place, replace, s } from '../dom';
import { plain, tera } from '../format';
import type { Plan } from '../model/plan';
import type { Road, Status, Stop } from '../model/road';
import { narrow, wide, type Geometry } from './geometry';

const NARROW = 700;

const MARKS: Record<Status, string> = {
  value: 'M-4 0.5L-1 3.5L4.5 -3',
  receipt: 'M-4 0H4M0.8 -3.4L4.2 0L0.8 3.4',
  failure: 'M-3.4 -3.4L3.4 3.4M3.4 -3.4L-3.4 3.4',
  pending: '',
};

export const STATUS_WORDS: Record<Status, string> = {
  value: 'returned a value',
  receipt: 'goes on in a receipt',
  failure: 'failed',
  pending: 'not executed yet',
};

export class RoadView {
  readonly element: HTMLElement;
  private readonly picture = h('div', { class: 'picture' });
  private readonly stage = h('div', { class: 'stage', role: 'group', 'aria-label': 'The road' }, this.picture);
  private road: Road | null = null;
  private plan: Plan | null = null;
  private buttons = new Map<string, HTMLButtonElement>();
  private seen = new Map<string, Status>();
  private current: string | null = null;
  private opened: string | null = null;

  constructor(private readonly open: (stop: Stop) => void, signal: AbortSignal) {
    this.element = h('figure', { class: 'road' }, h('div', { class: 'frame' }, this.stage), legend());
    this.stage.addEventListener('scroll', () => this.hint());
    const resize = new ResizeObserver(() => this.draw());
    resize.observe(this.stage);
    signal.addEventListener('abort', () => resize.disconnect());
  }

  show(road: Road, plan: Plan): void {
    [this.road, this.plan] = [road, plan];
    this.draw();
  }

  /** Marks the stop whose details are shown; `null` for none */
  select(id: string | null): void {
    this.opened = id;
    for (const [name, button] of this.buttons) button.setAttribute('aria-selected', String(name === id));
  }

  /** Gives the focus back to the stop that had it */
  focus(): void {
    if (this.current !== null) this.buttons.get(this.current)?.focus();
  }

  private draw(): void {
    const { road, plan } = this;
    const padding = 2 * Number.parseFloat(getComputedStyle(this.stage).paddingLeft);
    const available = Math.floor(this.stage.clientWidth - padding);
    if (road === null || plan === null || available <= 0) return;
    const geometry = available < NARROW ? narrow(road, plan, available) : wide(road, plan, available);
    const hadFocus = this.picture.contains(document.activeElement);
    const wasAtEnd = this.left() < 4;
    const isFirst = this.seen.size === 0;
    if (this.current === null || !road.stops.some((stop) => stop.id === this.current)) this.current = road.root.id;
    place(this.picture, { x: 0, y: 0, width: geometry.width, height: geometry.height });
    this.picture.classList.toggle('is-wide', geometry.isWide);
    replace(this.picture, drawing(road, geometry), captions(plan, geometry), this.tree(road, plan, geometry));
    for (const stop of road.stops) this.seen.set(stop.id, stop.status);
    if (hadFocus) this.focus();
    // A road that grows is followed, unless someone looks at its beginning.
    else if (wasAtEnd && !isFirst) this.stage.scrollLeft = this.stage.scrollWidth;
    this.hint();
  }

  /** How much of the picture is beyond the right edge, in pixels */
  private left(): number {
    return this.stage.scrollWidth - this.stage.clientWidth - this.stage.scrollLeft;
  }

  private hint(): void {
    this.stage.parentElement?.classList.toggle('has-more', this.left() >= 4);
  }

  private tree(road: Road, plan: Plan, geometry: Geometry): HTMLElement {
    const tree = h('div', { role: 'tree', 'aria-label': 'Transaction and receipts', onkeydown: (event: KeyboardEvent) => this.steer(event, road) });
    this.buttons = new Map();
    for (const stop of road.stops) {
      const isNews = this.seen.size > 0 && this.seen.get(stop.id) !== stop.status;
      const button = this.button(stop, plan, isNews);
      const box = geometry.boxes.get(stop);
      if (box !== undefined) place(button, box);
      this.buttons.set(stop.id, button);
      tree.append(button);
    }
    return tree;
  }

  private button(stop: Stop, plan: Plan, isNews: boolean): HTMLButtonElement {
    const siblings = stop.parent?.children ?? [stop];
    const spot = plan.spots.get(stop);
    const column = plan.columns[spot?.column ?? 0]?.name ?? null;
    const where = column === null ? '' : plan.isTimed ? `, block ${column}` : `, step ${column}`;
    const shard = plan.lanes[spot?.lane ?? 0] ?? null;
    const kind = stop.kind === 'refund' ? '' : `${stop.kind} `;
    const label = `${kind}${plain(stop.title)}, ${plain(stop.account ?? 'account not known')}, ${STATUS_WORDS[stop.status]}${where}${shard === null ? '' : `, shard ${shard}`}`;
    const classes = ['stop', `is-${stop.status}`, stop.kind === 'refund' && 'is-refund', isNews && 'is-news'];
    return h(
      'button',
      {
        type: 'button',
        role: 'treeitem',
        class: classes.filter(Boolean).join(' '),
        'data-id': stop.id,
        'aria-label': label,
        'aria-level': stop.depth + 1,
        'aria-posinset': siblings.indexOf(stop) + 1,
        'aria-setsize': siblings.length,
        'aria-selected': String(stop.id === this.opened),
        'aria-expanded': stop.children.length > 0 && 'true',
        tabindex: stop.id === this.current ? 0 : -1,
        onclick: () => (this.move(stop.id), this.open(stop)),
      },
      icon(stop.status, ''),
      h('span', { class: 'title' }, plain(stop.title)),
      h('span', { class: 'account' }, plain(stop.account ?? 'not seen yet')),
      h('span', { class: 'word' }, stop.status === 'failure' ? 'failed' : stop.status === 'pending' ? 'waits' : ''),
      h('span', { class: 'facts' }, facts(stop)),
    );
  }

  private steer(event: KeyboardEvent, road: Road): void {
    const place = road.stops.findIndex((stop) => stop.id === this.current);
    const stop = road.stops[place];
    if (stop === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const targets: Record<string, Stop | null | undefined> = {
      ArrowDown: road.stops[place + 1],
      ArrowUp: road.stops[place - 1],
      ArrowRight: stop.children[0],
      ArrowLeft: stop.parent,
      Home: road.root,
      End: road.stops.at(-1),
    };
    if (!(event.key in targets)) return;
    event.preventDefault();
    const target = targets[event.key];
    if (target) {
      this.move(target.id);
      this.focus();
    }
  }

  private move(id: string): void {
    if (this.current !== null) this.buttons.get(this.current)?.setAttribute('tabindex', '-1');
    this.current = id;
    this.buttons.get(id)?.setAttribute('tabindex', '0');
  }
}

function facts(stop: Stop): string {
  const parts = [];
  if (stop.gas !== null && stop.gas > 0n) parts.push(tera(stop.gas));
  if (stop.logs.length > 0) parts.push(stop.logs.length === 1 ? '1 log' : `${stop.logs.length} logs`);
  return parts.join(' · ');
}

/** Bands, ways and marks */
function drawing(road: Road, geometry: Geometry): SVGElement {
  const svg = s('svg', { width: geometry.width, height: geometry.height, 'aria-hidden': 'true' });
  for (const lane of geometry.lanes) {
    const { x, y, width, height } = lane;
    svg.append(
      geometry.isWide
        ? s('rect', { class: 'lane', x, y, width, height, rx: 6 })
        : s('line', { class: 'track', x1: x, x2: x, y1: 6, y2: height - 6 }),
    );
  }
  if (geometry.isWide) {
    for (const { x, width, height } of geometry.columns) {
      svg.append(s('line', { class: 'tick', x1: x + width / 2, x2: x + width / 2, y1: 30, y2: height }));
    }
  }
  for (const [from, to] of road.data) svg.append(s('path', { class: 'way is-data', d: geometry.path(from, to) }));
  const ways = road.stops.filter((stop) => stop.parent !== null);
  // Those of the result last, so that they are on top.
  for (const stop of ways.toSorted((a, b) => Number(a.isResult) - Number(b.isResult))) {
    const classes = ['way', stop.isResult && 'is-result', stop.kind === 'refund' && 'is-refund', stop.status === 'pending' && 'is-pending'];
    svg.append(s('path', { class: classes.filter(Boolean).join(' '), d: geometry.path(stop.parent!, stop) }));
  }
  if (!geometry.isWide) for (const stop of road.stops) svg.append(mark(stop, geometry));
  return svg;
}

function mark(stop: Stop, geometry: Geometry): SVGElement {
  const { x, y } = geometry.marks.get(stop) ?? { x: 0, y: 0 };
  return s(
    'g',
    { class: `mark is-${stop.status}${stop.kind === 'refund' ? ' is-refund' : ''}`, transform: `translate(${x} ${y})` },
    s('circle', { r: 8.5 }),
    s('path', { d: MARKS[stop.status] }),
  );
}

/** The names of columns and bands */
function captions(plan: Plan, geometry: Geometry): HTMLElement {
  const box = h('div', { class: 'captions', 'aria-hidden': 'true' });
  plan.columns.forEach((column, place_) => {
    const { x, width } = geometry.columns[place_] ?? { x: 0, width: 0 };
    const y = geometry.isWide ? 0 : (geometry.columns[place_]?.y ?? 0);
    const name = column.name === null ? 'not executed yet' : plan.isTimed ? column.name : `step ${column.name}`;
    const skipped = column.skipped > 0 && h('span', { class: 'skipped', title: 'Blocks between' }, `+${column.skipped}`);
    const caption = h('span', { class: 'column' }, skipped, !geometry.isWide && plan.isTimed && column.name !== null && h('span', { class: 'unit' }, 'block '), name);
    place(caption, { x, y, width });
    box.append(caption);
  });
  if (!geometry.isWide) return box;
  plan.lanes.forEach((lane, place_) => {
    const caption = h('span', { class: 'shard' }, h('span', {}, lane === null ? 'shard ?' : `shard ${lane}`));
    const box_ = geometry.lanes[place_];
    if (box_ !== undefined) place(caption, box_);
    box.append(caption);
  });
  return box;
}

/** The mark of a status by itself */
function icon(status: Status, classes: string): SVGElement {
  const mark = s('g', { class: `mark is-${status} ${classes}` }, s('circle', { r: 8.5 }), s('path', { d: MARKS[status] }));
  return s('svg', { class: 'icon', viewBox: '-10 -10 20 20', width: 16, height: 16, 'aria-hidden': 'true' }, mark);
}

function legend(): HTMLElement {
  const entries: [string, string][] = [
    ['is-value', 'returned a value'],
    ['is-receipt', 'goes on in a receipt'],
    ['is-failure', 'failed'],
    ['is-pending', 'not executed yet'],
    ['is-value is-refund', 'refund'],
  ];
  const items = entries.map(([classes, words]) => {
    const [status, ...more] = classes.split(' ');
    return h('li', {}, icon((status ?? '').slice(3) as Status, more.join(' ')), words);
  });
  const line = s('svg', { viewBox: '0 0 28 10', width: 28, height: 10 }, s('path', { class: 'way is-result', d: 'M0 5H28' }));
  const dots = s('svg', { viewBox: '0 0 28 10', width: 28, height: 10 }, s('path', { class: 'way is-data', d: 'M0 5H28' }));
  return h('figcaption', {}, h('ul', { class: 'legend', 'aria-label': 'Legend' }, items, h('li', {}, line, 'way of the result'), h('li', {}, dots, 'data')));
}
