/** The list: filters above a table. A click on a column head sorts by it. */

import type { Entry, EntryState, IndexDocument } from '../document/results';
import { append, el } from '../dom';
import { count, counted } from '../format';
import { type Column, each, shownAt } from '../frame';
import { page } from '../shell';
import { inOrder } from '../table';
import { KINDS, summary } from './kinds';
import { noteOf } from './notes';
import { isSelected, select, selection } from './selection';
import { trends } from './trends';

/** Rows shown at first, and by each click on the button below. */
const ROWS = 300;

const STATES: Record<EntryState, [text: string, tone: string]> = {
  measured: ['measured', ''],
  passed: ['✓ passed', 'good'],
  failed: ['✗ failed', 'bad'],
  untrusted: ['✗ untrusted', 'bad'],
  imported: ['imported', ''],
  running: ['● running', ''],
  unfinished: ['… unfinished', 'warning'],
  damaged: ['✗ damaged', 'bad'],
  done: ['done', ''],
};

const STARTED = 'started, UTC';
/** Columns of text, which are aligned left. */
const TEXTS = ['name', 'kind', STARTED, 'step', 'outcome'];

/** The columns of the table, which also sort it. */
const COLUMNS: [name: string, unit: string, cell: (entry: Entry) => string | number | null][] = [
  ['name', '', (entry) => entry.name],
  ['kind', '', (entry) => KINDS[entry.kind]],
  [STARTED, '', (entry) => (entry.started_unix_ms === null ? null : time(entry))],
  ['duration', 's', (entry) => entry.seconds],
  ['users', 'count', (entry) => entry.users],
  ['rate', '1/s', (entry) => entry.rate_per_s],
  ['errors', 'share', (entry) => entry.error_share],
  ['p50', 'ns', (entry) => entry.p50_ns],
  ['p99', 'ns', (entry) => entry.p99_ns],
  ['step', '', (entry) => entry.step],
  ['outcome', '', (entry) => STATES[entry.state][0]],
];

function time(entry: Entry): string {
  return new Date(entry.started_unix_ms ?? 0).toISOString().replace('T', ' ').slice(0, 19);
}

/** A column of the table: percentiles may be lower bounds. */
function entryColumn(all: Entry[], [name, unit, cell]: (typeof COLUMNS)[number]): Column {
  const share = { p50: 0.5, p99: 0.99 }[name] ?? 0;
  const isBound = (entry: Entry) => entry.bound_above !== null && share > entry.bound_above + 1e-12;
  return { ...each(all, name, unit, cell), bounds: all.map(isBound) };
}

/** The filters and the order, as in the query of the address. */
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
  const query = new URLSearchParams(location.search);
  const get = (name: string) => query.get(name) ?? '';
  return {
    name: get('name'),
    kind: get('kind'),
    outcome: get('outcome'),
    since: get('since'),
    until: get('until'),
    sort: get('sort') || STARTED,
    down: !query.has('up'),
  };
}

/** Saves filters and order in the address, without a history entry for each letter. */
function save(change: Partial<View>): void {
  const now = { ...view(), ...change };
  const query = new URLSearchParams();
  for (const name of ['name', 'kind', 'outcome', 'since', 'until'] as const) {
    if (now[name]) query.set(name, now[name]);
  }
  if (now.sort !== STARTED || !now.down) query.set('sort', now.sort);
  if (!now.down) query.set('up', '1');
  const search = query.toString();
  history.replaceState(null, '', search ? `?${search}` : location.pathname);
}

let doc: IndexDocument | undefined;
let most = ROWS;
const body = el('tbody');
const total = el('p', { class: 'note', role: 'status' });
const more = el('button', { type: 'button', onclick: () => showMore() });
const left = el('ul', { class: 'note' });
let made:
  | { follow: HTMLElement; filters: HTMLElement; table: HTMLElement; refresh: () => void }
  | undefined;

export function list(now: IndexDocument): void {
  doc = now;
  made ??= make();
  left.replaceChildren(...now.omitted.map((text) => el('li', {}, `${text}.`)));
  left.hidden = now.omitted.length === 0;
  page(
    {
      title: 'Results',
      verdict: counted(now.entries.length, 'result'),
      tone: 'plain',
      facts: [now.root],
    },
    [
      {
        title: 'All results',
        id: 'results',
        content: [made.follow, made.filters, total, made.table, more, left],
      },
      { title: 'Compare', id: 'compare', content: [selection()] },
      { title: 'Trends', id: 'trends', content: trends(now) },
    ],
    now.throng,
  );
  made.refresh();
  draw();
}

