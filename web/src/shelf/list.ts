/** The list: filters above a table that is sorted by the head that is pressed. */

import type { Item, ItemKind, ItemState, ShelfDocument } from '../document/shelf';
import { append, el } from '../dom';
import { count } from '../format';
import { type Column, each, shown } from '../frame';
import { page } from '../shell';
import { inOrder } from '../table';
import { isPicked, pick, picks } from './picks';

/** Rows drawn at once; a press shows as many more. */
const ROWS = 300;

const KINDS: Record<ItemKind, string> = {
  run: 'run',
  experiment: 'experiment',
  search: 'search',
  model: 'model',
  page: 'page',
};

const STATES: Record<ItemState, [words: string, tone: string]> = {
  passed: ['✓ passed', 'good'],
  failed: ['✗ failed', 'bad'],
  untrusted: ['✗ not to be trusted', 'bad'],
  imported: ['imported', ''],
  unfinished: ['… unfinished', 'warning'],
  damaged: ['✗ damaged', 'bad'],
  done: ['done', ''],
};

const BEGUN = 'started, UTC';
/** Columns of words, which stand at the left. */
const TEXTS = ['name', 'kind', BEGUN, 'of step', 'outcome', 'more'];

/** What the table shows of each, by which it is sorted, too. */
const COLUMNS: [name: string, unit: string, cell: (item: Item) => string | number | null][] = [
  ['name', '', (item) => item.name],
  ['kind', '', (item) => KINDS[item.kind]],
  [BEGUN, '', (item) => (item.started_unix_ms === null ? null : time(item))],
  ['duration', 's', (item) => item.seconds],
  ['users', 'count', (item) => item.users],
  ['rate', '1/s', (item) => item.rate_per_s],
  ['errors', 'share', (item) => item.error_share],
  ['p50', 'ns', (item) => item.p50_ns],
  ['p99', 'ns', (item) => item.p99_ns],
  ['of step', '', (item) => item.step],
  ['outcome', '', (item) => STATES[item.state][0]],
  ['more', '', (item) => item.told],
];

function time(item: Item): string {
  return new Date(item.started_unix_ms ?? 0).toISOString().replace('T', ' ').slice(0, 19);
}

/** What is shown, as it stands behind the `?`. */
interface View {
  name: string;
  kind: string;
  outcome: string;
  since: string;
  until: string;
  sort: string;
  down: boolean;
}

function view(): View {
  const told = new URLSearchParams(location.search);
  const get = (name: string) => told.get(name) ?? '';
  return {
    name: get('name'),
    kind: get('kind'),
    outcome: get('outcome'),
    since: get('since'),
    until: get('until'),
    sort: get('sort') || BEGUN,
    down: !told.has('up'),
  };
}

/** Keeps what is shown in the address, without a step of the history for each letter. */
function keep(change: Partial<View>): void {
  const now = { ...view(), ...change };
  const told = new URLSearchParams();
  for (const name of ['name', 'kind', 'outcome', 'since', 'until'] as const) {
    if (now[name]) told.set(name, now[name]);
  }
  if (now.sort !== BEGUN || !now.down) told.set('sort', now.sort);
  if (!now.down) told.set('up', '1');
  const search = told.toString();
  history.replaceState(null, '', search ? `?${search}` : location.pathname);
}

let doc: ShelfDocument | undefined;
let most = ROWS;
const body = el('tbody');
const told = el('p', { class: 'note', role: 'status' });
const more = el('button', { type: 'button', onclick: () => showMore() });
const left = el('ul', { class: 'note' });
let made: { filters: HTMLElement; table: HTMLElement; refresh: () => void } | undefined;

export function list(now: ShelfDocument): void {
  doc = now;
  made ??= make();
  const runs = now.items.filter((item) => item.kind === 'run').length;
  left.replaceChildren(...now.left_out.map((text) => el('li', {}, `${text}.`)));
  left.hidden = now.left_out.length === 0;
  page(
    {
      title: 'Results',
      verdict: `${count(runs)} ${runs === 1 ? 'run' : 'runs'}`,
      tone: 'plain',
      facts: [now.root],
    },
    [
      {
        title: 'All results',
        id: 'results',
        content: [made.filters, told, made.table, more, left],
      },
      { title: 'Compare', id: 'compare', content: [picks()] },
    ],
    now.throng,
  );
  made.refresh();
  draw();
}

