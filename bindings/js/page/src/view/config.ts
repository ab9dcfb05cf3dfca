// The protocol configuration at a block, to browse and to search; beside that of another block, what
// changed between the two. Which blocks stands in the address.

import { copyButton, h, replace, type Child } from '../dom';
import { engine } from '../engine';
import { at, text, type Json } from '../exact';
import { grouped, plain } from '../format';
import { changes, leaves, NAMED, paramsOf, words, type Change, type Leaf } from '../model/configs';
import { protocolConfig, request, type Answer } from '../rpc';
import { configAddress } from '../route';
import { jsonTree } from './json';
import { problem } from './problem';

export function showConfig(main: HTMLElement, route: { block: string; other: string | null }, signal: AbortSignal): void {
  const result = h('div', { class: 'result' }, h('p', { class: 'loading', role: 'status' }, 'Asking the node…'));
  const lead = route.other === null ? 'The rules in force at a block.' : 'What changed from one block to another.';
  replace(main, h('div', { class: 'config' }, h('div', { class: 'heading' }, h('h1', {}, 'Protocol configuration'), h('p', { class: 'lead' }, lead)), choice(route), result));
  void load(route, result, signal);
}

function choice(route: { block: string; other: string | null }): HTMLElement {
  const field = (id: string, label: string, value: string, placeholder: string) =>
    h('div', { class: 'field' }, h('label', { for: id }, label), h('input', { id, name: id, type: 'text', list: 'blocks', value, placeholder, autocapitalize: 'off', autocomplete: 'off', spellcheck: 'false' }));
  const block = field('block', 'Block', route.block, 'final');
  const other = field('other', 'Compare with', route.other ?? '', 'nothing');
  const value = (field: HTMLElement) => field.querySelector('input')!.value.trim();
  const go = (event: Event) => {
    event.preventDefault();
    location.hash = configAddress(value(block) || 'final', value(other) || null);
  };
  const swap = h('button', { type: 'button', class: 'quiet', 'aria-label': 'Swap the blocks' }, '⇄');
  swap.addEventListener('click', () => {
    location.hash = configAddress(value(other) || 'final', value(block) || null);
  });
  const examples: [string, string][] = [
    ['In force now', configAddress('final', null)],
    ['At the start', configAddress('genesis', null)],
    ['From the start until now', configAddress('genesis', 'final')],
  ];
  return h(
    'div',
    { class: 'choice' },
    h('form', { class: 'find', novalidate: true, onsubmit: go }, block, other, swap, h('button', { type: 'submit', class: 'primary' }, 'Show'), h('datalist', { id: 'blocks' }, NAMED.map((name) => h('option', { value: name })))),
    h('p', { class: 'examples' }, 'A height, a hash, or a word such as final or genesis. ', examples.flatMap(([name, href]) => [h('a', { href }, name), ' '])),
  );
}

async function load(route: { block: string; other: string | null }, result: HTMLElement, signal: AbortSignal): Promise<void> {
  try {
    const blocks = route.other === null ? [route.block] : [route.block, route.other];
    const [first, second] = await Promise.all(blocks.map((block) => ask(block, signal)));
    if (signal.aborted || first === undefined) return;
    replace(result, ...(second === undefined ? browse(first) : compare(route, first, second)));
  } catch (error) {
    if (!signal.aborted) replace(result, problem('No configuration', error));
  }
}

/** Asks the node, after the engine in the page has had its say */
async function ask(block: string, signal: AbortSignal): Promise<Answer> {
  const params = paramsOf(block);
  const loaded = await engine();
  loaded?.check(request('EXPERIMENTAL_protocol_config', params));
  return protocolConfig(params, signal);
}

