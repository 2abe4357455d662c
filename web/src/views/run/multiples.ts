/** All steps in one view: the rate and the response times of each over time. */

import { type Scale, path, spark } from '../../chart/spark';
import type { MeasureCourse, RunDocument } from '../../document/run';
import { type Child, el, save } from '../../dom';
import { clock, duration, significant } from '../../format';
import { csv, column, type Frame } from '../../frame';
import { unbroken } from '../../quantity';
import { onZoom, windowOf, within } from '../../zoom';
import { measured, type Numbers, slots, timeAxis } from '../timeline';
import { incidents } from './broken';

const TITLE = 'All steps over time';

/** The document drawn last, for when the window changes. */
let last: RunDocument | undefined;
const rows = el('ul', { class: 'multiples' });
const note = el('p', { class: 'note' });
/** The axis of time below both columns. */
const ticks = el('div', { class: 'multiples ticks', 'aria-hidden': 'true' });
let made: HTMLElement | undefined;

export function multiples(doc: RunDocument): Child {
  const measures = measured(doc);
  if (measures.length < 2) return null;
  last = doc;
  made ??= make();
  draw(doc);
  return made;
}

function make(): HTMLElement {
  onZoom(() => last && draw(last));
  const press = () => last && save('all-steps.csv', 'text/csv', csv(frame(last)));
  const label = `Save the numbers of “${TITLE}” as CSV`;
  return el(
    'div',
    { class: 'all-steps', id: 'all-steps' },
    el('h3', {}, TITLE),
    note,
    rows,
    ticks,
    el(
      'div',
      { class: 'tools' },
      el('button', { type: 'button', 'aria-label': label, onclick: press }, 'CSV'),
    ),
  );
}

function draw(doc: RunDocument): void {
  const measures = measured(doc);
  const axis = timeAxis(doc);
  const window = windowOf(axis) ?? axis.whole;
  const x = { from: window[0], to: window[1] };
  const at_s = slots(doc.course);
  const cut = (values: Numbers) =>
    within(
      at_s.map((at, n): [number, number | null] => [at, values[n] ?? null]),
      window,
    );
  const y = common(measures.flatMap((one) => [...cut(one.p50), ...cut(one.p99)]));
  const left = doc.course.measures_left_out;
  note.textContent =
    'Operations that succeeded per second, each on its own scale from zero, and response times of all, p50 and p99 (the upper line), on one logarithmic scale' +
    (left > 0 ? `. ${left} more steps are in the table.` : '.');
  const places = [window[0], (window[0] + window[1]) / 2, window[1]];
  const labels = () => el('div', {}, ...places.map((at) => el('span', {}, clock(at))));
  ticks.replaceChildren(el('span', {}, 'time'), labels(), labels());
  const bands = (name: string) => incidents(doc, name);
  const rules = doc.phases.map(({ start_s }) => start_s).filter((at) => x.from < at && at < x.to);
  rows.replaceChildren(
    ...measures.map((one) => {
      const rate = cut(one.per_s);
      const [p50, p99] = [cut(one.p50), cut(one.p99)];
      const most = Math.max(...known(rate), 0);
      const part = (words: string, picture: SVGElement) =>
        el('div', { class: 'part' }, picture, el('p', { class: 'note' }, ...unbroken(words)));
      const rates = [{ style: 0, d: path(rate, x, { from: 0, to: most || 1 }) }];
      const times = [
        { style: 2, d: path(p50, x, y) },
        { style: 1, d: path(p99, x, y) },
      ];
      return el(
        'li',
        {},
        el('strong', {}, one.name),
        part(`up to ${significant(most)}/s`, spark(rates, rules, x, bands(one.name))),
        part(`p50 ${range(p50)}, p99 ${range(p99)}`, spark(times, rules, x, bands(one.name))),
      );
    }),
  );
}

function known(points: [number, number | null][]): number[] {
  return points.flatMap(([, value]) => (value === null ? [] : [value]));
}

/** `1.20 ms … 31.0 ms`. */
function range(points: [number, number | null][]): string {
  const all = known(points);
  if (all.length === 0) return '–';
  const [low, high] = [duration(Math.min(...all)), duration(Math.max(...all))];
  return low === high ? low : `${low} … ${high}`;
}

/** One scale for the response times of all steps. */
export function common(points: [number, number | null][]): Scale {
  const all = known(points).filter((value) => value > 0);
  return { from: Math.min(...all, Infinity), to: Math.max(...all, 0), log: true };
}

/** A row for each step and slot. */
export function frame(doc: RunDocument): Frame {
  const measures = measured(doc);
  const at_s = slots(doc.course);
  const of = (values: (one: MeasureCourse) => Numbers) =>
    measures.flatMap((one) => at_s.map((_, n) => values(one)[n] ?? null));
  return [
    column(
      'step',
      '',
      measures.flatMap((one) => at_s.map(() => one.name)),
    ),
    column(
      'time',
      's',
      measures.flatMap(() => at_s),
    ),
    column(
      'rate',
      '1/s',
      of((one) => one.per_s),
    ),
    column(
      'p50',
      'ns',
      of((one) => one.p50),
    ),
    column(
      'p99',
      'ns',
      of((one) => one.p99),
    ),
  ];
}