function make() {
  const field = (name: 'name' | 'since' | 'until', label: string, type: string) => {
    const input = el('input', {
      type,
      id: `filter-${name}`,
      oninput: () => change({ [name]: input.value }),
    });
    return { name, input, label: el('label', { for: input.id }, label, input) };
  };
  const choice = (name: 'kind' | 'outcome', label: string, options: [string, string][]) => {
    const input = el(
      'select',
      { id: `filter-${name}`, onchange: () => change({ [name]: input.value }) },
      el('option', { value: '' }, 'all'),
      ...options.map(([value, text]) => el('option', { value }, text)),
    );
    return { name, input, label: el('label', { for: input.id }, label, input) };
  };
  const states = Object.entries(STATES).map(([state, [words]]): [string, string] => [
    state,
    words.replace(/^\S (?=\w)/, ''),
  ]);
  const fields = [
    field('name', 'Name, path or note ', 'search'),
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
      // Numbers and times start with the largest, names with the first.
      const largestFirst = !TEXTS.includes(name) || name === STARTED;
      save({ sort: name, down: sort === name ? !down : largestFirst });
      refresh();
      draw();
    };
    const head = { scope: 'col', class: TEXTS.includes(name) ? 'text short' : '' };
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
  const compared = el('th', { scope: 'col' }, 'compare');
  const head = el('thead', {}, el('tr', {}, compared, ...heads));
  const table = el('div', { class: 'table' }, el('div', scroll, el('table', {}, head, body)));
  const follow = el('p', {}, el('a', { href: './?live' }, 'Follow the newest run'));
  return { follow, filters, table, refresh };
}

function change(now: Partial<View>): void {
  save(now);
  most = ROWS;
  draw();
}

function showMore(): void {
  most += ROWS;
  draw();
}

function matches(entry: Entry, now: View): boolean {
  const wanted = now.name.toLowerCase();
  const day = entry.started_unix_ms === null ? '' : time(entry).slice(0, 10);
  return (
    [entry.name, entry.path, entry.note ?? ''].some((one) => one.toLowerCase().includes(wanted)) &&
    (now.kind === '' || entry.kind === now.kind) &&
    (now.outcome === '' || entry.state === now.outcome) &&
    (now.since === '' || (day !== '' && day >= now.since)) &&
    (now.until === '' || (day !== '' && day <= now.until))
  );
}

function draw(): void {
  if (!doc) return;
  const now = view();
  const entries = doc.entries.filter((entry) => matches(entry, now));
  const frame: Column[] = COLUMNS.map((one) => entryColumn(entries, one));
  const by = frame.find((column) => column.name === now.sort);
  const all = entries.map((_, n) => n);
  const order = by ? inOrder(all, by, now.down) : all;
  const focused = document.activeElement?.id;
  body.replaceChildren(
    ...order.slice(0, most).flatMap((n) => {
      const entry = entries[n];
      return entry ? [row(entry, frame, n)] : [];
    }),
  );
  // Restore the focus in a row that was drawn again.
  if (focused && !document.activeElement?.id) document.getElementById(focused)?.focus();
  total.textContent = summary(entries, doc.entries.length);
  more.hidden = order.length <= most;
  more.textContent = `Show ${count(Math.min(ROWS, order.length - most))} more`;
}

function row(entry: Entry, frame: Column[], n: number): HTMLTableRowElement {
  const box =
    entry.comparable &&
    el('input', {
      type: 'checkbox',
      id: `select-${entry.id}`,
      'aria-label': `Compare ${entry.name}, ${entry.path}`,
      checked: isSelected(entry),
      onchange: ({ target }) => select(entry, (target as HTMLInputElement).checked),
    });
  // A run in progress is followed; others have a report.
  const href = entry.state === 'running' ? `./?live=${entry.id}` : `report/${entry.id}`;
  const link = el('a', { href, id: `open-${entry.id}` }, entry.name || '–');
  const cells = frame.slice(1).map((column) => {
    const { name } = column;
    const text = shownAt(column, n);
    const kind = TEXTS.includes(name) ? 'text short' : '';
    const isEmpty = text === '' || text === '–';
    return el('td', { class: `${kind}${isEmpty ? ' empty' : ''}`, 'data-label': name }, text);
  });
  const path = el('span', { class: 'note' }, entry.path);
  const more = detail(entry);
  const tone = STATES[entry.state][1];
  const line = el(
    'tr',
    { class: tone ? `is-${tone}` : '' },
    el('td', { class: 'select' }, box),
    el(
      'th',
      { scope: 'row', class: 'text' },
      link,
      el('br'),
      path,
      more && el('p', { class: 'detail' }, more),
      noteOf(entry, draw),
    ),
  );
  append(line, ...cells);
  return line;
}

function detail(entry: Entry): string {
  const outer = entry.parent && doc?.entries.find((one) => one.id === entry.parent);
  return [outer && `in ${outer.name}`, entry.detail].filter(Boolean).join('; ');
}