function browse(answer: Answer): Child[] {
  const all = leaves(answer.result);
  const tree = jsonTree(answer.result, 1);
  const found = h('div', { class: 'found', hidden: true });
  const count = h('p', { class: 'count', role: 'status' }, `${all.length} values`);
  const filter = h('input', { type: 'search', id: 'filter', placeholder: 'gas, account, 0.8…', autocomplete: 'off', spellcheck: 'false' });
  filter.addEventListener('input', () => {
    const wanted = filter.value.trim().toLowerCase().replace(/\s+/g, '_');
    const hits = wanted === '' ? [] : all.filter((leaf) => matches(leaf, wanted));
    tree.hidden = wanted !== '';
    found.hidden = wanted === '';
    replace(found, hits.length === 0 ? h('p', { class: 'empty' }, 'No name and no value has that in it.') : h('dl', { class: 'leaves' }, hits.flatMap((leaf) => [h('dt', {}, ...path(leaf.path)), h('dd', {}, value(leaf))])));
    replace(count, wanted === '' ? `${all.length} values` : `${hits.length} of ${all.length} values`);
  });
  return [
    headline(answer.result),
    h('section', { class: 'panel', 'aria-label': 'Values' }, h('div', { class: 'bar' }, h('div', { class: 'field' }, h('label', { for: 'filter' }, 'Filter'), filter), count, copyButton('the answer', () => answer.body)), tree, found),
  ];
}

function matches(leaf: Leaf, wanted: string): boolean {
  return leaf.path.toLowerCase().includes(wanted) || words(leaf.value).toLowerCase().includes(wanted);
}

function headline(config: Json): HTMLElement {
  const fact = (name: string, value: string) => h('div', {}, h('dt', {}, name), h('dd', {}, ...grouped(plain(value))));
  return h(
    'dl',
    { class: 'headline' },
    fact('Chain', text(at(config, 'chain_id')) ?? '?'),
    fact('Protocol version', words(at(config, 'protocol_version'))),
    fact('Epoch length', words(at(config, 'epoch_length'))),
    fact('Genesis height', words(at(config, 'genesis_height'))),
  );
}

function compare(route: { block: string; other: string | null }, before: Answer, after: Answer): Child[] {
  const found = changes(before.result, after.result);
  const version = (answer: Answer) => words(at(answer.result, 'protocol_version'));
  const count = found.length === 1 ? '1 value differs' : `${found.length} values differ`;
  if (found.length === 0) {
    return [h('p', { class: 'empty', role: 'status' }, `Both blocks have the same configuration, that of protocol version ${version(before)}.`)];
  }
  const head = (block: string, answer: Answer) => h('th', { scope: 'col' }, plain(block), h('small', {}, `protocol version ${version(answer)}`));
  return [
    h(
      'section',
      { class: 'panel', 'aria-label': 'Changes' },
      h('p', { class: 'count', role: 'status' }, count),
      h(
        'table',
        { class: 'changes' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Value'), head(route.block, before), head(route.other ?? '', after))),
        h('tbody', {}, found.map(row)),
      ),
    ),
  ];
}

function row(change: Change): HTMLElement {
  const cell = (leaf: Leaf | null, kind: string) => h('td', { class: leaf === null ? 'is-absent' : kind }, leaf === null ? 'not there' : value(leaf));
  return h('tr', {}, h('th', { scope: 'row' }, ...path(change.path)), cell(change.before, 'before'), cell(change.after, 'after'));
}

function value(leaf: Leaf): HTMLElement {
  const text = words(leaf.value);
  const digits = /^"?(\d{5,})"?$/.exec(text)?.[1];
  if (digits === undefined) return h('span', { class: 'value' }, plain(text));
  const quote = text.startsWith('"') && '"';
  return h('span', { class: 'value' }, quote, ...grouped(digits), quote);
}

/** A path that may break behind its dots, its last name first to the eye */
function path(text: string): Child[] {
  const names = text.split('.');
  const last = names.pop() ?? '';
  return [...names.flatMap((name) => [h('span', { class: 'soft' }, `${plain(name)}.`), h('wbr')]), h('span', { class: 'last' }, plain(last))];
}
