/** What broke: incidents, and failures by step, kind and detail, with samples. */

import { path, spark } from '../../chart/spark';
import type { ErrorSample, Failure, RunDocument, RunIncident } from '../../document/run';
import { append, type Child, el } from '../../dom';
import { clock, count, counted, significant } from '../../format';
import { column, each } from '../../frame';
import { unbroken } from '../../quantity';
import { table } from '../../table';
import { choose } from '../../brush';
import { highlighted, linePoints, timeAxis } from '../timeline';

/** An incident is shown with this share of its length before it and behind it. */
const AROUND = 0.5;

/** Also says so if nothing did. */
export function broken(doc: RunDocument): Child[] {
  const { failures, incidents } = doc;
  if (failures.list.length === 0 && incidents.length === 0) {
    if (doc.totals.errors > 0) {
      const words = `${counted(doc.totals.errors, 'failure')}; the record does not say when.`;
      return [el('p', { class: 'note' }, words)];
    }
    return [el('p', { class: 'note' }, 'No operation failed, and no incident is known.')];
  }
  return [
    incidents.length > 0 && incidentList(doc),
    doc.incidents_left_out > 0 &&
      el('p', { class: 'note' }, `${count(doc.incidents_left_out)} more are in summary.json.`),
    failures.list.length > 0 && failureTable(doc),
    leftOut(doc),
  ];
}

/** A failure in a few words, as text has it: `status 503`, `check: total > 0`, `save, others`. */
export function what({ kind, detail }: Pick<Failure, 'kind' | 'detail'>): string {
  if (detail === null) return kind;
  if (detail === 'others') return `${kind}, others`;
  return /^\d*$/.test(detail) ? `${kind} ${detail}` : `${kind}: ${detail}`;
}

function incidentList(doc: RunDocument): HTMLElement {
  const items = doc.incidents.map((one, place) =>
    el(
      'li',
      {},
      el('span', { class: 'mark', 'aria-hidden': 'true' }, '!'),
      el(
        'span',
        { class: 'sentence' },
        ...unbroken(one.text),
        one.beside.length > 0 &&
          el('span', { class: 'note beside' }, ...unbroken(one.beside.join('; '))),
      ),
      zoomTo(doc, one, place),
    ),
  );
  return el('ul', { class: 'incidents', 'aria-label': 'Incidents' }, ...items);
}

/** A button that shows the time of an incident in all figures. */
function zoomTo(doc: RunDocument, one: RunIncident, place: number): HTMLElement {
  const [from, to] = [one.begin_ns / 1e9, one.end_ns / 1e9];
  const around = AROUND * (to - from);
  const press = () => choose(timeAxis(doc), [from - around, to + around]);
  const label = `Zoom into ${one.step} from ${clock(from)} to ${clock(to)}, in all figures of time`;
  const id = `incident-${place}`;
  return el('button', { type: 'button', id, 'aria-label': label, onclick: press }, 'Zoom');
}

function failureTable(doc: RunDocument): HTMLElement {
  const all = doc.failures.list;
  const hasTimes = all.some((one) => when(one) !== null);
  const hasSamples = all.some((one) => one.samples.length > 0);
  return table({
    title: 'Failures by step, kind and detail',
    frame: [
      each(all, 'step', '', (one) => one.step),
      each(all, 'what broke', '', what),
      each(all, 'count', 'count', (one) => one.count),
      { ...each(all, 'share', 'share', (one) => one.share), isExtra: true },
      {
        ...column('over time', '', all.map(most)),
        isExtra: true,
        picture: (row) => line(doc, all[row]),
      },
      ...(hasTimes ? [{ ...each(all, 'when', '', when), areFigures: true, isExtra: true }] : []),
    ],
    ...(hasSamples
      ? {
          detail: {
            name: 'samples',
            words: (row: number) => {
              const { length } = all[row]?.samples ?? [];
              return length > 0 ? counted(length, 'sample') : undefined;
            },
            label: (row: number) => {
              const one = all[row];
              return one ? `${one.step}, ${what(one)}` : '';
            },
            content: (row: number) => samples(all[row]?.samples ?? []),
          },
        }
      : {}),
  });
}

/** From the first to the last of them, as text has it: `0:15–0:25`. */
function when({ first_s, last_s }: Failure): string | null {
  return first_s === null || last_s === null ? null : `${clock(first_s)}–${clock(last_s)}`;
}

function most({ line: points }: Failure): string | null {
  return points.length > 0 ? `up to ${significant(Math.max(...points))}/s` : null;
}

function line(doc: RunDocument, one: Failure | undefined): Node | null {
  if (!one || one.line.length === 0) return null;
  const { points, x } = linePoints(doc, one.line);
  const y = { from: 0, to: Math.max(...one.line) || 1 };
  return spark([{ style: 'bad', d: path(points, x, y) }], [], x, incidents(doc, one.step));
}

/** The times of the incidents of a step: of a row in the table, or of a line in the course. */
export function incidents(doc: RunDocument, step: string) {
  const times = highlighted(doc).filter(({ tone }) => tone === 'bad');
  return times.filter((_, place) => doc.incidents[place]?.rows.includes(step));
}

function samples(all: ErrorSample[]): HTMLElement {
  return el('ol', { class: 'samples' }, ...all.map(sample));
}

function sample(one: ErrorSample): HTMLElement {
  const seconds = one.at_ns / 1e9;
  const item = el(
    'li',
    {},
    el('p', {}, el('strong', {}, `${clock(seconds)} (${seconds.toFixed(3)} s), user ${one.user}`)),
    el('p', {}, one.text),
    one.request ? el('p', {}, el('code', {}, one.request)) : null,
    one.status ? el('p', {}, el('code', {}, `→ ${one.status}`)) : null,
  );
  const headers = one.headers ?? [];
  if (headers.length > 0) {
    const lines = headers.map(([name, value]) => `${name}: ${value}`).join('\n');
    append(item, el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Headers' }, lines));
  }
  if (one.body) {
    append(item, el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Body' }, one.body));
  }
  return item;
}

function leftOut({ failures }: RunDocument): HTMLElement | null {
  const parts = [
    failures.left_out > 0 && `${count(failures.left_out)} more kinds of failures`,
    failures.samples_left_out > 0 && `${counted(failures.samples_left_out, 'more sample')}`,
  ].filter(Boolean);
  if (parts.length === 0) return null;
  return el('p', { class: 'note' }, `The record has ${parts.join(' and ')}.`);
}