function make() {
  const field = (name: 'name' | 'since' | 'until', words: string, type: string) => {
    const input = el('input', {
      type,
      id: `filter-${name}`,
      oninput: () => change({ [name]: input.value }),
    });
    return { name, input, label: el('label', { for: input.id }, words, input) };
  };
  const choice = (name: 'kind' | 'outcome', words: string, options: [string, string][]) => {
    const input = el(
      'select',
      { id: `filter-${name}`, onchange: () => change({ [name]: input.value }) },
      el('option', { value: '' }, 'all'),
      ...options.map(([value, text]) => el('option', { value }, text)),
    );
    return { name, input, label: el('label', { for: input.id }, words, input) };
  };
  const states = Object.entries(STATES).map(([state, [words]]): [string, string] => [
    state,
    words.replace(/^\S (?=\w)/, ''),
  ]);
  const fields = [
    field('name', 'Name or place ', 'search'),
    choice('kind', 'Kind ', Object.entries(KINDS)),
    choice('outcome', 'Outcome ', states),
    field('since', 'From ', 'date'),
    field('until', 'To ', 'date'),
  ];
  const filters = el(
    'div',
    { class: 'filters', role: 'search' },
    ...fields.map(({ label }) => label),
  );
  const heads = COLUMNS.map(([name]) => {
    const press = () => {
      const { sort, down } = view();
      // Numbers and times are looked for from the top, names from the start.
      const fromTop = !TEXTS.includes(name) || name === BEGUN;
      keep({ sort: name, down: sort === name ? !down : fromTop });
      refresh();
      draw();
    };
    const head = { scope: 'col', class: TEXTS.includes(name) ? 'text' : '' };
    return el('th', head, el('button', { type: 'button', onclick: press }, name));
  });
  const refresh = () => {
    const now = view();
    for (const { name, input } of fields) {
      if (input !== document.activeElement) input.value = now[name];
    }
    COLUMNS.forEach(([name], n) => {
      if (name !== now.sort) heads[n]?.removeAttribute('aria-sort');
      else heads[n]?.setAttribute('aria-sort', now.down ? 'descending' : 'ascending');
    });
  };
  const scroll = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Results' };
  const picking = el('th', { scope: 'col' }, 'compare');
  const head = el('thead', {}, el('tr', {}, picking, ...heads));
  const table = el('div', { class: 'table' }, el('div', scroll, el('table', {}, head, body)));
  return { filters, table, refresh };
}

function change(now: Partial<View>): void {
  keep(now);
  most = ROWS;
  draw();
}

function showMore(): void {
  most += ROWS;
  draw();
}

function matches(item: Item, now: View): boolean {
  const wanted = now.name.toLowerCase();
  const day = item.started_unix_ms === null ? '' : time(item).slice(0, 10);
  return (
    (item.name.toLowerCase().includes(wanted) || item.place.toLowerCase().includes(wanted)) &&
    (now.kind === '' || item.kind === now.kind) &&
    (now.outcome === '' || item.state === now.outcome) &&
    (now.since === '' || (day !== '' && day >= now.since)) &&
    (now.until === '' || (day !== '' && day <= now.until))
  );
}

function draw(): void {
  if (!doc) return;
  const now = view();
  const items = doc.items.filter((item) => matches(item, now));
  const frame: Column[] = COLUMNS.map(([name, unit, cell]) => each(items, name, unit, cell));
  const by = frame.find((column) => column.name === now.sort);
  const all = items.map((_, n) => n);
  const order = by ? inOrder(all, by, now.down) : all;
  const focused = document.activeElement?.id;
  body.replaceChildren(
    ...order.slice(0, most).flatMap((n) => {
      const item = items[n];
      return item ? [row(item, frame, n)] : [];
    }),
  );
  // What was focused in a row that is drawn anew is focused again.
  if (focused && !document.activeElement?.id) document.getElementById(focused)?.focus();
  told.textContent =
    items.length === doc.items.length
      ? `${count(items.length)} results.`
      : `${count(items.length)} of ${count(doc.items.length)} results.`;
  more.hidden = order.length <= most;
  more.textContent = `Show ${count(Math.min(ROWS, order.length - most))} more`;
}

function row(item: Item, frame: Column[], n: number): HTMLTableRowElement {
  const box =
    item.comparable &&
    el('input', {
      type: 'checkbox',
      id: `pick-${item.id}`,
      'aria-label': `Compare ${item.name}, ${item.place}`,
      checked: isPicked(item),
      onchange: ({ target }) => pick(item, (target as HTMLInputElement).checked),
    });
  const link = el('a', { href: `report/${item.id}`, id: `open-${item.id}` }, item.name || '–');
  const cells = frame.slice(1).map(({ name, unit, values }) => {
    const text = name === 'more' ? more_(item) : shown(values[n], unit);
    const kind = TEXTS.includes(name) ? `text ${name === 'more' ? 'more' : 'short'}` : '';
    return el('td', { class: kind }, text);
  });
  const place = el('span', { class: 'note' }, item.place);
  const tone = STATES[item.state][1];
  const line = el(
    'tr',
    { class: tone ? `is-${tone}` : '' },
    el('td', {}, box),
    el('th', { scope: 'row', class: 'text' }, link, el('br'), place),
  );
  append(line, ...cells);
  return line;
}

function more_(item: Item): string {
  const outer = item.within && doc?.items.find((one) => one.id === item.within);
  return [outer && `in ${outer.name}`, item.told].filter(Boolean).join('; ');
}
