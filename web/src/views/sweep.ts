/** A sweep over the values of a setting: the best one, the curve of the runs, and the fitted scalability law. */

import { type Line, lines } from '../chart/lines';
import type { SweepDocument } from '../document/sweep';
import { el } from '../dom';
import { figure } from '../figure';
import { findings } from '../findings';
import { counted, share, significant } from '../format';
import { column, each, eachBound, percentiles } from '../frame';
import { page } from '../shell';
import { table } from '../table';
import { type Tile, tiles } from '../tiles';
import { lawTerms, OUTCOMES } from './capacity';

const FIGURES: Record<string, string> = {
  'best-value': 'throughput',
  'best-at-edge': 'throughput',
  neighbours: 'throughput',
  'scalability-law': 'throughput',
};

export function sweep(doc: SweepDocument): void {
  const { best } = doc;
  const found = best ? value(doc, best.value) : 'None found';
  const tone = doc.ending === 'found' ? 'good' : 'bad';
  const lines_ = el('div');
  page(
    {
      title: `Best ${doc.over} of ${doc.name}`,
      verdict: found,
      tone,
      facts: [
        `setting: ${doc.over}`,
        counted(doc.trials.length, 'run'),
        doc.ending.replaceAll('_', ' '),
      ],
    },
    [
      { title: 'Totals', content: [tiles(totals(doc, found, tone))] },
      { title: 'Findings', content: [lines_] },
      { title: 'The curve', content: [throughput(doc), latency(doc), law(doc)] },
      { title: 'Values', content: [values(doc)] },
      { title: 'Runs', content: [runs(doc)] },
    ],
    doc.throng,
  );
  lines_.append(findings(doc.findings, (code) => FIGURES[code]));
}

function totals(doc: SweepDocument, found: string, tone: 'good' | 'bad'): Tile[] {
  const { best } = doc;
  const range = best?.range;
  return [
    { name: 'Best value', value: found, note: doc.over, tone },
    {
      name: 'The best lies from',
      value: range ? `${value(doc, range[0])} to ${value(doc, range[1])}` : '–',
      note: '95 %',
    },
    { name: 'Throughput', value: best ? `${significant(best.per_s)}/s` : '–', note: `at ${found}` },
    ...(best?.neighbours ?? []).map((one) => ({
      name: `Loss at ${value(doc, one.value)}`,
      value: share(one.loss),
      note: one.bounds ? `${share(one.bounds[0])} to ${share(one.bounds[1])}` : '',
    })),
    {
      name: 'Runs',
      value: String(doc.trials.length),
      note: doc.ending.replaceAll('_', ' '),
    },
  ];
}

/** A value as text. */
function value(doc: SweepDocument, wanted: number): string {
  const place = doc.values.findIndex((one) => one.value === wanted);
  return doc.shown[place] ?? `${significant(wanted, 4)}${doc.unit}`;
}

function throughput(doc: SweepDocument): HTMLElement {
  const trials = doc.trials.flatMap((trial) => (trial.figures ? [trial] : []));
  const drawn: Line[] = [
    {
      name: 'runs',
      unit: '1/s',
      style: 0,
      dots: true,
      points: trials.map((trial): [number, number] => [trial.load, trial.figures?.per_s ?? 0]),
    },
    {
      name: 'mean, 95 %',
      unit: '1/s',
      style: 2,
      marked: true,
      points: doc.values.map((one): [number, number | null] => [one.value, one.per_s]),
      intervals: doc.values.map((one): [number, number | null, number | null] => [
        one.value,
        one.bounds?.[0] ?? null,
        one.bounds?.[1] ?? null,
      ]),
    },
    ...(doc.law_curve.length > 0
      ? [{ name: 'the law', unit: '1/s' as const, style: 1, points: doc.law_curve }]
      : []),
  ];
  return figure({
    title: `Throughput by ${doc.over}`,
    id: 'throughput',
    note: doc.law
      ? `The universal scalability law is fitted to ${doc.law.points} runs.`
      : `No scalability law was fitted: ${doc.law_problem ?? 'unknown reason'}.`,
    height: 320,
    legend: drawn.map(({ name, style = 0, dots }) => ({ name, style, dots: dots ?? false })),
    frame: () => [
      each(doc.values, 'value', '', (one) => value(doc, one.value)),
      each(doc.values, 'throughput', '1/s', (one) => one.per_s),
      each(doc.values, 'low', '1/s', (one) => one.bounds?.[0] ?? null),
      each(doc.values, 'high', '1/s', (one) => one.bounds?.[1] ?? null),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: '', name: doc.over, min: 0 },
          y: { unit: '1/s', name: 'operations per second', min: 0 },
          lines: drawn.filter((one) => !hidden.has(one.name)),
          verticals: doc.best
            ? [{ at: doc.best.value, name: `${value(doc, doc.best.value)} best` }]
            : [],
        },
        theme,
      ),
  });
}

