/** Trends: the figures of all runs of one scenario over time, with their changes. */

import { type Line, lines } from '../chart/lines';
import type { Entry, IndexDocument } from '../document/results';
import type { TrendDocument, TrendFigure } from '../document/trend';
import { el } from '../dom';
import { figure } from '../figure';
import { count, formatUnit } from '../format';
import { column, each } from '../frame';
import { changesOf, repeated, startLabels } from './changes';
import { request } from './request';

const select = el('select', { id: 'trend-of', onchange: () => void load(true) });
const status = el('p', { class: 'note', role: 'status' });
const changes = el('ul', { class: 'changes' });
const figures = el('div', { class: 'pair' });
const content = [
  el('p', { class: 'choose' }, el('label', { for: 'trend-of' }, 'Scenario '), select),
  status,
  changes,
  figures,
];

/** The newest run of each scenario. */
let newest = new Map<string, Entry>();
/** The notes of all runs, which a trend shows, too. */
let notes = '';
let shown = '';

/** The content of the section; nothing if no scenario has been run repeatedly. */
export function trends(doc: IndexDocument): HTMLElement[] {
  newest = repeated(doc.entries);
  notes = JSON.stringify(doc.entries.flatMap(({ id, note }) => (note ? [id, note] : [])));
  const names = [...newest.keys()];
  const known = [...select.options].map((option) => option.value);
  if (JSON.stringify(names) !== JSON.stringify(known)) {
    const now = select.value;
    select.replaceChildren(...names.map((name) => el('option', { value: name }, name)));
    if (names.includes(now)) select.value = now;
  }
  void load(false);
  return names.length > 0 ? content : [];
}

async function load(isAnother: boolean): Promise<void> {
  const entry = newest.get(select.value);
  const wanted = `${entry?.id} ${notes}`;
  if (!entry || (wanted === shown && !isAnother)) return;
  shown = wanted;
  try {
    draw(JSON.parse(await request(`trend/${entry.id}`)) as TrendDocument);
  } catch (error) {
    status.textContent = `The trend cannot be loaded: ${(error as Error).message}.`;
    shown = '';
  }
}

function draw(doc: TrendDocument): void {
  const left = [
    doc.older > 0 && `${count(doc.older)} older ${areLeftOut(doc.older)}`,
    doc.untrusted > 0 &&
      `${count(doc.untrusted)} that cannot be trusted ${areLeftOut(doc.untrusted)}`,
  ].filter(Boolean);
  status.textContent =
    `${count(doc.runs.length)} runs in the order of their start` +
    `${left.length > 0 ? `; ${left.join('; ')}` : ''}. ` +
    `${doc.step ? `Percentiles are of ${doc.step}. ` : ''}` +
    'A line in red is a change that is unlikely to be chance (p ≤ 0.01); single outliers are none.';
  const sentences = doc.figures.flatMap((one) => changesOf(doc, one));
  changes.replaceChildren(
    ...(sentences.length > 0
      ? sentences.map(({ text, id, path, note }) =>
          el(
            'li',
            {},
            `${text} from `,
            el('a', { href: `report/${id}` }, path),
            ' on',
            note && el('q', { class: 'run-note' }, note),
          ),
        )
      : [el('li', {}, 'No figure changed.')]),
  );
  figures.replaceChildren(...doc.figures.map((one) => drawFigure(doc, one)));
}

function areLeftOut(n: number): string {
  return n === 1 ? 'is left out' : 'are left out';
}

/** What the vertical axis of a figure shows. */
const AXES: Record<string, string> = {
  p50: 'response',
  p99: 'response',
  rate: 'operations per second',
  errors: 'failed operations',
};

function drawFigure(doc: TrendDocument, one: TrendFigure): HTMLElement {
  const started = doc.runs.map(({ started_unix_ms: ms }) =>
    new Date(ms).toISOString().replace('T', ' ').slice(0, 19),
  );
  const medians = doc.runs.map(
    (_, n) => one.parts.find(({ from, to }) => from <= n && n <= to)?.median ?? null,
  );
  const drawn: Line[] = [
    {
      name: one.name,
      unit: one.unit,
      style: 0,
      marked: true,
      points: one.values.map((value, n): [number, number | null] => [n, value]),
    },
    {
      name: 'median',
      unit: one.unit,
      style: 1,
      points: one.parts.flatMap(({ from, to, median }): [number, number | null][] => [
        [from - 0.4, median],
        [to + 0.4, median],
        [to + 0.4, null],
      ]),
    },
  ];
  return figure({
    title: one.name,
    id: `trend-${one.name}`,
    height: 240,
    legend: drawn.map(({ name, style = 0 }) => ({ name, style })),
    frame: () => [
      each(doc.runs, 'run', '', ({ path }) => path),
      column('started, UTC', '', started),
      each(doc.runs, 'note', '', (run) => run.note ?? '–'),
      column(one.name, one.unit, one.values),
      column('median', one.unit, medians),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: {
            unit: '',
            name: 'start of the run, UTC',
            categories: startLabels(doc.runs.map((run) => run.started_unix_ms)),
            ordered: true,
          },
          y: { unit: one.unit, name: AXES[one.name] ?? one.name, min: 0 },
          lines: drawn.filter(({ name }) => !hidden.has(name)),
          verticals: one.parts.slice(1).map(({ from, change }) => ({
            at: from - 0.5,
            name: change === null ? 'change' : formatUnit(change, 'change'),
          })),
        },
        theme,
      ),
  });
}
