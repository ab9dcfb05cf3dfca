// JSON as a tree that folds, with every number as it stands in the answer. Branches are filled when they
// are opened for the first time, so a large answer costs little until someone looks.

import { h, replace, type Child } from '../dom';
import { isObject, Numeral, scalar, type Json } from '../exact';
import { grouped, plain } from '../format';

/** The most members of a branch that are shown at first */
const PAGE = 200;

/** A tree of this value, open down to `depth` */
export function jsonTree(value: Json, depth: number): HTMLElement {
  return h('div', { class: 'json' }, node(null, value, depth));
}

function node(name: string | null, value: Json, depth: number): HTMLElement {
  const label = name === null ? null : h('span', { class: 'name' }, ...breakable(name));
  if (!isBranch(value)) return h('div', { class: 'leaf' }, label, label && ': ', leaf(value));
  if (isShort(value)) {
    const items = value.flatMap((item, place) => [place > 0 && ', ', leaf(item)]);
    return h('div', { class: 'leaf' }, label, label && ': ', '[', ...items, ']');
  }
  const count = Array.isArray(value) ? value.length : Object.keys(value).length;
  const body = h('div', { class: 'branch' });
  const fill = () => {
    if (body.childElementCount === 0) fillFrom(body, value, 0, depth - 1);
  };
  if (depth > 0) fill();
  const details = h(
    'details',
    { open: depth > 0 },
    h('summary', {}, label ?? h('span', { class: 'name' }, 'result'), h('span', { class: 'size' }, Array.isArray(value) ? `[${count}]` : `{${count}}`)),
    body,
  );
  details.addEventListener('toggle', () => details.open && fill());
  return details;
}

function fillFrom(body: HTMLElement, value: Json[] | { [name: string]: Json }, start: number, depth: number): void {
  const members: [string, Json][] = Array.isArray(value)
    ? value.map((item, index) => [String(index), item])
    : Object.entries(value);
  for (const [name, inner] of members.slice(start, start + PAGE)) body.append(node(name, inner, depth));
  const left = members.length - start - PAGE;
  if (left <= 0) return;
  const more = h('button', { type: 'button', class: 'quiet' }, `Show ${Math.min(left, PAGE)} of ${left} more`);
  more.addEventListener('click', () => (more.remove(), fillFrom(body, value, start + PAGE, depth)));
  body.append(more);
}

/** A value that is no branch, as it stands in the text */
export function leaf(value: Json): HTMLElement {
  const text = isBranch(value) ? (Array.isArray(value) ? '[]' : '{}') : scalar(value);
  const kind = value === null ? 'null' : value instanceof Numeral ? 'number' : typeof value;
  const digits = kind === 'string' ? text.slice(1, -1) : text;
  const shown: Child[] = /^\d{5,}$/.test(digits) ? grouped(digits) : [plain(text)];
  const quote = kind === 'string' && /^\d{5,}$/.test(digits);
  return h('span', { class: `value is-${kind}` }, quote && '"', ...shown, quote && '"');
}

/** A name that breaks behind its `_` rather than anywhere */
function breakable(name: string): Child[] {
  const [first, ...rest] = plain(name).split('_');
  return [first, ...rest.flatMap((part) => ['_', h('wbr'), part])];
}

/** A fraction and the like, which need not be unfolded */
function isShort(value: Json[] | { [name: string]: Json }): value is Json[] {
  return Array.isArray(value) && value.length <= 4 && value.every((item) => !isBranch(item) && scalar(item).length <= 24);
}

function isBranch(value: Json): value is Json[] | { [name: string]: Json } {
  if (!Array.isArray(value) && !isObject(value)) return false;
  return Object.keys(value).length > 0;
}

/** The raw answer: a tree, and its text to copy */
export class RawAnswer {
  readonly element: HTMLElement;
  private readonly tree = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Members of the answer' });
  private readonly details: HTMLDetailsElement;
  private value: Json = null;
  private isStale = false;
  private openNames = new Set<string>();

  constructor(copy: HTMLElement) {
    this.details = h('details', { class: 'raw panel', open: matchMedia('(min-width: 1100px)').matches }, h('summary', {}, h('h2', {}, 'Answer')), copy, this.tree);
    this.element = this.details;
    this.details.addEventListener('toggle', () => this.draw());
  }

  show(value: Json): void {
    this.value = value;
    this.isStale = true;
    this.draw();
  }

  private draw(): void {
    if (!this.details.open || !this.isStale) return;
    this.isStale = false;
    // What is open stays open when the next answer comes.
    const branches = () => [...this.tree.querySelectorAll<HTMLDetailsElement>('details')];
    this.openNames = new Set(branches().filter((branch) => branch.open).map(pathOf));
    const isFirst = this.tree.childElementCount === 0;
    const focused = pathOf(document.activeElement?.closest('.json details') ?? null);
    replace(this.tree, jsonTree(this.value, isFirst ? 1 : 0));
    if (isFirst) return;
    for (let open = branches(); open.length > 0; ) {
      const todo = open.filter((branch) => !branch.open && this.openNames.has(pathOf(branch)));
      for (const branch of todo) {
        branch.open = true;
        branch.dispatchEvent(new Event('toggle'));
      }
      open = todo.length > 0 ? branches() : [];
    }
    if (focused !== '') {
      const branch = branches().find((candidate) => pathOf(candidate) === focused);
      branch?.querySelector('summary')?.focus({ preventScroll: true });
    }
  }
}

/** The names on the way to a branch */
function pathOf(branch: Element | null): string {
  const names: string[] = [];
  for (let at = branch; at !== null; at = at.parentElement?.closest('details:not(.raw)') ?? null) {
    names.unshift(at.querySelector('.name')?.textContent ?? '');
  }
  return names.join('/');
}
