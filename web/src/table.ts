/** Tables. A click on a column head sorts by it. */

import { append, el, save, slug } from './dom';
import { type Cell, type Column, csv, type Frame, rows, shownAt } from './frame';

export interface TableSpec {
  /** The title, for screen readers. */
  title: string;
  frame: Frame;
  /** The rows in their original order. */
  sortable?: boolean;
  /** The class of a row, such as of a failed one. */
  rowClass?: (row: number) => string;
  /** What a button in a row opens below it. */
  detail?: {
    /** The name of its column. */
    name: string;
    /** The button's words; `undefined`: the row has none. */
    words: (row: number) => string | undefined;
    /** Names the row, and keeps it open when the table is drawn again. */
    label: (row: number) => string;
    content: (row: number) => Node;
  };
}

/** The rows whose details are open, by title and label. */
const opened = new Set<string>();

/** The order that the user chose, by title: a table that is drawn again keeps it. */
const sortings = new Map<string, { name: string; down: boolean }>();

/** A table that scrolls if it is too wide, and can be saved. */
export function table(spec: TableSpec): HTMLElement {
  const { frame, title } = spec;
  const order = Array.from({ length: rows(frame) }, (_, row) => row);
  const body = el('tbody');
  const draw = () => {
    const sorted = sortings.get(title);
    const column = frame.find((one) => one.name === sorted?.name);
    const shownOrder = sorted && column ? inOrder(order, column, sorted.down) : order;
    body.replaceChildren(...shownOrder.flatMap((row) => drawRow(spec, row)));
  };
  const heads = frame.map((column) => {
    const isFirst = column === frame[0];
    const th = el('th', { scope: 'col', class: look(column) || (isFirst ? 'text short' : '') });
    if (spec.sortable === false || column.picture) {
      append(th, column.name);
      return th;
    }
    const press = () => {
      // Numbers start with the largest, names with the first.
      const last = sortings.get(title);
      const down = last?.name === column.name ? !last.down : !isText(column);
      sortings.set(title, { name: column.name, down });
      for (const head of heads) head.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      draw();
    };
    const sorted = sortings.get(title);
    if (sorted?.name === column.name) {
      th.setAttribute('aria-sort', sorted.down ? 'descending' : 'ascending');
    }
    append(th, el('button', { type: 'button', onclick: press }, column.name));
    return th;
  });
  if (spec.detail) heads.push(el('th', { scope: 'col', class: 'text short' }, spec.detail.name));
  draw();
  const scroll = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title };
  return el(
    'div',
    { class: 'table' },
    el('div', scroll, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body)),
    el(
      'div',
      { class: 'tools' },
      el(
        'button',
        {
          type: 'button',
          'aria-label': `Save “${title}” as CSV`,
          onclick: () => save(`${slug(title)}.csv`, 'text/csv', csv(frame)),
        },
        'CSV',
      ),
    ),
  );
}

/** A row, and the one below it with its details. */
function drawRow(spec: TableSpec, row: number): HTMLTableRowElement[] {
  const cells = spec.frame.map((column, place) => {
    const text = shownAt(column, row);
    if (place === 0) return el('th', { scope: 'row', class: look(column) || 'text short' }, text);
    const picture = column.picture?.(row);
    if (picture) {
      const shown = `picture${column.isExtra ? ' extra' : ''}`;
      return el('td', { class: shown }, picture, el('span', { class: 'unseen' }, text));
    }
    const note = column.notes?.[row];
    const tone = column.areBad?.[row] ? ' bad' : '';
    return el('td', { class: look(column) + tone, ...(note ? { title: note } : {}) }, text);
  });
  const line = el('tr', { class: spec.rowClass?.(row) ?? '' }, ...cells);
  const { detail } = spec;
  if (!detail) return [line];
  const words = detail.words(row);
  if (words === undefined) {
    append(line, el('td'));
    return [line];
  }
  const label = detail.label(row);
  const key = `${spec.title}: ${label}`;
  const id = `detail-${slug(key)}-${row}`;
  const below = el(
    'tr',
    { id, class: 'detail-row', hidden: !opened.has(key) },
    el('td', { colspan: String(cells.length + 1) }),
  );
  const fill = () => below.firstElementChild?.replaceChildren(detail.content(row));
  const press = () => {
    below.hidden = opened.has(key);
    if (!opened.delete(key)) opened.add(key);
    button.setAttribute('aria-expanded', String(!below.hidden));
    if (!below.hidden) fill();
  };
  const button = el(
    'button',
    {
      type: 'button',
      id: `open-${id}`,
      'aria-expanded': String(!below.hidden),
      'aria-controls': id,
      'aria-label': `${words} of ${label}`,
      onclick: press,
    },
    words,
  );
  if (!below.hidden) fill();
  append(line, el('td', { class: 'text short' }, button));
  return [line, below];
}

/** Most characters of a text that stays on one line, and of one that does so in a narrow window. */
const SHORT = 30;
const BRIEF = 16;

/** The class of a column's cells. */
export function look(column: Column): string {
  const extra = column.isExtra ? ['extra'] : [];
  if (!isText(column)) return extra.join(' ');
  const longest = Math.max(0, ...column.values.map((cell) => String(cell ?? '').length));
  const width = [...(longest <= SHORT ? ['short'] : []), ...(longest <= BRIEF ? ['brief'] : [])];
  return [column.areFigures ? 'figures' : 'text', ...width, ...extra].join(' ');
}

function isText(column: Column): boolean {
  return column.values.some((cell) => typeof cell === 'string');
}

/** Rows sorted by a column; missing values come last either way. */
export function inOrder(order: number[], column: Column, down: boolean): number[] {
  return [...order].sort((a, b) => {
    const [left, right] = [column.values[a] ?? null, column.values[b] ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return down ? compare(right, left) : compare(left, right);
  });
}

function compare(a: Exclude<Cell, null>, b: Exclude<Cell, null>): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