function latency(doc: SweepDocument): HTMLElement {
  const line = (name: string, style: number, of: 'p50_ns' | 'p99_ns'): Line => ({
    name,
    unit: 'ns',
    style,
    marked: true,
    points: doc.values.map((one): [number, number | null] => [one.value, one[of]]),
  });
  const drawn = [line('p50', 0, 'p50_ns'), line('p99', 1, 'p99_ns')];
  return figure({
    title: `Response by ${doc.over}`,
    id: 'latency',
    height: 260,
    legend: drawn.map(({ name, style = 0 }) => ({ name, style })),
    frame: () => [
      each(doc.values, 'value', '', (one) => value(doc, one.value)),
      ...percentiles(doc.values),
    ],
    option: (theme, hidden) =>
      lines(
        {
          x: { unit: '', name: doc.over, min: 0 },
          y: { unit: 'ns', name: 'response', log: true },
          lines: drawn.filter((one) => !hidden.has(one.name)),
        },
        theme,
      ),
  });
}

function law(doc: SweepDocument): HTMLElement | null {
  const { law: fitted } = doc;
  if (!fitted) return null;
  const { peak, peak_low: low, peak_high: high } = fitted;
  return lawTerms({
    of: 'the value 1',
    ...fitted,
    peak: peak === null ? null : [peak, low ?? peak, high],
    noun: doc.over,
  });
}

function values(doc: SweepDocument): HTMLElement {
  const all = doc.values;
  const held = (one: (typeof all)[number]) =>
    one.holds + one.breaks === 0 ? 'untrusted' : `${one.holds} of ${one.holds + one.breaks}`;
  return table({
    title: 'Values',
    frame: [
      column('value', '', doc.shown),
      column('held', '', all.map(held)),
      each(all, 'succeeded', '1/s', (one) => one.per_s),
      each(all, 'low', '1/s', (one) => one.bounds?.[0] ?? null),
      each(all, 'high', '1/s', (one) => one.bounds?.[1] ?? null),
      each(all, 'in flight', '', (one) => one.in_flight),
      ...percentiles(all),
      each(all, 'errors', 'share', (one) => one.error_share),
    ],
    rowClass: (row) => (all[row]?.held === false ? 'bad' : ''),
  });
}

function runs(doc: SweepDocument): HTMLElement {
  const all = doc.trials;
  return table({
    title: 'Runs',
    frame: [
      each(all, 'run', '', (trial) => trial.run ?? 'none'),
      each(all, 'value', '', (trial) => value(doc, trial.load)),
      each(all, 'outcome', '', (trial) => OUTCOMES[trial.outcome]),
      each(all, 'succeeded', '1/s', (trial) => trial.figures?.per_s ?? null),
      eachBound(
        all,
        'p99',
        'ns',
        (trial) => trial.figures?.p99_ns ?? null,
        (trial) => trial.figures?.p99_is_bound,
      ),
      each(all, 'why', '', (trial) => trial.why.join('; ')),
    ],
    rowClass: (row) => (all[row]?.outcome === 'breaks' ? 'bad' : ''),
  });
}
